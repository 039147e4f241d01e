"""Fewer points that still tell the truth: no extreme is ever averaged away.

A bucket holds neighbouring steps. Of each, the lowest and the highest value survive as they
are, so that one spike among a million steps is seen at any width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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

    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    non_finite: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)


def bucket_starts(length: int, points: int) -> npt.NDArray[np.int64]:
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


def farthest(
    values: npt.NDArray[np.float64], *, from_: npt.NDArray[np.float64], points: int
) -> npt.NDArray[np.float64]:
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


def columns(
    steps: npt.ArrayLike, values: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
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
    values: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Return the mean of each bucket, nan where its count is zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(counts > 0, np.add.reduceat(values, starts) / counts, np.nan)
