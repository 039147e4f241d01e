"""Which numbers of a step are shown as points of curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...hook_config import Reduction
from ...record import Layout, TensorInfo
from ...statistics import NAN, NEGINF, NUM_FIELDS, POSINF, merge
from ..smdebug.reduce import reductions
from .event import point_prefix
from .tags import Tags

#: What training changes and by how much: shown by its norm, also where it has one element.
NORMED = ("weights", "gradients")

_COLUMNS = (Reduction("mean"), Reduction("l2"))
_MEAN, _L2 = range(2)


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Args:
        row: Of its tensor in the layout; from the end of it on, of the totals.
        column: Whether it shows the mean or the l2 norm.
        prefix: What stands before its number in a point.
    """

    row: int
    column: int
    prefix: bytes


@dataclass(frozen=True)
class Curves:
    """What is shown of the tensors of a layout.

    Args:
        layout: Of the steps that are shown so.
        always: Curves that every step has a point of.
        thinned: Curves that some steps may leave out.
        totals: The rows of each set of tensors that is shown as if it were one tensor.
    """

    layout: Layout
    always: tuple[Curve, ...]
    thinned: tuple[Curve, ...] = ()
    totals: tuple[npt.NDArray[np.intp], ...] = ()

    @cached_property
    def _places(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        every = (*self.always, *self.thinned)
        return (
            np.array([one.row for one in every], np.intp),
            np.array([one.column for one in every], np.intp),
        )

    def points(self, statistics: npt.NDArray[np.float64], *, thin: bool) -> bytes:
        """Return the points that a step adds, joined.

        An element that is nan or infinite makes its point so. What is not known has no point.

        Args:
            statistics: Those of the step, shape ``[tensors, NUM_FIELDS]``.
            thin: Leave out the thinned curves.
        """
        totals = [merge(statistics[rows]) for rows in self.totals]
        rows = np.concatenate([statistics, np.reshape(totals, (-1, NUM_FIELDS))])
        numbers = reductions(rows, _COLUMNS)
        is_odd = np.any(rows[:, [NAN, POSINF, NEGINF]] > 0, axis=1, keepdims=True)
        is_known = ~np.isnan(numbers) | is_odd
        with np.errstate(over="ignore"):  # what float32 cannot hold is shown as infinite
            data = numbers[self._places].astype("<f4").tobytes()
        shown = self.always if thin else (*self.always, *self.thinned)
        known = is_known[self._places].tolist()
        return b"".join(
            curve.prefix + data[4 * number : 4 * number + 4]
            for number, curve in enumerate(shown)
            if known[number]
        )


def all_curves(layout: Layout, tags: Tags) -> Curves:
    """Return a curve for every tensor of one element, and norms of ``NORMED``.

    The norm of all weights, and of all gradients, is always shown; that of each tensor is thinned.
    """
    names = [info.name for info in layout.tensors]
    kinds = {kind: layout.rows_of[kind] for kind in NORMED if kind in layout.rows_of}
    values = curves_of(layout, tags, lambda info: info.collection not in NORMED).always
    totals = (
        Curve(len(layout) + number, _L2, point_prefix(tags[f"l2/{kind}"]))
        for number, kind in enumerate(kinds)
    )
    norms = (
        Curve(row, _L2, point_prefix(tags[f"l2/{names[row]}"]))
        for rows in kinds.values()
        for row in rows.tolist()
    )
    return Curves(layout, (*values, *totals), tuple(norms), tuple(kinds.values()))


def curves_of(layout: Layout, tags: Tags, shown: Callable[[TensorInfo], bool]) -> Curves:
    """Return a curve for every tensor of one element that ``shown`` takes."""

    def curves() -> Iterator[Curve]:
        for row, info in enumerate(layout.tensors):
            if is_single(info) and shown(info):
                yield Curve(row, _MEAN, point_prefix(tags[info.name]))

    return Curves(layout, tuple(curves()))


def is_single(info: TensorInfo) -> bool:
    """Return whether a tensor has one element."""
    return math.prod(info.shape) == 1
