"""The hook for MXNet Gluon."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from mxnet.ndarray import NDArray

from stepwatch.capture.guard import guarded
from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.base import Array, Hook, coverage_line
from stepwatch.model.steps import Mode

from .models import Modules, Names, parameters_of
from .observe import Observer
from .patches import PATCHES
from .tracker import Tracker


def coverage(names: Names, modules: Modules, observer: Observer) -> str:
    """Return the coverage line: which parameters and outputs were observed, and why others not."""
    named = [names.of_parameter(each) for root in names.roots for each in parameters_of(root)]
    parameters = {name: None if name in observer.observed else "not reached" for name in named}
    parameters |= dict.fromkeys(sorted(modules.parameters))
    outputs: dict[str, str | None] = dict.fromkeys(sorted(modules.outputs))
    for name, (_, is_hidden) in names.blocks().items():
        why = "inside a hybridized block" if is_hidden else "not called in this step"
        outputs[name] = observer.returned.get(name, why)
    return coverage_line(parameters, outputs)


class MXNetHook(Hook):
    """Captures what happens in a training run of MXNet Gluon.

    It observes every model that runs and every trainer that updates. Weights are those that the
    step's forward used, gradients those that its update used: summed over devices, and divided
    by the batch size that ``Trainer.step`` was given.

    Args:
        run: Directory or URL to write to, which must not hold a run yet; or the recorder of
            another hook in this process.
        options: As of ``Hook``.

    Raises:
        RunExists: ``run`` already holds a run.
        StoreError: ``run`` cannot be written to.

    Example:
        ``with MXNetHook("runs/first"):`` around the training loop; or make one before it and
        ``close()`` it after. What is never closed is so when Python ends.
    """

    framework = "mxnet"

    def __init__(self, run: str | os.PathLike[str] | Recorder, **options: Any) -> None:
        super().__init__(run, **{"rank": rank_of_horovod(), **options})
        self._checks_end = False
        self._tracker = Tracker(
            self.recorder, self.stepped, self._end_if_requested, strict=self.strict
        )
        self.attach()

    def set_mode(self, mode: Mode | str | None) -> None:
        super().set_mode(mode)
        self._tracker.steps.mode = self._mode

    @guarded
    def save_scalar(self, name: str, value: float | Array | NDArray) -> None:
        """Save one number with the step that is being observed, as ``scalar/<name>``."""
        self._save(f"scalar/{name}", "scalars", np.asarray(_plain(value), np.float64))

    @guarded
    def save_tensor(self, name: str, value: Array | NDArray) -> None:
        """Save a tensor with the step that is being observed, as ``tensor/<name>``.

        Its statistics are saved; its full value as well where the policy of the collection
        ``tensors`` asks for raw values.
        """
        self._save(f"tensor/{name}", "tensors", np.asarray(_plain(value)))

    def attach(self) -> None:
        """Attach to MXNet; done when the hook is made, and possible again after ``detach``."""
        if not self.active:
            PATCHES.add(self._tracker)
            self._tracker.active = self.active = True

    def detach(self) -> None:
        """Let go of MXNet; nothing is captured until ``attach``."""
        self._tracker.detach()
        self.active = False
        PATCHES.remove(self._tracker)

    def finish(self) -> None:
        self._tracker.close()

    def stepped(self, mode: Mode) -> None:
        super().stepped(mode)
        self._checks_end |= mode is Mode.TRAIN

    def describe_coverage(self) -> str:
        return coverage(self._tracker.names, self._tracker.modules, self._tracker.observer)

    def let_go(self) -> str:
        return super().let_go() or self._tracker.failure

    def _save(self, name: str, kind: str, value: Array) -> None:
        steps = self._tracker.steps
        self._tracker.observer.value(steps.current(steps.mode or Mode.TRAIN), name, kind, value)

    def _end_if_requested(self) -> None:
        if self._checks_end:
            self._checks_end = False
            self.answer()


def _plain(value: object) -> object:
    return value.asnumpy() if isinstance(value, NDArray) else value


def rank_of_horovod() -> tuple[int, int] | None:
    """Return which process this is, and of how many, as Horovod says; ``None`` without it."""
    horovod = sys.modules.get("horovod.mxnet")
    if horovod is None or not horovod.is_initialized():
        return None
    return horovod.rank(), horovod.size()
