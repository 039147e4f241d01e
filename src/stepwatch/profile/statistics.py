"""Arithmetic that rules, tables and reports of a profile share.

Rows of a profile may stand for several readings or steps that were joined; ``count`` says how
many. Quantiles and means weigh rows by it everywhere, so that a rule, a table and a report never
disagree about the same profile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..numerics.measures import MAD_TO_STD, Floats

Ints = npt.NDArray[np.int64]
#: The edges of histograms of percentages.
BINS = np.linspace(0, 100, 51)
#: With fewer steps of a kind nobody can tell which of them are far longer than most.
ENOUGH_STEPS = 100
_WIDTH = math.log(1.01)


def quantiles(
    values: npt.ArrayLike, wanted: Sequence[float], weights: npt.ArrayLike | None = None
) -> tuple[float, ...]:
    """Return quantiles of values that may stand for several each.

    They are those of ``np.quantile(np.repeat(values, weights), wanted)``, which interpolates
    between neighbours, without that array.

    Args:
        values: Shape ``[n]``; those that are not finite are left out.
        wanted: Between 0 and 1.
        weights: Shape ``[n]``, integers: for how many each stands; 1 by default.

    Returns:
        One for each that is wanted; nan for no values.

    Example:
        >>> quantiles([5.0, 1.0, 9.0], (0.0, 0.5, 1.0), [1, 8, 1])
        (1.0, 1.0, 9.0)
    """
    values_ = np.asarray(values, np.float64)
    known = np.isfinite(values_)
    counts = np.ones(len(values_), np.int64) if weights is None else np.asarray(weights, np.int64)
    order = np.argsort(values_[known], kind="stable")
    ascending, ends = values_[known][order], np.cumsum(counts[known][order])
    if not len(ends) or not ends[-1]:
        return (math.nan,) * len(wanted)
    position = np.array(wanted, np.float64) * (ends[-1] - 1)
    below = np.floor(position)
    part = position - below
    low, high = (
        ascending[np.searchsorted(ends, at, "right")]
        for at in (below, np.minimum(below + 1, ends[-1] - 1))
    )
    # as NumPy does it, to the last bit: exact at both ends
    found = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    return tuple(found.tolist())


def spread(values: Floats) -> dict[str, float]:
    """Return extremes and quantiles of values, rounded to two digits; empty for none."""
    if not len(values):
        return {}
    at = {"min": 0, "p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}
    found = quantiles(values, [percent / 100 for percent in at.values()])
    return {name: round(value, 2) for name, value in zip(at, found, strict=True)}


class QuantileSketch:
    """Quantiles of any number of values that are not negative, to within a hundredth of each."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.count = 0
        self.least, self.most = math.inf, -math.inf

    def add(self, values: Floats) -> None:
        """Count more values."""
        if not len(values):
            return
        self.count += len(values)
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        with np.errstate(divide="ignore"):
            buckets = np.floor(np.log(np.maximum(values, 1e-12)) / _WIDTH).astype(np.int64)
        known, counts = np.unique(buckets, return_counts=True)
        self._counts.update(dict(zip(known.tolist(), counts.tolist(), strict=True)))

    def of(self, share: float) -> float:
        """Return the value that a share of them does not exceed; nan if there are none.

        Example:
            >>> known = QuantileSketch()
            >>> known.add(np.arange(1000.0))
            >>> 940 <= known.of(0.95) <= 960
            True
        """
        wanted, counted = share * self.count, 0
        for bucket in sorted(self._counts):
            counted += self._counts[bucket]
            if counted >= wanted:
                middle = math.exp((bucket + 0.5) * _WIDTH)
                return min(max(middle, self.least), self.most)
        return math.nan

    def table(self) -> dict[str, float]:
        """Return the numbers that reports show, rounded to two digits; empty for no values."""
        if not self.count:
            return {}
        named = {"p99": 0.99, "p95": 0.95, "p50": 0.5}
        values = {"max": self.most, **{name: self.of(at) for name, at in named.items()}}
        return {name: round(value, 2) for name, value in {**values, "min": self.least}.items()}


def longest_usual(median: float, apart: float, *, deviations: float) -> float:
    """Return above what a duration is far longer than most.

    From medians: the mean and the standard deviation are what outliers hide themselves in.

    Args:
        median: The median of the durations.
        apart: Their median absolute deviation.
        deviations: So many standard deviations above the median, and half of it at least.
    """
    return max(median + deviations * MAD_TO_STD * apart, 1.5 * median)


def jensen_shannon(first: Ints, second: Ints) -> float:
    """Return how far apart two histograms are, from 0 to the root of ln 2; nan for an empty one.

    Example:
        >>> round(jensen_shannon(np.array([4, 0]), np.array([0, 9])), 4)
        0.8326
    """
    if not (first.any() and second.any()):
        return math.nan
    p, q = first / first.sum(), second / second.sum()
    middle = (p + q) / 2

    def divergence(one: Floats) -> float:
        some = one > 0
        return float(np.sum(one[some] * np.log(one[some] / middle[some])))

    return float(np.sqrt(max(0.0, (divergence(p) + divergence(q)) / 2)))


def natural_key(name: str) -> tuple[str, int]:
    """Return by what to sort names so that ``gpu10`` comes after ``gpu9``.

    Example:
        >>> sorted(["gpu10", "gpu9", "cpu"], key=natural_key)
        ['cpu', 'gpu9', 'gpu10']
    """
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or -1)
