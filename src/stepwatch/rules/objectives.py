"""Which losses one optimizer makes smaller, so that not to fall is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..steps import Mode
from .step_view import StepView

# What is less than this fraction of the largest loss has little say in what is learnt.
_SMALL_PART = 0.1


class Objectives:
    """Remembers what of a training says that its losses need not fall."""

    def __init__(self) -> None:
        self._steps = (-1, 0.0)  # the last TRAIN step, and the updates until then
        self._sums: dict[str, float] = {}  # of the magnitudes of each loss in TRAIN
        self._apart: set[str] = set()  # losses that are not judged
        #: Why losses were left out, or "".
        self.why = ""

    def plain(self, step: StepView, losses: Mapping[str, float]) -> dict[str, float]:
        """Return the losses of a step that can be judged by whether they fall."""
        self._apart |= {name for name, loss in losses.items() if loss < 0}
        if self._apart:
            self.why = self.why or f"{min(self._apart)} was negative, so it need not fall"
        if step.mode is Mode.TRAIN and self._is_opposed(step):
            self.why = "several optimizers update in one step, perhaps against each other"
            self._apart |= set(losses)
        if step.mode is Mode.TRAIN:
            for name, loss in losses.items():
                self._sums[name] = self._sums.get(name, 0.0) + (
                    abs(loss) if math.isfinite(loss) else 0
                )
        least = _SMALL_PART * max(self._sums.values(), default=0.0)
        return {
            name: loss
            for name, loss in losses.items()
            if name not in self._apart and self._sums.get(name, least) >= least
        }

    def _is_opposed(self, step: StepView) -> bool:
        count = step.tensor("loop/optimizer_steps")
        if count is None:
            return False
        updates = count.scalar
        before, self._steps = self._steps, (step.mode_step, updates)
        return before[0] == step.mode_step - 1 and updates - before[1] > 1
