"""The rule on the memory of GPUs that fills up."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...finding import Finding
from ..checks import Floats, number
from ..rule import Findings
from ..scope import at_least, within
from .recent import Recent, spread
from .rule import SCAN_INTERVAL_US, GpuRule, too_few
from .window import GPUS, ProfileWindow, Readings

_MINUTE_NS = 60 * 10**9
#: So many windows in a row that do not go down are a creep.
_RISING = 5


class _Rise(NamedTuple):
    """Memory that became fuller.

    Args:
        before: Percent of the memory that was used.
        after: Percent that is.
        minutes: How long that took; 0 for at once.
    """

    before: float
    after: float
    minutes: float = 0.0

    def words(self) -> str:
        """Return it in words, with when the memory will be full."""
        said = f"{number(self.before)}% to {number(self.after)}%"
        if not self.minutes:
            return f"{said} at once"
        rate = (self.after - self.before) / self.minutes
        left = (100 - self.after) / rate
        return f"{said} in {number(self.minutes)} min; {number(left)} min later it will be full"


class GPUMemoryIncrease(GpuRule):
    """The memory of a GPU becomes fuller: at once, or little by little.

    At once: the mean of ``window`` readings is above the mean of those before them by more than
    ``increase``. Little by little: it is above what it was at first, or after the last step, and
    has not gone down for five windows.

    Args:
        increase: So much more is too much, in points of percent.
        patience: So many readings are passed over.
        window: So many readings are taken together.
        overlapping: Compare means of readings that are nearly the same, as SageMaker does: only
            what rises by ``window / 2`` times ``increase`` at once is then seen, and no creep.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "gpu_memory_increase"
    compat: ClassVar[Mapping[str, object]] = {"overlapping": True}

    def __init__(
        self,
        increase: float = 5,
        patience: int = 1000,
        window: int = 10,
        overlapping: bool = False,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        within("increase", increase, 0, 100)
        at_least("patience", patience, 0)
        at_least("window", window, 2)
        self.increase, self.patience, self.window = increase, patience, window
        self.overlapping = overlapping
        self._gpus: dict[tuple[str, str], _Memory] = {}

    def add(self, window: ProfileWindow) -> None:
        for key, readings in window.readings(GPUS, "memory_percent").items():
            self._gpus.setdefault(key, _Memory(self)).add(readings)

    def judge(self, window: ProfileWindow) -> Findings:
        for (node, gpu), memory in self._gpus.items():
            for rise in memory.take():
                memory.steps += not rise.minutes
                what = "creep" if rise.minutes else f"step {memory.steps}"
                yield Finding(
                    self.name,
                    window.step,
                    "",
                    f"{node}/{gpu}: the use of its memory went from {rise.words()}",
                    value=rise.after - rise.before,
                    threshold=self.increase,
                    condition=f"{what} of {node}/{gpu}",
                    remedy="look for tensors that are kept with their graph, as in lists of losses;"
                    " memory_growth tells who holds it",
                    evidence={"node": node, "device": gpu, **rise._asdict()},
                )

    @property
    def datapoints(self) -> int:
        return max((memory.recent.count for memory in self._gpus.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {
            f"{node}/{gpu}": spread(memory.recent.values)
            for (node, gpu), memory in self._gpus.items()
        }

    def unevaluated(self) -> str | None:
        needed = max(self.patience, 2 * self.window)
        return super().unevaluated() or too_few(self.datapoints, needed)


class _Memory:
    """The memory of one GPU: its last readings, and what of them is still to be told."""

    def __init__(self, rule: GPUMemoryIncrease) -> None:
        self.recent = Recent(max(1000, 2 * rule.window))
        self.steps = 0
        self._rule = rule
        self._rises: list[_Rise] = []
        self._is_rising = False
        self._creep = _Creep(rule.increase)
        self._block: list[float] = []

    def take(self) -> list[_Rise]:
        """Return what became fuller since the last call."""
        rises, self._rises = self._rises, []
        return rises

    def add(self, readings: Readings) -> None:
        rule, before = self._rule, self.recent
        known = before.values[-2 * rule.window :]
        values = np.concatenate([known, readings.values])
        earlier, later = _means(values, rule.window, overlapping=rule.overlapping)
        places = before.count - len(known) + np.arange(len(values))
        rising = (later - earlier > rule.increase) & (places >= rule.patience)
        news = rising[len(known) :]
        begins = news & ~np.r_[self._is_rising, news[:-1]]
        at = np.flatnonzero(begins) + len(known)
        self._rises += [_Rise(float(earlier[i]), float(_peak(later[i:], rising[i:]))) for i in at]
        self._is_rising = bool(news[-1]) if len(news) else self._is_rising
        before.add(readings.values)
        if not rule.overlapping:
            self._add_blocks(readings, news, places[len(known) :] >= rule.patience)

    def _add_blocks(
        self, readings: Readings, rising: npt.NDArray[np.bool_], counts: npt.NDArray[np.bool_]
    ) -> None:
        for time, value, rises in zip(
            readings.time_ns[counts].tolist(),
            readings.values[counts].tolist(),
            rising[counts].tolist(),
            strict=True,
        ):
            if rises:
                self._creep, self._block = _Creep(self._rule.increase), []
                continue
            self._block.append(value)
            if len(self._block) == self._rule.window:
                rise = self._creep.add(time, float(np.mean(self._block)))
                self._rises += [rise] if rise else []
                self._block = []


class _Creep:
    """Means that rise, little by little.

    Args:
        increase: By more than this in all.
    """

    def __init__(self, increase: float) -> None:
        self._increase = increase
        self._first: tuple[int, float] | None = None
        self._last: deque[float] = deque(maxlen=_RISING + 1)

    def add(self, time_ns: int, mean: float) -> _Rise | None:
        """Take in one more; return what they rose by, if that is news, and begin again."""
        first_ns, first = self._first = self._first or (time_ns, mean)
        self._last.append(mean)
        last = list(self._last)
        if len(last) <= _RISING or mean - first <= self._increase:
            return None
        if last != sorted(last) or last[0] == mean:
            return None
        self._first = (time_ns, mean)
        return _Rise(first, mean, max(time_ns - first_ns, 1) / _MINUTE_NS)


def _means(values: Floats, window: int, *, overlapping: bool) -> tuple[Floats, Floats]:
    """Return the means before and up to each reading; nan where there are too few.

    Args:
        values: Shape ``[readings]``.
        window: So many are taken together.
        overlapping: Before is all but the oldest and the two newest of them, and one more.
    """
    sums = np.r_[0.0, np.cumsum(values)]
    ends = np.arange(1, len(values) + 1)

    def mean(first: npt.NDArray[np.int64], stop: npt.NDArray[np.int64]) -> Floats:
        found = (sums[np.maximum(stop, 0)] - sums[np.maximum(first, 0)]) / (stop - first)
        return np.where(first >= 0, found, np.nan)

    later = mean(ends - window, ends)
    if overlapping:
        return mean(ends - window - 1, ends - 2), later
    return mean(ends - 2 * window, ends - window), later


def _peak(values: Floats, rising: npt.NDArray[np.bool_]) -> float:
    """Return the largest value up to where it no longer rises."""
    stop = int(np.argmin(rising)) or len(rising)
    return float(values[:stop].max())
