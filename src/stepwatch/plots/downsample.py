"""Fewer points that still tell the truth: no extreme is ever averaged away.

A bucket holds neighbouring steps. Of each, the lowest and the highest value survive as they are,
so that one spike among a million steps is seen at any width. ``envelope`` takes a whole column;
``Envelopes`` takes values while they come, in any order: when there are too many buckets,
neighbours become one, so that what is kept is bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Envelope:
    """A column of numbers, bucket by bucket.

    Every array has shape ``[buckets]``.

    Args:
        first: First step of each bucket, int64.
        last: Last step of each bucket, int64.
        low: Lowest finite value, float64; nan where none is finite.
        high: Highest finite value, float64; nan where none is finite.
        mean: Mean of the finite values, float64; nan where none is finite.
        non_finite: How many values are nan or infinite, int64.
    """

    first: Ints
    last: Ints
    low: Floats
    high: Floats
    mean: Floats
    non_finite: Ints

    def __len__(self) -> int:
        return len(self.first)


def bucket_starts(length: int, points: int) -> Ints:
    """Return where each bucket begins, ascending from 0; none for an empty column.

    Args:
        length: How many values there are.
        points: How many buckets there may be, at least 1.

    Raises:
        ValueError: Fewer than one point.

    Example:
        >>> bucket_starts(7, 3)
        array([0, 2, 4])
    """
    if points < 1:
        raise ValueError(f"points must be at least 1, got {points}")
    buckets = min(length, points)
    return np.arange(buckets, dtype=np.int64) * length // max(buckets, 1)


def envelope(steps: npt.ArrayLike, values: npt.ArrayLike, *, points: int) -> Envelope:
    """Return the lowest, highest and mean value of each bucket of neighbouring steps.

    Args:
        steps: Shape ``[n]``, integers, ascending; the same step may come twice.
        values: Shape ``[n]``, real numbers; nan and infinities are counted apart.
        points: How many buckets there may be. With ``n`` or more, each value is its own.

    Returns:
        At most ``points`` buckets of as equal a size as can be; none for empty input.

    Raises:
        ValueError: Other shapes, descending steps, or fewer than one point.

    Example:
        >>> envelope([0, 1, 2, 3], [1.0, 9.0, 2.0, 3.0], points=2).high
        array([9., 3.])
    """
    steps_, values_ = columns(steps, values)
    starts = bucket_starts(len(steps_), points)
    if not len(starts):
        nothing, none = np.empty(0), np.empty(0, np.int64)
        return Envelope(none, none, nothing, nothing, nothing, none)
    finite = np.isfinite(values_)
    ends = np.append(starts[1:], len(steps_)) - 1
    low = np.fmin.reduceat(np.where(finite, values_, np.nan), starts)
    high = np.fmax.reduceat(np.where(finite, values_, np.nan), starts)
    non_finite = np.add.reduceat((~finite).astype(np.int64), starts)
    mean = _mean(np.where(finite, values_, 0.0), starts, ends - starts + 1 - non_finite)
    # Rounding must not push the mean of equal values out of its own band.
    mean = np.clip(mean, low, high)
    return Envelope(steps_[starts], steps_[ends], low, high, mean, non_finite)


def farthest(values: Floats, *, from_: Floats, points: int) -> Floats:
    """Return of each row and bucket the finite value farthest from the row's usual one.

    Args:
        values: Shape ``[rows, n]``, float64.
        from_: Shape ``[rows]``, float64: what is usual in each row; nan where nothing is.
        points: How many buckets there may be, at least 1.

    Returns:
        Shape ``[rows, min(n, points)]``, float64; nan where no value of a bucket is finite.
    """
    starts = bucket_starts(values.shape[1], points)
    if not len(starts) or len(starts) == values.shape[1]:
        return np.where(np.isfinite(values), values, np.nan)
    finite = np.where(np.isfinite(values), values, np.nan)
    low = np.fmin.reduceat(finite, starts, axis=1)
    high = np.fmax.reduceat(finite, starts, axis=1)
    usual = from_[:, None]
    return np.where(np.abs(high - usual) >= np.abs(low - usual), high, low)


def columns(steps: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Ints, Floats]:
    """Return steps and values as arrays that belong together.

    Raises:
        ValueError: Not two columns of the same length, or descending steps.
    """
    steps_ = np.asarray(steps, dtype=np.int64)
    values_ = np.asarray(values, dtype=np.float64)
    if steps_.ndim != 1 or steps_.shape != values_.shape:
        raise ValueError(
            f"steps and values must be columns of one length, got {steps_.shape}, {values_.shape}"
        )
    if (np.diff(steps_) < 0).any():
        raise ValueError("steps must ascend; sort them first")
    return steps_, values_


def _mean(
    values: Floats,
    starts: Ints,
    counts: Ints,
) -> Floats:
    """Return the mean of each bucket, nan where its count is zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(counts > 0, np.add.reduceat(values, starts) / counts, np.nan)


