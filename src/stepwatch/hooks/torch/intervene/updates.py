"""Updates that an optimizer is kept from making, because the gradients of the batch are bad.

The optimizer does step, on the gradients as they are, and what it did is undone: there is no other
way that every optimizer bears. One without gradients, or with none but zeros, may raise. What the
forward of the batch has left in buffers, such as running means, is undone as well. Where the step
raises nothing is undone: the training is what it would be without us.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch

from ....capture.control import SkipDecision
from ....errors import ConfigError
from ..internals import stepping_optimizers
from ..process import distributed_rank
from ..replay.snapshot import random_states, set_random_states, why_not_copied
from .copies import OptimizerCopy, alike, writable_buffers

# Before so many norms are known none is far from the others.
LEAST_NORMS = 16
MOST_NORMS = 64
# A buffer that was the same after so many steps is taken for a constant.
_MOST_COMPARISONS = 8


class UpdateSkipper:
    """Leaves out updates from gradients that are not finite, or far too large.

    It waits for an accelerator, once for each update.

    Args:
        spike: Also leave out those whose gradients have more than so many times the median norm
            of the last 64 updates; ``None`` for no such limit.
        skips: Asked whether an update that is bad is to be left out.

    Raises:
        ConfigError: Several processes train together.
    """

    def __init__(self, spike: float | None, skips: SkipDecision) -> None:
        _check_alone()
        self._spike, self._skips = spike, skips
        self._norms: dict[int, deque[float]] = {}
        # One inside of another, where an optimizer steps one.
        self._undone: list[_Update] = []
        self._buffers = _Buffers()

    def before(
        self,
        optimizer: torch.optim.Optimizer,
        args: Sequence[object],
        named: Mapping[str, object],
        step: int,
    ) -> bool:
        """Have an update undone once it is made, if its gradients are bad; return whether it is.

        Args:
            optimizer: It is about to step.
            args: What its ``step`` is given, itself first.
            named: What its ``step`` is given by name.
            step: The global step.

        Raises:
            ConfigError: The optimizer computes its gradients while it steps, its parameters
                cannot be copied, or several processes train together by now.
        """
        self._forget_what_raised(optimizer)
        if any(callable(value) for value in (*args[1:], *named.values())):
            raise ConfigError(
                f"{type(optimizer).__name__} is given a closure and computes gradients while it "
                "steps; its updates cannot be skipped"
            )
        if getattr(optimizer, "found_inf", None) is not None:
            return False  # a gradient scaler has told it whether to skip
        if any(update.is_of(optimizer) for update in self._undone):
            return True  # its class calls the step of its parent
        if not self._undone and not self._is_bad(optimizer, step):
            return False
        self._undone.append(_Update(optimizer))
        return True

    def after(self, optimizer: torch.optim.Optimizer) -> None:
        """It has stepped: make everything what it was, if the update was bad."""
        for update in [update for update in self._undone if update.is_of(optimizer)]:
            if stepping_optimizers(optimizer).count(optimizer) < 2:
                self._undone.remove(update)
            update.undo()
            self._buffers.put_back()

    def after_step(self, models: Iterable[torch.nn.Module]) -> None:
        """A step of these models is over: keep what is in their buffers."""
        self._buffers.keep(models)

    def _forget_what_raised(self, optimizer: torch.optim.Optimizer) -> None:
        """This one is about to step: forget what never ended, of which torch does not notify."""
        if not self._undone:
            return
        stepping = stepping_optimizers(optimizer)
        stepping.remove(optimizer)  # not this step, but one that it is in
        self._undone = [one for one in self._undone if any(map(one.is_of, stepping))]

    def _is_bad(self, optimizer: torch.optim.Optimizer, step: int) -> bool:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [p.grad for p in parameters if p.grad is not None]
        why, measured = self._evaluate(id(optimizer), gradients)
        if not why:
            return False
        _check_alone()
        if not_copied := next(filter(None, map(why_not_copied, parameters)), None):
            raise ConfigError(f"a parameter cannot be copied ({not_copied}), to undo its update")
        return self._skips(step, why, measured)

    def _evaluate(self, optimizer: int, gradients: Sequence[torch.Tensor]) -> tuple[str, float]:
        """Return why gradients are bad, empty if they are not, and what was measured."""
        plain = [g._values() if g.is_sparse else g for g in map(torch.Tensor.detach, gradients)]
        plain = [gradient for gradient in plain if gradient.numel()]
        largest = largest_magnitude(plain)
        if not math.isfinite(largest):
            return "the gradients are not finite", largest
        if self._spike is None:
            return "", largest
        norm = norm_of(plain, largest)
        norms = self._norms.setdefault(optimizer, deque(maxlen=MOST_NORMS))
        usual = statistics.median(norms) if len(norms) >= LEAST_NORMS else math.inf
        if norm > self._spike * usual:
            return f"the gradients have the norm {norm:.4g}, usual is {usual:.4g}", norm
        norms.append(norm)
        return "", norm


class _Update:
    """What there is before an update, to undo it."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = ref(optimizer)
        self._state = OptimizerCopy(optimizer)
        self._random: Any = random_states()  # some optimizers draw

    def is_of(self, optimizer: torch.optim.Optimizer) -> bool:
        return self._optimizer() is optimizer

    def undo(self) -> None:
        """Make parameters, optimizer and random generators what they were."""
        self._state.put_back()
        set_random_states(*self._random)


