"""What profile rules remember: the last readings of a series, and where most of all of them lie."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from ..checks import MAD_TO_STD, Floats

_WIDTH = math.log(1.01)


class Recent:
    """The last readings of a series, and how many there were.

    Args:
        length: So many are kept.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self.values: Floats = np.empty(0)
        self.count = 0

    def add(self, values: Floats) -> None:
        """Take in the next ones."""
        self.count += len(values)
        self.values = np.concatenate([self.values, values])[-self._length :]


class Quantiles:
    """Quantiles of any number of values that are not negative, to within a hundredth of each."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.count = 0
        self.least, self.most = math.inf, -math.inf

    def add(self, values: Floats) -> None:
        """Take in more of them."""
        if not len(values):
            return
        self.count += len(values)
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))
        with np.errstate(divide="ignore"):
            places = np.floor(np.log(np.maximum(values, 1e-12)) / _WIDTH).astype(np.int64)
        known, counts = np.unique(places, return_counts=True)
        self._counts.update(dict(zip(known.tolist(), counts.tolist(), strict=True)))

    def of(self, share: float) -> float:
        """Return the value that a share of them does not exceed; nan if there are none.

        Example:
            >>> known = Quantiles()
            >>> known.add(np.arange(1000.0))
            >>> 940 <= known.of(0.95) <= 960
            True
        """
        wanted, seen = share * self.count, 0
        for place in sorted(self._counts):
            seen += self._counts[place]
            if seen >= wanted:
                middle = math.exp((place + 0.5) * _WIDTH)
                return min(max(middle, self.least), self.most)
        return math.nan

    def table(self) -> dict[str, float]:
        """Return the numbers that reports show, rounded to two digits; empty for no values."""
        if not self.count:
            return {}
        named = {"p99": 0.99, "p95": 0.95, "p50": 0.5}
        values = {"max": self.most, **{name: self.of(at) for name, at in named.items()}}
        return {name: round(value, 2) for name, value in {**values, "min": self.least}.items()}


def spread(values: Floats) -> dict[str, float]:
    """Return extremes and quantiles of values, rounded to two digits; empty for none."""
    if not len(values):
        return {}
    at = {"min": 0, "p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}
    found = np.percentile(values, list(at.values()))
    return {name: round(float(value), 2) for name, value in zip(at, found, strict=True)}


def longest_usual(median: float, apart: float, *, deviations: float) -> float:
    """Return above what a duration is far longer than most.

    From medians: the mean and the standard deviation are what outliers hide themselves in.

    Args:
        median: Of the durations.
        apart: Their median absolute deviation.
        deviations: So many standard deviations above the median, and half of it at least.
    """
    return max(median + deviations * MAD_TO_STD * apart, 1.5 * median)
