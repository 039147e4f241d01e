"""What is remembered of variables that no gradient is taken by, for the rule on such parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from weakref import WeakSet

from ..judge.step_view import StepNumber, StepView
from ..model.record import Layout, TensorInfo
from ..numerics.measures import Floats
from .shared import prefixed

_PREFIX, _THAWED = "optimizer/left_out/", "optimizer/thawed/"
# Two looks tell that what is no longer frozen does not change.
_LEAST_LOOKS = 2


@dataclass(slots=True)
class LeftOut:
    """A variable that lies before what is trained.

    Args:
        info: Its name and shape.
        first: Its statistics at first.
        onset: Since when it was seen,
        looks: and at how many steps.
        is_changed: Whether something changes it.
    """

    info: TensorInfo
    first: Floats
    onset: StepNumber
    looks: int = 0
    is_changed: bool = False

    @property
    def is_thawed(self) -> bool:
        return self.info.name.startswith(_THAWED)

    @property
    def name(self) -> str:
        return self.info.name.removeprefix(_THAWED).removeprefix(_PREFIX)


class LeftOutVariables:
    """Remembers the variables that lie before what is trained and are left out."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], LeftOut] = {}
        # What gradients were ever taken by, by worker.
        self._asked: set[tuple[str, str]] = set()
        self._layouts: WeakSet[Layout] = WeakSet()
        # The losses of steps that were observed in full, and those of all steps.
        self._full: set[str] = set()
        self._losses: set[str] = set()

    def add(self, step: StepView, signature: Sequence[int]) -> None:
        """Add one TRAIN step.

        Args:
            signature: The statistics of which none is the same for another value.
        """
        for record in step.records:
            layout = record.layout
            if layout not in self._layouts:
                self._layouts.add(layout)
                losses = {one.name for one in layout.tensors if one.collection == "losses"}
                asked = {
                    (record.worker, one.name.removeprefix("gradient/"))
                    for one in layout.tensors
                    if one.collection == "gradients"
                }
                self._losses |= losses
                self._full |= losses if asked else set()
                self._asked |= asked
        for group in chain(*(prefixed(step, "optimizer", one) for one in (_PREFIX, _THAWED))):
            worker = group.record.worker
            for row, info in zip(group.rows.tolist(), group.infos, strict=True):
                now = group.record.statistics[row].copy()
                one = self._known.setdefault((worker, info.name), LeftOut(info, now, step.at))
                one.looks += 1
                one.is_changed |= bool((now[signature] != one.first[signature]).any())

    def left_out(self, k: int, last: StepNumber) -> dict[str, list[LeftOut]]:
        """Return those that were left out until now, by worker.

        Args:
            k: At so many steps they were seen at least, and ten times as many were taken since.
            last: The last TRAIN step.
        """
        found: dict[str, list[LeftOut]] = {}
        if self._losses - self._full:
            return found  # another set of variables had its turn between full steps
        for (worker, _), one in self._known.items():
            is_long = last.train_step + 1 - one.onset.train_step >= 10 * k
            # It was asked before it was frozen, perhaps.
            is_asked = (worker, one.name) in self._asked and not one.is_thawed
            least = min(k, _LEAST_LOOKS) if one.is_thawed else k
            if one.looks >= least and is_long and not is_asked:
                found.setdefault(worker, []).append(one)
        # What stands still beside what changes, such as a bias of zeros, is updated with it.
        changed = {worker for (worker, _), one in self._known.items() if one.is_changed}
        return {worker: those for worker, those in found.items() if worker not in changed}
