"""What is captured of each tensor, as compiled functions need to know it: when they are traced.

A graph holds the statistics of what is wanted at a step, and full values where those are. Where a
later step wants others, another graph is compiled, and each is used where it fits. Most trainings
want the same at every step and have one.
"""

from __future__ import annotations

from ...capture.open_step import OpenStep
from ...capture.plan import NOTHING, STATISTICS
from ...record import TensorInfo

#: What a graph holds of a tensor.
NONE, WORDS, WHOLE = 0, 1, 2


class Choice:
    """What a graph holds of each tensor; one more is asked for when it turns up.

    Args:
        step: For which step it is asked first.
    """

    def __init__(self, step: OpenStep) -> None:
        self.step = step
        self._answers: dict[str, tuple[TensorInfo, int]] = {}

    def of(self, info: TensorInfo) -> int:
        """Return ``NONE``, ``WORDS`` or ``WHOLE``."""
        known = self._answers.get(info.name)
        if known is None:
            known = self._answers[info.name] = info, _held(self.step, info)
        return known[1]

    def fits(self, step: OpenStep) -> bool:
        """Return whether this is what a step wants of all tensors known here."""
        return all(_held(step, info) == held for info, held in self._answers.values())


class Choices:
    """All that were made so far."""

    def __init__(self) -> None:
        self._made: list[Choice] = []

    def at(self, step: OpenStep) -> Choice:
        """Return the choice that fits a step."""
        fitting = next((one for one in self._made if one.fits(step)), None)
        if fitting is None:
            fitting = Choice(step)
            self._made.append(fitting)
        fitting.step = step
        return fitting


def _held(step: OpenStep, info: TensorInfo) -> int:
    level = step.level(info)
    return level if level in (NOTHING, STATISTICS) else WHOLE
