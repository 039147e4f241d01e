"""Attention: the logits of sampled queries, and the entropy of what each attends to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ....capture.open_step import OpenStep
from ..attention_rows import Rows, score_rows
from ..internals import isolated_compute
from ..models import Names
from ..observe import Observer
from ..tensors import unsupported


class Attention:
    """Observes the attention of the modules that run.

    Args:
        current: Returns the step to which what happens now belongs.
    """

    def __init__(self, names: Names, observer: Observer, current: Callable[[], OpenStep]) -> None:
        self._names, self._observer, self._current = names, observer, current
        self._running: list[torch.nn.Module] = []

    def begin(self, *_: object) -> None:
        """A model begins to run; what ran before is over, however it ended."""
        self._running.clear()

    def enter(self, module: torch.nn.Module) -> None:
        self._running.append(module)

    def leave(self, module: torch.nn.Module) -> None:
        """A module returned, or raised; those inside of it that did not return are over as well."""
        running = self._running
        if running and running[-1] is module:
            del running[-1]
        elif any(module is each for each in running):
            while running.pop() is not module:
                pass

    def observe(
        self, rows: Callable[..., Rows], given: Sequence[torch.Tensor], **how: object
    ) -> None:
        """Observe a call, if its step wants that.

        Args:
            rows: ``attention_rows`` or ``score_rows``.
            given: Its positional arguments, tensors.
            how: Its other arguments.
        """
        module = self._module(rows)
        if module is None:
            return
        step = self._current()
        if not step.wants("attention"):
            return
        names = [f"attention/{module}/{what}" for what in ("logits", "entropy")]
        if not any(step.saves(name, "attention") for name in names):
            return
        why = next(filter(None, map(_unobservable, given)), None)
        if why is not None:
            self._observer.refused.update(dict.fromkeys(names, why))
            return
        with isolated_compute(given[0].device.type):
            found = rows(*(tensor.detach() for tensor in given), **how)
            visible = [values[values != -torch.inf] for values in found]
        for name, values in zip(names, visible, strict=True):
            self._observer.tensor(step, name, values, "attention")

    def innermost(self) -> str | None:
        """Return the name of the innermost module that runs and has one."""
        names = (self._names.of(module) for module in reversed(self._running))
        return next((name for name in names if name is not None), None)

    def _module(self, rows: Callable[..., Rows]) -> str | None:
        """Return the name of the module that computes attention, if that is what it does."""
        running = self._running
        # A softmax may be of anything, but for the one of this module.
        if rows is score_rows and not (
            running and isinstance(running[-1], torch.nn.MultiheadAttention)
        ):
            return None
        return self.innermost()


def _unobservable(tensor: torch.Tensor) -> str | None:
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        return "inside a CUDA graph"  # how many logits are hidden is asked of the device
    return unsupported(tensor) or ("sparse" if tensor.layout is not torch.strided else None)
