"""What is remembered of optimizers that do not step, for the rule on untrained parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..judge.step_view import StepNumber, StepView
from .shared import prefixed

_PREFIX = "optimizer/waiting"
_ZEROED = f"{_PREFIX}_zeroed/"


@dataclass(slots=True)
class Waiting:
    """An optimizer that was not seen to step.

    Args:
        worker: Who saw it.
        what: Its class, and the name of the first parameter that it holds and that had a gradient.
        onset: Since when.
        count: Of how many parameters gradients were computed.
        looks: At how many steps that was so,
        zeroed: and at how many of them it set them to zero.
        missing: Steps that were observed in full since.
    """

    worker: str
    what: str
    onset: StepNumber
    count: int = 0
    looks: int = 0
    zeroed: int = 0
    missing: int = 0

    @property
    def optimizer(self) -> str:
        return self.what.partition("/")[0]

    @property
    def parameter(self) -> str:
        return self.what.partition("/")[2]

    @property
    def is_zeroed(self) -> bool:
        """Whether it sets gradients to zero, as who is about to step does."""
        return 2 * self.zeroed >= self.looks


class WaitingOptimizers:
    """Remembers optimizers that do not step while others do."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Waiting] = {}
        #: The last TRAIN step.
        self.last = StepNumber(0, 0)

    def add(self, step: StepView) -> None:
        """Add one TRAIN step."""
        self.last = step.at
        for record in step.records:
            # Whichever begins: those that go on waiting are seen again.
            if step.scalar("optimizer/begins", record.worker) > 0:
                self._known = {
                    key: one for key, one in self._known.items() if key[0] != record.worker
                }
            if "gradients" in record.layout.rows_of:
                for (worker, _), one in self._known.items():
                    one.missing += worker == record.worker
        for group in prefixed(step, "optimizer", f"{_PREFIX}(_zeroed)?/"):
            for tensor in group:
                what = tensor.name.removeprefix(_PREFIX).partition("/")[2]
                key = tensor.worker, what
                one = self._known.setdefault(key, Waiting(tensor.worker, what, step.at))
                one.count = max(one.count, int(tensor.scalar))
                one.looks, one.missing = one.looks + 1, 0
                one.zeroed += tensor.name.startswith(_ZEROED)

    def never_stepped(self, k: int) -> Iterator[Waiting]:
        """Yield those that waited until now.

        Args:
            k: At so many steps gradients were computed at least, and seen within so many; and
                ten times as many TRAIN steps were taken since the first of them.
        """
        for one in self._known.values():
            is_long = self.last.train_step + 1 - one.onset.train_step >= 10 * k
            if one.looks >= k and one.missing < k and is_long:
                yield one