# What is known of a bucket, how two of them are joined, and what is known of nothing.
_JOINED = (
    (np.fmin, np.nan),  # lowest
    (np.fmax, np.nan),  # highest
    (np.add, 0.0),  # weighted sum of the finite ones
    (np.add, 0.0),  # the weights of those that are finite
    (np.add, 0.0),  # how many count as not finite
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
        # Of each row the last step, and of the values there: weighted sum, weights.
        self._newest = np.full(rows, -1, np.int64)
        self._at_newest = np.zeros((2, rows))

    @property
    def width(self) -> int:
        """How many steps a bucket spans."""
        return self._width

    def add(
        self,
        rows: Ints,
        steps: Ints,
        values: Floats,
        unfit: Bools | None = None,
        weights: Floats | None = None,
    ) -> None:
        """Take values, in any order.

        Args:
            rows: Shape ``[n]``, int64: the row of each.
            steps: Shape ``[n]``, int64, not negative.
            values: Shape ``[n]``, float64; those that are not finite are not drawn.
            unfit: Shape ``[n]``: which count as not finite; by default those that are not.
            weights: Shape ``[n]``, positive: of each in the mean of its bucket; 1 by default.
        """
        if not len(steps):
            return
        self._make_room(int(steps.min()), int(steps.max()))
        bucket = steps // self._width - self._origin
        np.minimum.at(self._first, bucket, steps)
        np.maximum.at(self._last, bucket, steps)
        cell = rows * len(self._first) + bucket
        unfit = ~np.isfinite(values) if unfit is None else unfit
        weights = np.ones(len(values)) if weights is None else weights
        self._add_newest(rows, steps, values, weights)
        if (np.diff(cell) < 0).any():
            order = np.argsort(cell, kind="stable")
            cell, values, unfit = cell[order], values[order], unfit[order]
            weights = weights[order]
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        for field, column in enumerate(_columns(values, unfit, weights)):
            join, cells = _JOINED[field][0], self._cells[field].reshape(-1)
            cells[cell[starts]] = join(cells[cell[starts]], join.reduceat(column, starts))

    def _add_newest(self, rows: Ints, steps: Ints, values: Floats, weights: Floats) -> None:
        newest = self._newest.copy()
        np.maximum.at(newest, rows, steps)
        self._at_newest[:, newest > self._newest] = 0.0
        self._newest = newest
        chosen = (steps == newest[rows]) & np.isfinite(values)
        np.add.at(self._at_newest[0], rows[chosen], (values * weights)[chosen])
        np.add.at(self._at_newest[1], rows[chosen], weights[chosen])

    def newest(self, row: int) -> float:
        """Return the value of a row at its last step, however many steps a bucket holds.

        Of several values at that step it is their weighted mean; nan where none is finite.
        """
        total, weight = self._at_newest[:, row]
        return float(total / weight) if weight else math.nan

    def newest_step(self, row: int) -> int:
        """Return the last step of a row, finite or not; -1 for none."""
        return int(self._newest[row])

    def of_row(self, row: int) -> Envelope:
        """Return the buckets of one row that hold a value."""
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
            usual = row_medians(scale(total / finite))[:, None]
            above, below = (np.abs(scale(extreme) - usual) for extreme in (high, low))
        return self._first[there], np.where(above >= below, high, low)

    @property
    def last(self) -> Ints:
        """The last step of each bucket, as ``farthest`` has them."""
        return self._last[self._last >= 0]

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


def _columns(values: Floats, unfit: Bools, weights: Floats) -> tuple[Floats, ...]:
    """Return what is known of buckets of one value each, in the order of ``_JOINED``."""
    finite = np.isfinite(values)
    known = np.where(finite, values, np.nan)
    sums = np.where(finite, values * weights, 0.0)
    return known, known, sums, np.where(finite, weights, 0.0), unfit.astype(np.float64)


def row_medians(matrix: Floats) -> Floats:
    """Return the median of the finite values of each row, shape ``[rows]``; nan for none.

    Of an even number the lower of the two in the middle.
    """
    ordered = np.sort(np.where(np.isfinite(matrix), matrix, np.nan), axis=1)  # nan comes last
    known = np.isfinite(ordered).sum(axis=1)
    if not ordered.shape[1]:
        return np.full(len(matrix), np.nan)
    middle: Floats = ordered[np.arange(len(matrix)), np.maximum(known - 1, 0) // 2]
    return middle
