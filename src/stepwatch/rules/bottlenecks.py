"""Rules on what a training waits for: cores, reading and writing, or the loading of data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, ProfileRule
from ..model.finding import Finding
from ..numerics.measures import number
from ..profile.readings import (
    Mask,
    Snapshots,
    first_start,
    phases_at,
    snapshots,
    step_time,
)
from ..profile.statistics import Ints, QuantileSketch
from ..profile.windows import CORES, GPUS, Names, ProfileWindow, Readings, by_node

#: With fewer moments at which the cores had room it is unknown how long a step takes then.
_ENOUGH = 20


@dataclass
class _Node:
    """What is counted of one machine.

    Args:
        moments: At which its devices were read.
        low: Of these, those at which a GPU was idle.
        waiting: Those at which the training waited.
        phases: What it did then.
    """

    moments: int = 0
    low: int = 0
    waiting: int = 0
    phases: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """In percent."""
        return 100 * self.waiting / max(self.moments, 1)


class Bottleneck(ProfileRule):
    """Too many moments at which a machine waited for something."""

    unit = "moments"
    compat: ClassVar[Mapping[str, object]] = {"startup": True}
    remedy: ClassVar[str]

    threshold: float = parameter(
        50, "So large a share of the moments is too much, percent.", between=(0, 100)
    )
    gpu_threshold: float = parameter(
        10, "A GPU that is used less is idle, percent.", between=(0, 100)
    )
    startup: bool

    _trains = False

    def begin(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        """Return the readings of what may be waited for, of each machine."""
        raise NotImplementedError

    def waits(self, resource: Snapshots) -> Mask:
        """Return at which moments a machine with GPUs is short of it."""
        raise NotImplementedError

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Snapshots) -> Mask:
        """Return at which moments a machine without GPUs waits for it."""
        raise NotImplementedError

    def condition_text(self, *, has_gpu: bool) -> str:
        """Describe what held at so many moments."""
        raise NotImplementedError

    def add(self, window: ProfileWindow) -> None:
        began_ns = None if self._trains or self.startup else first_start(window)
        if began_ns is not None:
            self._nodes, self._trains = {}, True
        gpus = by_node(window.readings(GPUS, "busy_percent"))
        resources = self.resources(window)
        for node in by_node(window.readings(CORES, "busy_percent")):
            self._add(window, node, gpus.get(node, []), resources.get(node, []), began_ns or 0)

    def judge(self, window: ProfileWindow) -> Findings:
        if not (self._trains or self.startup or window.is_last):
            return
        for name, node in self._nodes.items():
            if node.moments > self.patience and node.share > self.threshold:
                yield self._finding(window.step, name, node)

    @property
    def datapoints(self) -> int:
        return max((node.moments for node in self._nodes.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {
            name: {"moments": node.moments, "low": node.low, "met": node.waiting,
                   "phases": dict(node.phases)}
            for name, node in self._nodes.items()
        }  # fmt: skip

    def _add(
        self,
        window: ProfileWindow,
        name: str,
        gpus: Sequence[Readings],
        resource: Sequence[Readings],
        began_ns: int,
    ) -> None:
        node = self._nodes.setdefault(name, _Node())
        if gpus:
            times, (used, short) = snapshots(gpus, resource)
            low = used.lowest < self.gpu_threshold
            waiting = low & self.waits(short)
        else:
            times, (short,) = snapshots(resource)
            low = np.zeros(len(times), bool)
            waiting = self.waits_without_gpu(window, times, short)
        counts = times >= began_ns
        node.moments += int(counts.sum())
        node.low += int((low & counts).sum())
        node.waiting += int((waiting & counts).sum())
        node.phases += phases_at(window, times[waiting & counts])

    def _finding(self, step: int, name: str, node: _Node) -> Finding:
        most = node.phases.most_common(1)
        during = f"; most of them in the phase {most[0][0]}" if most else ""
        what = self.condition_text(has_gpu=bool(node.low))
        return self.finding(
            step,
            "",
            f"{name}: at {number(node.share)}% of {node.moments} moments"
            f" (> {number(self.threshold)}%) {what}{during}",
            value=node.share,
            threshold=self.threshold,
            condition=name,
            remedy=self.remedy,
            evidence={"node": name, "phases": dict(node.phases)},
        )


class CPUBottleneck(Bottleneck):
    """GPUs that are idle while cores are busy; without GPUs, steps that busy cores slow down.

    On a machine without GPUs a moment counts if its cores are busy in the mean and the step that
    runs takes longer by ``slower`` than the median step takes while they are not.
    """

    name = "cpu_bottleneck"
    evidence_noun = "readings of cores"
    remedy = (
        "give the DataLoader more workers, and move work out of the process that trains; see which"
        " other processes run"
    )

    cpu_threshold: float = parameter(
        90, "A core that is used more is busy, percent.", between=(0, 100)
    )
    patience: int = parameter(1000, "So many moments must have been seen, and more.", at_least=0)
    cpu_scope: Literal["any", "mean"] = parameter(
        "any", "`mean`: the mean of all cores in the place of the busiest."
    )
    slower: float = parameter(0.2, "Fraction of a step.", at_least=0)
    startup: bool = parameter(False, "Count what was before the first step, too; `true` in compat.")

    def begin(self) -> None:
        super().begin()
        self._with_room = QuantileSketch()

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        return by_node(window.readings(CORES, "busy_percent"))

    def waits(self, resource: Snapshots) -> Mask:
        used = resource.highest if self.cpu_scope == "any" else resource.mean
        return used > self.cpu_threshold

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Snapshots) -> Mask:
        took = step_time(window, times)
        busy = resource.mean > self.cpu_threshold
        self._with_room.add(took[~busy & ~np.isnan(took)])
        if self._with_room.count < _ENOUGH:
            return np.zeros(len(times), bool)
        return busy & (took > (1 + self.slower) * self._with_room.of(0.5))

    def condition_text(self, *, has_gpu: bool) -> str:
        limit = f"above {number(self.cpu_threshold)}%"
        if has_gpu:
            cores = "a core was" if self.cpu_scope == "any" else "the cores were"
            return f"a GPU was below {number(self.gpu_threshold)}% while {cores} {limit}"
        return f"the cores were {limit} and steps took longer by {self.slower:.0%} or more"


class IOBottleneck(Bottleneck):
    """GPUs that are idle while cores wait for reading and writing; without GPUs, the wait alone."""

    name = "io_bottleneck"
    evidence_noun = "readings of I/O waits"
    compat: ClassVar[Mapping[str, object]] = {"startup": True, "pressure": False}
    remedy = "read ahead, from fewer and larger files, or from a copy on a local disk"

    io_threshold: float = parameter(50, "A core that waits more, waits, percent.", between=(0, 100))
    patience: int = parameter(1000, "So many moments must have been seen, and more.", at_least=0)
    pressure: bool = parameter(
        True, "Count the kernel's I/O pressure as well; it knows network file systems."
    )
    startup: bool = parameter(False, "Count what was before the first step, too; `true` in compat.")

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        waits = window.readings(CORES, "iowait_percent")
        if self.pressure:
            waits |= window.readings("pressure", "io_some_percent")
        return by_node(waits)

    def waits(self, resource: Snapshots) -> Mask:
        return resource.highest > self.io_threshold

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Snapshots) -> Mask:
        del window, times
        return self.waits(resource)

    def condition_text(self, *, has_gpu: bool) -> str:
        waited = f"a core waited for I/O more than {number(self.io_threshold)}% of the time"
        if has_gpu:
            return f"a GPU was below {number(self.gpu_threshold)}% while {waited}"
        return waited


_SECOND = 10**9


class Dataloader(ProfileRule):
    """Too few processes that load data, or too many, for the cores that there are.

    In each second the processes that load are counted for each worker, which is one where it loads
    by itself; their median is compared with the cores that fall to a worker.
    """

    name = "dataloader"
    evidence_noun, unit = "loading of data", "seconds of steps"
    compat: ClassVar[Mapping[str, object]] = {"min_wait": 0}

    min_threshold: float = parameter(70, "Fewer are too few, in percent of the cores.", at_least=0)
    max_threshold: float = parameter(
        200, "More are too many, in percent of the cores.", at_least="min_threshold"
    )
    patience: int = parameter(10, "So many seconds must have been seen, and more.", at_least=0)
    min_wait: float = parameter(
        0.05,
        "With a smaller share of waiting it is for information; `0` in compat.",
        between=(0, 1),
    )

    def begin(self) -> None:
        self._workers: dict[str, Counter[int]] = {}
        self._cores: dict[str, int] = {}
        self._waited_ns: Counter[str] = Counter()
        self._stepped_ns: Counter[str] = Counter()
        self._loads = QuantileSketch()
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
                yield from self._evaluate(window.step, worker, _median(counts), cores)

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
            return NotApplicable("no batch was waited for: the training has no DataLoader")
        if self.datapoints and not any(self._cores.values()):
            return "no readings of cores in the profile"
        return super().unevaluated()

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

    def _evaluate(self, step: int, worker: str, processes: int, cores: float) -> Findings:
        percent = 100 * processes / cores
        few = percent < self.min_threshold
        if not few and percent <= self.max_threshold:
            return
        wait = self._wait(worker)
        known = worker in self._stepped_ns
        yield self.finding(
            step,
            "",
            f"{worker}: {processes} process{'es load' if processes > 1 else ' loads'} data on"
            f" {number(cores)} cores ({number(percent)}%, allowed"
            f" {number(self.min_threshold)}% to {number(self.max_threshold)}%)"
            + (f"; {wait:.0%} of step time waits for data" if known else ""),
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
    middle, passed = (sum(counts.values()) + 1) // 2, 0
    for value in sorted(counts):
        passed += counts[value]
        if passed >= middle:
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
