"""The envelope of values that are still coming: a fixed number of buckets, however many steps.

A bucket holds the steps of one interval. When there are too many buckets, neighbours become one, so
what is kept is bounded, and no extreme of it is ever averaged away. In what order values come does
not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .downsample import Envelope

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# What is known of a bucket, how two of them are joined, and what is known of nothing.
_JOINED = (
    (np.fmin, np.nan),  # lowest
    (np.fmax, np.nan),  # highest
    (np.add, 0.0),  # sum of the finite ones
    (np.add, 0.0),  # how many are finite
    (np.add, 0.0),  # how many are told of as not finite
)
_LOW, _HIGH, _SUM, _FINITE, _NON_FINITE = range(len(_JOINED))
_LATEST = np.iinfo(np.int64).max


class Envelopes:
    """The lowest, highest and mean value of each bucket of neighbouring steps, row by row.

    Args:
        rows: How many rows there are.
        points: How many buckets there may be, at least 1.

    Example:
        >>> found = Envelopes(rows=1, points=2)
        >>> steps = np.arange(4)
        >>> found.add(np.zeros(4, np.int64), steps, np.array([1.0, 9.0, 2.0, 3.0]))
        >>> found.of_row(0).high
        array([9., 3.])
    """

    def __init__(self, rows: int, points: int) -> None:
        if points < 1:
            raise ValueError(f"points must be at least 1, got {points}")
        self._points = points
        self._width = 1
        self._origin = 0  # which bucket the first one is, counted from step 0
        self._cells = np.empty((len(_JOINED), rows, 0))
        self._first: Ints = np.empty(0, np.int64)
        self._last: Ints = np.empty(0, np.int64)

    def add(self, rows: Ints, steps: Ints, values: Floats, unfit: Bools | None = None) -> None:
        """Take values, in any order.

        Args:
            rows: Shape ``[n]``, int64: the row of each.
            steps: Shape ``[n]``, int64, not negative.
            values: Shape ``[n]``, float64; those that are not finite are not drawn.
            unfit: Shape ``[n]``: which are told of as not finite; by default those that are not.
        """
        if not len(steps):
            return
        self._make_room(int(steps.min()), int(steps.max()))
        bucket = steps // self._width - self._origin
        np.minimum.at(self._first, bucket, steps)
        np.maximum.at(self._last, bucket, steps)
        place = rows * len(self._first) + bucket
        unfit = ~np.isfinite(values) if unfit is None else unfit
        if (np.diff(place) < 0).any():
            order = np.argsort(place, kind="stable")
            place, values, unfit = place[order], values[order], unfit[order]
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        for field, column in enumerate(_columns(values, unfit)):
            join, cells = _JOINED[field][0], self._cells[field].reshape(-1)
            cells[place[starts]] = join(cells[place[starts]], join.reduceat(column, starts))

    def of_row(self, row: int) -> Envelope:
        """Return what is known of one row."""
        cells = self._cells[:, row]
        there = cells[_FINITE] + cells[_NON_FINITE] > 0
        low, high, total, finite, non_finite = cells[:, there]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Rounding must not push the mean of equal values out of its own band.
            mean = np.clip(np.where(finite > 0, total / finite, np.nan), low, high)
        first, last = self._first[there], self._last[there]
        return Envelope(first, last, low, high, mean, non_finite.astype(np.int64))

    def farthest(self) -> tuple[Ints, Floats]:
        """Return of each row and bucket the value that is farthest from the usual one.

        Returns:
            The first step of each bucket, and shape ``[rows, buckets]``; nan where nothing is
            finite. Usual is the median of what buckets have on average; where no value is
            negative, far away means a large factor.
        """
        there = self._last >= 0
        low, high, total, finite, _ = self._cells[:, :, there]
        scale = np.log if not (low < 0).any() else np.positive
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = _median(scale(total / finite))
            above, below = (np.abs(scale(extreme) - usual) for extreme in (high, low))
        return self._first[there], np.where(above >= below, high, low)

    def unfit(self) -> Bools:
        """Return which buckets of which rows hold what is not finite, as ``farthest`` has them."""
        found: Bools = self._cells[_NON_FINITE][:, self._last >= 0] > 0
        return found

    def _make_room(self, first: int, last: int) -> None:
        """Have a bucket for each step between two, by joining neighbours where need be."""
        if len(self._first):
            first = min(first, self._origin * self._width)
            last = max(last, (self._origin + len(self._first)) * self._width - 1)
        while last // self._width - first // self._width >= self._points:
            self._halve()
        origin = first // self._width if not len(self._first) else min(
            self._origin, first // self._width
        )  # fmt: skip
        before = self._origin - origin if len(self._first) else 0
        size = last // self._width - origin + 1
        after = size - before - len(self._first)
        if before or after:
            self._cells = np.stack(
                [
                    np.pad(cells, ((0, 0), (before, after)), constant_values=empty)
                    for cells, (_, empty) in zip(self._cells, _JOINED, strict=True)
                ]
            )
            self._first = np.pad(self._first, (before, after), constant_values=_LATEST)
            self._last = np.pad(self._last, (before, after), constant_values=-1)
        self._origin = origin

    def _halve(self) -> None:
        """Join neighbours: each bucket is twice as wide."""
        self._width *= 2
        if not len(self._first):
            return
        starts = np.flatnonzero(
            np.diff((self._origin + np.arange(len(self._first))) // 2, prepend=-1)
        )
        self._origin //= 2
        self._cells = np.stack(
            [
                join.reduceat(cells, starts, axis=1)
                for cells, (join, _) in zip(self._cells, _JOINED, strict=True)
            ]
        )
        self._first = np.minimum.reduceat(self._first, starts)
        self._last = np.maximum.reduceat(self._last, starts)


def _columns(values: Floats, unfit: Bools) -> tuple[Floats, ...]:
    """Return what is known of buckets of one value each, in the order of ``_JOINED``."""
    finite = np.isfinite(values)
    known = np.where(finite, values, np.nan)
    sums = np.where(finite, values, 0.0)
    return known, known, sums, finite.astype(np.float64), unfit.astype(np.float64)


def _median(matrix: Floats) -> Floats:
    """Return the median of the finite values of each row, shape ``[rows, 1]``; nan for none."""
    ordered = np.sort(np.where(np.isfinite(matrix), matrix, np.nan), axis=1)  # nan comes last
    known = np.isfinite(ordered).sum(axis=1)
    if not ordered.shape[1]:
        return np.full((len(matrix), 1), np.nan)
    middle: Floats = ordered[np.arange(len(matrix)), np.maximum(known - 1, 0) // 2]
    return middle[:, None]