@dataclass(slots=True)
class _Buffer:
    values: torch.Tensor
    num_comparisons: int = 0
    has_changed: bool = False

    def is_of(self, buffer: torch.Tensor) -> bool:
        """Return whether the buffer is still where it was, and of the same kind."""
        return alike(buffer, self.values) and buffer.device == self.values.device


class _Buffers:
    """Copies of the buffers of models, but for those that stay what they are, such as masks."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[torch.nn.Module, dict[str, _Buffer]] = WeakKeyDictionary()

    def keep(self, models: Iterable[torch.nn.Module]) -> None:
        for model in models:
            of_model = self._kept.setdefault(model, {})
            for name, buffer in writable_buffers(model):
                kept = of_model.get(name)
                if kept is None or not kept.is_of(buffer):
                    of_model[name] = _Buffer(buffer.detach().clone())
                elif kept.has_changed:
                    kept.values.copy_(buffer.detach())
                elif kept.num_comparisons < _MOST_COMPARISONS:
                    # Its version does not tell: batch normalization changes buffers without it.
                    kept.num_comparisons += 1
                    kept.has_changed = not torch.equal(kept.values, buffer)
                    kept.values.copy_(buffer.detach())

    def put_back(self) -> None:
        with torch.no_grad():
            for model, of_model in self._kept.items():
                for name, buffer in writable_buffers(model):
                    kept = of_model.get(name)
                    if kept is None or not kept.is_of(buffer):
                        continue
                    if kept.has_changed or kept.num_comparisons < _MOST_COMPARISONS:
                        buffer.copy_(kept.values)


def _check_alone() -> None:
    _, size = distributed_rank()
    if size > 1:
        raise ConfigError(
            f"{size} processes train together, and each would decide for itself what to skip"
        )


def largest_magnitude(tensors: Sequence[torch.Tensor]) -> float:
    """Return the largest magnitude in dense tensors; nan if one is in them, 0.0 for none."""
    if not tensors:
        return 0.0
    device = tensors[0].device
    each = [torch.linalg.vector_norm(one, math.inf).double().to(device) for one in tensors]
    return float(torch.stack(each).max())


def norm_of(tensors: Sequence[torch.Tensor], largest: float) -> float:
    """Return the 2-norm of dense tensors together.

    Args:
        tensors: Of any shapes, at least one element each.
        largest: The largest magnitude, finite: they are divided by it, so that no square
            overflows.
    """
    if largest == 0:
        return 0.0
    device = tensors[0].device
    each = [torch.linalg.vector_norm(one / largest).double().to(device) for one in tensors]
    return largest * float(torch.linalg.vector_norm(torch.stack(each)))
