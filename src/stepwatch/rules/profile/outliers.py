"""The rule on single steps that take far longer than others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from ...finding import Finding
from ...steps import Mode
from ..checks import Floats, number
from ..rule import Findings
from ..scope import above, at_least, one_of
from .pauses import checkpoints
from .pauses import within as lies_within
from .recent import Recent, longest_usual, spread
from .rule import SCAN_INTERVAL_US, ProfileRule, too_few
from .snapshots import Mask
from .window import Ints, ProfileWindow, Spans

#: So many steps of a kind must have been seen, and more.
_ENOUGH = 100
#: So many are kept.
_KEPT = 100_000
_SECOND = 10**9
_Key = tuple[str, str]


class StepOutlier(ProfileRule):
    """Too many steps that take far longer than the others of their worker and mode.

    Args:
        stddev: A step takes too long if it does by so many standard deviations. Above 0.
        mode: Steps of this mode only; ``None`` for each mode by itself.
        n_outliers: So many are tolerated.
        method: ``mad`` takes the median and estimates the deviation from that of the median step,
            and a step must take half as long again; ``mean`` takes mean and standard deviation,
            which outliers hide themselves in.
        warmup_steps: So many steps at the beginning do not count. With ``mad`` those neither
            in which a checkpoint is written.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "step_outlier"
    evidence_words = "times of steps"
    compat: ClassVar[Mapping[str, object]] = {"method": "mean", "warmup_steps": 0}

    def __init__(
        self,
        stddev: float = 3,
        mode: str | None = None,
        n_outliers: int = 10,
        method: Literal["mad", "mean"] = "mad",
        warmup_steps: int = 10,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        above("stddev", stddev, 0)
        at_least("n_outliers", n_outliers, 0)
        one_of("method", method, ("mad", "mean"))
        at_least("warmup_steps", warmup_steps, 0)
        # SageMaker's events are called Step:ModeKeys.TRAIN
        only = None if mode is None else mode.rpartition(".")[2]
        one_of("mode", only, [one.value for one in Mode])
        self.stddev, self.n_outliers, self.method = stddev, n_outliers, method
        self.warmup_steps, self.mode = warmup_steps, mode
        self._only = None if only == Mode.GLOBAL.value else only
        self._durations: dict[_Key, Recent] = {}
        self._seen: Counter[_Key] = Counter()
        self._phases: dict[_Key, Counter[str]] = {}

    def add(self, window: ProfileWindow) -> None:
        for key, spans in window.intervals("step").items():
            if self._only not in (None, key[1]):
                continue
            warm = max(0, self.warmup_steps - self._seen[key])
            self._seen[key] += len(spans.duration_ns)
            counts = np.arange(len(spans.duration_ns)) >= warm
            if self.method == "mad":
                counts &= ~_with_checkpoint(window, spans)
            seconds = spans.duration_ns[counts] / _SECOND
            recent = self._durations.setdefault(key, Recent(_KEPT))
            recent.add(seconds)
            if recent.count > _ENOUGH:
                slow = seconds > self._limit(recent.values)
                self._phases.setdefault(key, Counter()).update(
                    _longer_phases(window, key, spans.step[counts], slow)
                )

    def judge(self, window: ProfileWindow) -> Findings:
        for (worker, mode), recent in self._durations.items():
            if recent.count > _ENOUGH:
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

    def unevaluated(self) -> str | None:
        return super().unevaluated() or too_few(self.datapoints, _ENOUGH, "steps of a kind")

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
        return Finding(
            self.name,
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
    place = {step: number for number, step in enumerate(steps.tolist())}
    took = np.zeros((len(steps), len(names)))
    for step, name, duration in zip(phases.step.tolist(), of, phases.duration_ns, strict=True):
        if step in place:
            took[place[step], name] += duration
    more = took - np.median(took, axis=0)
    found.update(str(names[at]) for at in np.argmax(more[slow], axis=1))
    return found
