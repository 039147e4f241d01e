"""Rules on memory that fills up: graphs that are kept, and the memory of GPUs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, GpuRule, Rule
from ..judge.step_view import StepView
from ..numerics.measures import Floats, number
from ..numerics.statistics import COUNT
from ..profile.readings import RecentReadings
from ..profile.statistics import spread
from ..profile.windows import GPUS, ProfileWindow, Readings
from .history import Series
from .shared import in_a_row

#: Looks at memory that are compared, in quarters of which each must grow like the others: by at
#: least this share of their mean, and at most so many times it.
LOOKS, LEAST_GROWTH, MOST_GROWTH = 20, 0.5, 2.0
#: Of the elements of the batches so many more explain more memory.
LARGER = 1.05
#: On the host, where data are kept on purpose as well, it is a warning above this share.
NEARLY_FULL = 0.8


class MemoryGrowth(Rule):
    """Memory that fills up step by step, until there is none.

    ``graphs``: graphs of losses that are kept, one more at each step. A loss that is put into a
    list or added to a total, without ``item()`` or ``detach()``, keeps the graph that it was
    computed by, and with it what the graph holds.

    ``creep``: what tensors hold on the device, or the process on the host, is more than ``used``
    of what there is, has grown evenly over ``LOOKS`` looks without larger batches, and would be
    all of it before the training has taken as many steps again.
    """

    name = "memory_growth"
    needs = ("loop",)
    needed_steps = "consecutive"
    training_only = True
    sign = "memory"

    consecutive: int = parameter(
        100, "TRAIN steps in a row that kept more graphs; an epoch may be meant.", at_least=1
    )

    used: float = parameter(
        0.5, "Below this share of the memory its growth is let be.", between=(0, 1)
    )

    def begin(self) -> None:
        self._is_known = False
        self._last: dict[str, float] = {}
        self._looks: Series[tuple[str, str], tuple[float, float, float]] = Series(LOOKS)

    def check(self, step: StepView) -> Findings:
        self._is_known |= any(step.tensor(name) is not None for name in _KNOWN)
        self._steps += self._is_known
        yield from self._evaluate_creep(step)
        for worker in step.workers:
            graphs = step.scalar("loop/graphs", worker)
            grew = graphs > self._last.get(worker, math.inf)
            self._last[worker] = graphs
            if self.persists(worker, grew):
                yield self.finding(
                    step,
                    "loop/graphs",
                    f"the graphs of {number(graphs)} losses are kept at step {step.train_step},"
                    " more at"
                    f" each of "
                    f"{in_a_row(self.consecutive, 'TRAIN step')}: memory grows without end",
                    worker=worker,
                    value=graphs,
                    threshold=float(self.consecutive),
                    condition="graphs",
                    remedy="keep loss.item() or loss.detach(), not the loss itself",
                )

    def _evaluate_creep(self, step: StepView) -> Findings:
        """Judge how the memory of each worker has grown, and when it will be full."""
        for worker in step.workers:
            sizes = [
                float(one.record.statistics[one.row, COUNT])
                for one in step.tensors("batches", worker=worker)
            ]
            for where in _PLACES:
                names = f"loop/{where}_memory_bytes", f"loop/{where}_memory_limit_bytes"
                used, limit = step.scalars(names, worker)
                if not (used > 0 and limit > 0):
                    continue
                looks = self._looks.add((worker, where), (step.mode_step, used, sum(sizes)))
                per_step = _even_growth(looks) if used > self.used * limit else None
                if per_step is None:
                    continue
                full_at = step.mode_step + (limit - used) / per_step
                if full_at > 2 * (step.mode_step + 1):
                    continue
                first = looks[0]
                is_nearly_full = used > NEARLY_FULL * limit
                yield self.finding(
                    step,
                    names[0],
                    f"what {_PLACES[where]} grew evenly from {_gib(first[1])} to {_gib(used)} in"
                    f" {number(step.mode_step - first[0])} TRAIN steps up to step"
                    f" {step.train_step}: at"
                    f" this pace {_gib(limit)}, all there is, are full at TRAIN step"
                    f" {number(round(full_at))}",
                    worker=worker,
                    value=used,
                    threshold=limit,
                    severity="info" if where == "host" and not is_nearly_full else "warning",
                    condition=f"creep {where}" + (", nearly full" if is_nearly_full else ""),
                    remedy="see what keeps tensors from step to step: lists of outputs or losses,"
                    " logs, caches; a cache that is meant must have an end",
                    evidence={"bytes_per_step": per_step, "full_at_train_step": full_at},
                )


#: Some of these is known now and then where anything of it can be judged.
_KNOWN = ("loop/graphs", "loop/host_memory_bytes", "loop/device_memory_bytes")
#: Whose memory it is, and the words for it.
_PLACES = {"device": "tensors hold on the device", "host": "the process holds on the host"}


def _gib(size_bytes: float) -> str:
    return f"{number(size_bytes / 2**30)} GiB"


def _even_growth(looks: Sequence[tuple[float, float, float]]) -> float | None:
    """Return by how many bytes a step memory has grown.

    Args:
        looks: TRAIN step, bytes and elements of the batches of each.

    Returns:
        ``None`` where it did not grow evenly, batches grew as well, or there are too few looks.

    Example:
        >>> _even_growth([(10.0 * look, 5.0 * look, 8.0) for look in range(20)])
        0.5
    """
    if len(looks) < LOOKS:
        return None
    steps, used, elements = np.array(looks, np.float64).T
    quarters = np.median(used.reshape(4, -1), axis=1)
    growth = np.diff(quarters) / np.diff(np.median(steps.reshape(4, -1), axis=1))
    mean = float(growth.mean())
    is_even = (
        mean > 0 and LEAST_GROWTH * mean <= growth.min() and growth.max() <= MOST_GROWTH * mean
    )
    first, last = elements.reshape(2, -1).mean(axis=1)
    return mean if is_even and last <= LARGER * first else None


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

    def text_of(self) -> str:
        """Describe it, with when the memory will be full."""
        text = f"{number(self.before)}% to {number(self.after)}%"
        if not self.minutes:
            return f"{text} at once"
        rate = (self.after - self.before) / self.minutes
        left = (100 - self.after) / rate
        return f"{text} in {number(self.minutes)} min; {number(left)} min later it will be full"


class GPUMemoryIncrease(GpuRule):
    """The memory of a GPU becomes fuller: at once, or little by little.

    At once: the mean of ``window`` readings is above the mean of those before them by more than
    ``increase``. Little by little: it is above what it was at first, or after the last step, and
    has not gone down for five windows.
    """

    name = "gpu_memory_increase"
    compat: ClassVar[Mapping[str, object]] = {"overlapping": True}

    increase: float = parameter(
        5, "So much more is too much, in points of percent.", between=(0, 100)
    )
    patience: int = parameter(1000, "So many readings are passed over.", at_least=0)
    window: int = parameter(10, "So many readings are taken together.", at_least=2)
    overlapping: bool = parameter(
        False, "Compare means of nearly the same readings; `true` in compat."
    )

    def begin(self) -> None:
        self._gpus: dict[tuple[str, str], _Memory] = {}

    def add(self, window: ProfileWindow) -> None:
        for key, readings in window.readings(GPUS, "memory_percent").items():
            self._gpus.setdefault(key, _Memory(self)).add(readings)

    def judge(self, window: ProfileWindow) -> Findings:
        for (node, gpu), memory in self._gpus.items():
            for rise in memory.take():
                memory.steps += not rise.minutes
                what = "creep" if rise.minutes else f"step {memory.steps}"
                yield self.finding(
                    window.step,
                    "",
                    f"{node}/{gpu}: the use of its memory went from {rise.text_of()}",
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

    @property
    def needed(self) -> int:
        return max(self.patience, 2 * self.window)


class _Memory:
    """The memory of one GPU: its last readings, and what of them is still to be reported."""

    def __init__(self, rule: GPUMemoryIncrease) -> None:
        self.recent = RecentReadings(max(1000, 2 * rule.window))
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
        positions = before.count - len(known) + np.arange(len(values))
        rising = (later - earlier > rule.increase) & (positions >= rule.patience)
        news = rising[len(known) :]
        begins = news & ~np.r_[self._is_rising, news[:-1]]
        at = np.flatnonzero(begins) + len(known)
        self._rises += [_Rise(float(earlier[i]), float(_peak(later[i:], rising[i:]))) for i in at]
        self._is_rising = bool(news[-1]) if len(news) else self._is_rising
        before.add(readings.values)
        if not rule.overlapping:
            self._add_blocks(readings, news, positions[len(known) :] >= rule.patience)

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
