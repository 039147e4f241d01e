"""The rule on what comes before the first step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...finding import Finding
from ..checks import number
from ..rule import Findings
from ..scope import above
from .rule import SCAN_INTERVAL_US, ProfileRule
from .snapshots import first_start
from .window import ProfileWindow

_MINUTE_NS = 60 * 10**9


class MaxInitializationTime(ProfileRule):
    """No step for too long since the run began.

    A step counts once it has ended, so the time that the first one takes to compile is part of it.

    Args:
        threshold: So many minutes are too long. Above 0.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "max_initialization_time"
    evidence_words = "readings and no step"

    def __init__(self, threshold: float = 20, scan_interval_us: int = SCAN_INTERVAL_US) -> None:
        super().__init__(scan_interval_us)
        above("threshold", threshold, 0)
        self.threshold = threshold
        self._began_ns: int | None = None
        self._seen_ns = 0
        self._first_ns: int | None = None
        self._loop_ended_ns = 0
        self._spent_ns: Counter[str] = Counter()

    def add(self, window: ProfileWindow) -> None:
        starts = [*window.system.column("time_ns").to_pylist()[:1]]
        starts += window.spans.column("start_ns").to_pylist()[:1]
        starts += [one.started_ns for one in window.machines.values() if one.started_ns]
        if self._began_ns is None and starts:
            self._began_ns = min(starts)
        self._seen_ns = max([self._seen_ns, *window.system.column("time_ns").to_pylist()[-1:]])
        for spans in window.intervals("step").values():
            ended_ns = int((spans.start_ns + spans.duration_ns).max())
            self._loop_ended_ns = max(self._loop_ended_ns, ended_ns)
        self._seen_ns = max(self._seen_ns, self._loop_ended_ns)
        if self._first_ns is None:
            self._first_ns = first_start(window)
            self._count_time(window)

    def judge(self, window: ProfileWindow) -> Findings:
        if self._first_ns is not None or self._began_ns is None:
            return
        minutes = (self._seen_ns - self._began_ns) / _MINUTE_NS
        if minutes > self.threshold:
            spent = [f"{name} {number(ns / _MINUTE_NS)} min" for name, ns in self._most()]
            yield Finding(
                self.name,
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
            "seen_until_ns": self._seen_ns,
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
