"""The memory of GradNormSpike: what a norm has been, in bounded space."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import numpy.typing as npt

from .checks import theil_sen


class Running:
    """Exponentially weighted mean and variance, to which outliers count only up to a limit.

    Args:
        alpha: How much of mean and variance each value keeps.
        z: A value counts towards them up to so many standard deviations above the mean.
        warmup: So many values give the first mean and variance.
        floor: Least standard deviation, as a fraction of the mean's magnitude: a value that
            hardly moves must not make a spike of its rounding.
    """

    def __init__(self, alpha: float, z: float, warmup: int, *, floor: float) -> None:
        self._alpha, self._z, self._warmup, self._floor = alpha, z, warmup, floor
        self._first: list[float] = []
        self.mean = self._variance = 0.0

    def score(self, value: float) -> float:
        """Return how many standard deviations a value is above the mean, then take it in."""
        if len(self._first) < self._warmup:
            self._first.append(value)
            if len(self._first) == self._warmup:
                self.mean = float(np.mean(self._first))
                self._variance = float(np.var(self._first))
            return 0.0
        std = max(math.sqrt(self._variance), self._floor * abs(self.mean), 1e-300)
        distance = value - self.mean
        kept = min(distance, self._z * std)  # so that a spike does not widen what counts as one
        self.mean += (1 - self._alpha) * kept
        self._variance += (1 - self._alpha) * (kept**2 - self._variance)
        return distance / std


class Norms:
    """How unusual each norm is, the share that was clipped, and a thinned history.

    Args:
        alpha: As for ``Running``, as are ``z`` and ``warmup``.
        clip_window: Length of the window for the clipped share.
    """

    # twice this is kept; the last tenth of it is still ~200 points
    _HISTORY = 2048

    def __init__(self, alpha: float, z: float, warmup: int, *, clip_window: int) -> None:
        self._running = Running(alpha, z, warmup, floor=1e-3)
        self._logarithms = Running(alpha, z, warmup, floor=0.0)
        self._clipped: deque[bool] = deque(maxlen=clip_window)
        self._num_clipped = 0
        self._history: list[tuple[int, float]] = []
        self._stride = 1
        self.count = 0
        self.last_step = 0

    def add(self, step: int, norm: float) -> tuple[float, float]:
        """Return the mean before this norm, and its score.

        The score is how many standard deviations it is above the mean, on a linear or on a
        logarithmic scale, whichever is less: norms near zero differ by orders of magnitude.
        """
        self._remember(step, norm)
        mean = self._running.mean
        score = self._running.score(norm)
        return mean, min(score, self._logarithms.score(math.log(max(norm, 1e-300))))

    def clipped_share(self, clipped: bool) -> float:
        """Return the share of clipped steps in the window; 0 until it is full."""
        if len(self._clipped) == self._clipped.maxlen:
            self._num_clipped -= self._clipped[0]
        self._clipped.append(clipped)
        self._num_clipped += clipped
        full = len(self._clipped) == self._clipped.maxlen
        return self._num_clipped / len(self._clipped) if full else 0.0

    def growth(self, share: float) -> float:
        """Return by what factor the trend of the last ``share`` of the norms grew; 1 for none."""
        tail = [(at, norm) for at, norm in self._history if at >= (1 - share) * self.count]
        if len(tail) < 20:
            return 1.0
        chosen = [tail[index] for index in spread_out(len(tail), 200)]
        at, norms = np.array([c[0] for c in chosen]), np.array([c[1] for c in chosen])
        slope = theil_sen(at, np.log(np.maximum(norms, 1e-300)))
        return math.exp(min(slope * float(at[-1] - at[0]), 700.0))

    def _remember(self, step: int, norm: float) -> None:
        if self.count % self._stride == 0:
            self._history.append((self.count, norm))
            if len(self._history) >= 2 * self._HISTORY:
                self._history = self._history[::2]
                self._stride *= 2
        self.count += 1
        self.last_step = step


def spread_out(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most ``most`` indices below ``count``, evenly spread, both ends included.

    Example:
        >>> spread_out(10, 4).tolist(), spread_out(3, 4).tolist()
        ([0, 3, 6, 9], [0, 1, 2])
    """
    if count <= most:
        return np.arange(count)
    return np.round(np.linspace(0, count - 1, most)).astype(np.intp)
