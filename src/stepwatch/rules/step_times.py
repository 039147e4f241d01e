"""Rules on the time before the first step, and on steps that take far longer than others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from ..judge.declaration import one_of, parameter
from ..judge.rule import Findings, ProfileRule
from ..model.finding import Finding
from ..model.steps import Mode
from ..numerics.measures import Floats, number
from ..profile.readings import Mask, RecentReadings, checkpoints, first_start
from ..profile.readings import within as lies_within
from ..profile.statistics import ENOUGH_STEPS, Ints, longest_usual, spread
from ..profile.windows import ProfileWindow, Spans

_MINUTE_NS = 60 * 10**9


class MaxInitializationTime(ProfileRule):
    """No step for too long since the run began.

    A step counts once it has ended, so the time that the first one takes to compile is part of it.
    """

    name = "max_initialization_time"
    evidence_noun = "readings and no step"

    threshold: float = parameter(20, "So many minutes are too long.", above=0)

    def begin(self) -> None:
        self._began_ns: int | None = None
        self._latest_ns = 0
        self._first_ns: int | None = None
        self._loop_ended_ns = 0
        self._spent_ns: Counter[str] = Counter()

    def add(self, window: ProfileWindow) -> None:
        starts = [*window.system.column("time_ns").to_pylist()[:1]]
        starts += window.spans.column("start_ns").to_pylist()[:1]
        starts += [one.started_ns for one in window.machines.values() if one.started_ns]
        if self._began_ns is None and starts:
            self._began_ns = min(starts)
        self._latest_ns = max([self._latest_ns, *window.system.column("time_ns").to_pylist()[-1:]])
        for spans in window.intervals("step").values():
            ended_ns = int((spans.start_ns + spans.duration_ns).max())
            self._loop_ended_ns = max(self._loop_ended_ns, ended_ns)
        self._latest_ns = max(self._latest_ns, self._loop_ended_ns)
        if self._first_ns is None:
            self._first_ns = first_start(window)
            self._count_time(window)

    def judge(self, window: ProfileWindow) -> Findings:
        if self._first_ns is not None or self._began_ns is None:
            return
        minutes = (self._latest_ns - self._began_ns) / _MINUTE_NS
        if minutes > self.threshold:
            spent = [f"{name} {number(ns / _MINUTE_NS)} min" for name, ns in self._most()]
            yield self.finding(
                window.step,
                "",
                f"no step has ended after {number(minutes)} min (> {number(self.threshold)} min)"
                + (f"; of these {', '.join(spent)}" if spent else ""),
                value=minutes,
                threshold=self.threshold,
                condition="initialization",
                remedy="read data as they are needed instead of all before, and keep what was"
                " compiled; if there are steps, and none is timed, attach a hook",
                evidence={"spent_ns": dict(self._spent_ns)},
            )

    @property
    def datapoints(self) -> int:
        return int(self._began_ns is not None)

    def details(self) -> Mapping[str, object]:
        return {
            "began_ns": self._began_ns,
            "first_step_ns": self._first_ns,
            "last_step_ended_ns": self._loop_ended_ns or None,
            "seen_until_ns": self._latest_ns,
        }

    def summary(self) -> str:
        if self._first_ns is None or self._began_ns is None:
            return "no step was timed"
        minutes = (self._first_ns - self._began_ns) / _MINUTE_NS
        return f"the first step began after {number(minutes)} min"

    def _count_time(self, window: ProfileWindow) -> None:
        for kind in ("pause", "window", "loader"):
            for spans in window.intervals(kind).values():
                for name, duration in zip(spans.name, spans.duration_ns.tolist(), strict=True):
                    self._spent_ns[str(name)] += duration

    def _most(self) -> list[tuple[str, int]]:
        return [(name, ns) for name, ns in self._spent_ns.most_common(3) if ns > _MINUTE_NS / 60]


#: So many are kept.
_KEPT = 100_000
_SECOND = 10**9
_Key = tuple[str, str]


class StepOutlier(ProfileRule):
    """Too many steps that take far longer than the others of their worker and mode."""

    name = "step_outlier"
    evidence_noun, unit = "times of steps", "steps of a kind"
    patience = ENOUGH_STEPS
    compat: ClassVar[Mapping[str, object]] = {"method": "mean", "warmup_steps": 0}

    stddev: float = parameter(
        3, "A step takes too long if it does by so many standard deviations.", above=0
    )
    mode: str | None = parameter(None, "Steps of this mode only; `none` for each mode by itself.")
    n_outliers: int = parameter(10, "So many are tolerated.", at_least=0)
    method: Literal["mad", "mean"] = parameter(
        "mad", "`mean`, as in compat: by mean and deviation, which outliers widen."
    )
    warmup_steps: int = parameter(
        10, "So many steps at the beginning do not count; `0` in compat.", at_least=0
    )

    def begin(self) -> None:
        # SageMaker's events are called Step:ModeKeys.TRAIN
        only = None if self.mode is None else self.mode.rpartition(".")[2]
        one_of("mode", only, [one.value for one in Mode])
        self._only = None if only == Mode.GLOBAL.value else only
        self._durations: dict[_Key, RecentReadings] = {}
        self._counts: Counter[_Key] = Counter()
        self._phases: dict[_Key, Counter[str]] = {}

    def add(self, window: ProfileWindow) -> None:
        for key, spans in window.intervals("step").items():
            if self._only not in (None, key[1]):
                continue
            warm = max(0, self.warmup_steps - self._counts[key])
            self._counts[key] += len(spans.duration_ns)
            counts = np.arange(len(spans.duration_ns)) >= warm
            if self.method == "mad":
                counts &= ~_with_checkpoint(window, spans)
            seconds = spans.duration_ns[counts] / _SECOND
            recent = self._durations.setdefault(key, RecentReadings(_KEPT))
            recent.add(seconds)
            if recent.count > ENOUGH_STEPS:
                slow = seconds > self._limit(recent.values)
                self._phases.setdefault(key, Counter()).update(
                    _longer_phases(window, key, spans.step[counts], slow)
                )

    def judge(self, window: ProfileWindow) -> Findings:
        for (worker, mode), recent in self._durations.items():
            if recent.count > ENOUGH_STEPS:
                limit = self._limit(recent.values)
                slow = recent.values[recent.values > limit]
                if len(slow) > self.n_outliers:
                    yield self._finding(window.step, worker, mode, recent.values, slow, limit)

    @property
    def datapoints(self) -> int:
        return max((recent.count for recent in self._durations.values()), default=0)

    def details(self) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for (worker, mode), recent in self._durations.items():
            if not recent.values.size:
                continue
            limit = self._limit(recent.values)
            numbers = {
                "steps": recent.count,
                "outliers": int((recent.values > limit).sum()),
                "stddev": round(float(recent.values.std()), 6),
                "limit": round(limit, 6),
                "mean": round(float(recent.values.mean()), 6),
            }
            seconds = {name: value / 1000 for name, value in spread(1000 * recent.values).items()}
            found[f"{worker} {mode}"] = numbers | seconds
        return found

    def _limit(self, seconds: Floats) -> float:
        """Return how long a step may take, in seconds."""
        if not len(seconds):
            return float("inf")
        if self.method == "mean":
            return float(seconds.mean() + self.stddev * seconds.std())
        median = float(np.median(seconds))
        apart = float(np.median(np.abs(seconds - median)))
        return longest_usual(median, apart, deviations=self.stddev)

    def _finding(
        self, step: int, worker: str, mode: str, seconds: Floats, slow: Floats, limit: float
    ) -> Finding:
        median = float(np.median(seconds))
        phases = self._phases.get((worker, mode), Counter()).most_common(1)
        during = f"; mostly the phase {phases[0][0]} takes longer" if phases else ""
        return self.finding(
            step,
            "",
            f"{worker}: {len(slow)} of {len(seconds)} {mode} steps took more than"
            f" {number(limit)} s (> {self.n_outliers} steps; median {number(median)} s){during}",
            worker=worker,
            mode=mode,
            value=float(len(slow)),
            threshold=float(self.n_outliers),
            condition=f"outliers {mode}",
            remedy="look at what else happens at these steps: checkpoints, waits for data, garbage"
            " collection, another worker that is late",
            evidence={"limit_s": limit, "median_s": median, "lost_s": float((slow - median).sum())},
        )


def _with_checkpoint(window: ProfileWindow, spans: Spans) -> Mask:
    """Return in which intervals a checkpoint was written."""
    found = np.zeros(len(spans.start_ns), bool)
    for pauses in checkpoints(window):
        middles = pauses.start_ns + pauses.duration_ns // 2
        at = np.searchsorted(spans.start_ns, middles, "right") - 1
        inside = lies_within([spans], middles) & (at >= 0)
        found[at[inside]] = True
    return found


def _longer_phases(window: ProfileWindow, key: _Key, steps: Ints, slow: Mask) -> Counter[str]:
    """Return, for each slow step, the phase that takes longer by most than in the others."""
    phases = window.intervals("phase").get(key)
    found: Counter[str] = Counter()
    if phases is None or not slow.any():
        return found
    names, of = np.unique(phases.name.astype(str), return_inverse=True)
    row_of = {step: number for number, step in enumerate(steps.tolist())}
    took = np.zeros((len(steps), len(names)))
    for step, name, duration in zip(phases.step.tolist(), of, phases.duration_ns, strict=True):
        if step in row_of:
            took[row_of[step], name] += duration
    more = took - np.median(took, axis=0)
    found.update(str(names[at]) for at in np.argmax(more[slow], axis=1))
    return found
