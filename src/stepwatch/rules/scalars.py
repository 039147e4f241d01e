"""Numbers of a step: of what they are, what they were at first, how long they met a condition."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

import numpy as np
import numpy.typing as npt

from .step_view import StepView, TensorGroup


def sizes(group: TensorGroup) -> npt.NDArray[np.float64]:
    """Return how many elements the tensor has that each tensor of a group is about.

    Args:
        group: Tensors called ``KIND/PARAMETER``.

    Returns:
        Shape ``[tensors]``; 1 for a parameter that the step does not hold.
    """
    layout = group.record.layout
    rows = [layout.row_of.get(info.name.partition("/")[2]) for info in group.infos]
    known = [1 if row is None else math.prod(layout.tensors[row].shape) for row in rows]
    return np.array(known, np.float64)


def prefixed(step: StepView, collection: str, prefix: str) -> Iterator[TensorGroup]:
    """Yield, for each worker, the tensors of a collection whose name begins so."""
    for group in step.groups(collection):
        mask = group.record.layout.matching(f"^{prefix}")[group.rows]
        if mask.any():
            yield group.where(mask)


class InARow:
    """For how many looks in a row each of some conditions was met."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def count(self, key: Hashable, met: bool) -> int:
        """Count one look at a condition; return the looks in a row including this one."""
        count = self._counts.get(key, 0) + 1 if met else 0
        self._counts[key] = count
        return count


class First:
    """What each of some numbers was at first: the median of its first finite values.

    Args:
        num_values: So many values give it.
    """

    def __init__(self, num_values: int) -> None:
        self._num_values = num_values
        self._values: dict[Hashable, list[float]] = {}
        self._medians: dict[Hashable, float] = {}

    def of(self, key: Hashable, value: float) -> float:
        """Return the median of the first values; nan as long as there are too few of them."""
        median = self._medians.get(key)
        if median is not None:
            return median
        values = self._values.setdefault(key, [])
        if math.isfinite(value):
            values.append(value)
        if len(values) >= self._num_values:
            self._medians[key] = float(np.median(self._values.pop(key)))
        return math.nan


def few_steps(seen: int, needed: int) -> str | None:
    """Return why so many TRAIN steps are not enough; ``None`` if they are."""
    return None if seen >= needed else f"{seen} TRAIN steps were seen, {needed} are needed"
