"""The rule on the number of processes that load data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ...finding import Finding
from ..checks import number
from ..rule import Findings, NothingToJudge
from ..scope import at_least, within
from .recent import Quantiles
from .rule import SCAN_INTERVAL_US, ProfileRule, too_few
from .window import CORES, Ints, Names, ProfileWindow, by_node

_SECOND = 10**9


class Dataloader(ProfileRule):
    """Too few processes that load data, or too many, for the cores that there are.

    In each second the processes that load are counted for each worker, which is one where it loads
    by itself; their median is compared with the cores that fall to a worker.

    Args:
        min_threshold: Fewer are too few, in percent of the cores.
        max_threshold: More are too many, in percent of the cores.
        patience: So many seconds must have been seen, and more.
        min_wait: Where less of the time is waited for data, a finding is for information only.
            A fraction of the time of steps.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "dataloader"
    evidence_words = "loading of data"
    compat: ClassVar[Mapping[str, object]] = {"min_wait": 0}

    def __init__(
        self,
        min_threshold: float = 70,
        max_threshold: float = 200,
        patience: int = 10,
        min_wait: float = 0.05,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        at_least("min_threshold", min_threshold, 0)
        at_least("max_threshold", max_threshold, min_threshold)
        at_least("patience", patience, 0)
        within("min_wait", min_wait, 0, 1)
        self.min_threshold, self.max_threshold = min_threshold, max_threshold
        self.patience, self.min_wait = patience, min_wait
        self._workers: dict[str, Counter[int]] = {}
        self._cores: dict[str, int] = {}
        self._waited_ns: Counter[str] = Counter()
        self._stepped_ns: Counter[str] = Counter()
        self._loads = Quantiles()
        self._loaded = False

    def add(self, window: ProfileWindow) -> None:
        for node, cores in by_node(window.readings(CORES, "busy_percent")).items():
            known = window.machines[node].cores if node in window.machines else 0
            self._cores[node] = max(self._cores.get(node, 0), len(cores), known)
        loading = self._loading(window)
        for (worker, _), spans in window.intervals("step").items():
            self._stepped_ns[worker] += int(spans.duration_ns.sum())
            for second in np.unique(spans.start_ns // _SECOND).tolist():
                loading.setdefault((worker, second), set())
        for (worker, _), spans in window.intervals("phase").items():
            self._waited_ns[worker] += int(spans.duration_ns[spans.name == "data"].sum())
        self._loaded |= any(self._waited_ns.values())
        for (worker, _), threads in loading.items():
            self._workers.setdefault(worker, Counter())[max(1, len(threads))] += 1

    def judge(self, window: ProfileWindow) -> Findings:
        cores = sum(self._cores.values()) / max(1, len(self._workers))
        if not (self._loaded and cores):
            return
        for worker, counts in self._workers.items():
            if sum(counts.values()) > self.patience:
                yield from self._judge(window.step, worker, _median(counts), cores)

    @property
    def datapoints(self) -> int:
        return max((sum(counts.values()) for counts in self._workers.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {
            "cores": dict(self._cores),
            "processes": {worker: _median(counts) for worker, counts in self._workers.items()},
            "wait": {worker: round(self._wait(worker), 4) for worker in self._workers},
            "load_seconds": self._loads.table(),
        }

    def unevaluated(self) -> str | None:
        if self.datapoints and not self._loaded:
            return NothingToJudge("no batch was waited for: the training has no DataLoader")
        if self.datapoints and not any(self._cores.values()):
            return "no readings of cores in the profile"
        return super().unevaluated() or too_few(self.datapoints, self.patience, "seconds of steps")

    def _loading(self, window: ProfileWindow) -> dict[tuple[str, int], set[str]]:
        """Return who loaded in which second, by worker and second."""
        found: dict[tuple[str, int], set[str]] = {}
        for (worker, _), spans in window.intervals("loader").items():
            self._loaded = True
            self._loads.add(spans.duration_ns / _SECOND)
            for second, thread in _seconds(spans.start_ns, spans.duration_ns, spans.thread):
                found.setdefault((worker, second), set()).add(thread)
        return found

    def _wait(self, worker: str) -> float:
        return self._waited_ns[worker] / max(1, self._stepped_ns[worker])

    def _judge(self, step: int, worker: str, processes: int, cores: float) -> Findings:
        percent = 100 * processes / cores
        few = percent < self.min_threshold
        if not few and percent <= self.max_threshold:
            return
        wait = self._wait(worker)
        known = worker in self._stepped_ns
        yield Finding(
            self.name,
            step,
            "",
            f"{worker}: {processes} process{'es load' if processes > 1 else ' loads'} data on"
            f" {number(cores)} cores ({number(percent)}%, allowed"
            f" {number(self.min_threshold)}% to {number(self.max_threshold)}%)"
            + (f"; {wait:.0%} of the time of steps is waited for data" if known else ""),
            worker=worker,
            value=percent,
            threshold=self.min_threshold if few else self.max_threshold,
            severity="info" if known and wait < self.min_wait else "warning",
            condition="too few" if few else "too many",
            remedy=f"give the DataLoader num_workers={max(1, round(cores))}"
            + ("" if wait < self.min_wait else ", and pin_memory=True where there is a GPU"),
            evidence={"processes": processes, "cores": cores, "wait": wait},
        )


def _median(counts: Counter[int]) -> int:
    """Return the median of numbers that were counted; the lower of two."""
    middle, seen = (sum(counts.values()) + 1) // 2, 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= middle:
            return value
    return 0


def _seconds(starts: Ints, durations: Ints, threads: Names) -> list[tuple[int, str]]:
    """Return in which seconds each interval lies, each once."""
    found: set[tuple[int, str]] = set()
    for start, duration, thread in zip(
        starts.tolist(), durations.tolist(), threads.tolist(), strict=True
    ):
        first, last = start // _SECOND, (start + duration) // _SECOND
        found.update((second, str(thread)) for second in range(first, last + 1))
    return sorted(found)
