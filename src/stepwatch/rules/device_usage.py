"""Rules on how machines and GPUs are used, and summaries of that."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, GpuRule, NotApplicable, ProfileRule
from ..numerics.measures import Floats, number
from ..profile.readings import RecentReadings, outside
from ..profile.statistics import BINS, QuantileSketch, jensen_shannon, quantiles, spread
from ..profile.usage import OF_MACHINES
from ..profile.windows import CORES, GPUS, ProfileWindow, by_node, mean_aligned

_MOST = float(np.sqrt(np.log(2)))
_Counts = npt.NDArray[np.int64]


class LoadBalancing(GpuRule):
    """Two GPUs of a machine, or the means of two machines, that are used differently.

    Histograms of all readings so far, of 50 bins, are compared by the Jensen-Shannon distance. A
    GPU that waits in a collective counts as used: where steps are timed, straggler tells more.
    """

    name = "load_balancing"
    compat: ClassVar[Mapping[str, object]] = {"threshold": 0.2, "min_gap": 0}

    threshold: float = parameter(
        0.5, "A greater distance is too much. From 0 to 0.8326.", between=(0, _MOST)
    )
    patience: int = parameter(
        1000, "So many readings of each must have been seen, and more.", at_least=0
    )
    min_gap: float = parameter(
        10, "The medians must be so far apart as well, in points of percent.", at_least=0
    )

    def begin(self) -> None:
        self._gpus: dict[tuple[str, str], _Counts] = {}
        self._nodes: dict[str, _Counts] = {}

    def add(self, window: ProfileWindow) -> None:
        readings = window.readings(GPUS, "busy_percent")
        for key, found in readings.items():
            counts = self._gpus.setdefault(key, np.zeros(len(BINS) - 1, np.int64))
            counts += np.histogram(found.values, BINS)[0]
        for node, several in by_node(readings).items():
            mean = mean_aligned(several)
            counts = self._nodes.setdefault(node, np.zeros(len(BINS) - 1, np.int64))
            counts += np.histogram(mean.values, BINS)[0]

    def judge(self, window: ProfileWindow) -> Findings:
        gpus = {f"{node}/{gpu}": (node, counts) for (node, gpu), counts in self._gpus.items()}
        for (first, one), (second, other) in combinations(gpus.items(), 2):
            if one[0] == other[0]:
                yield from self._compare(window.step, first, one[1], second, other[1])
        for (first, a), (second, b) in combinations(self._nodes.items(), 2):
            yield from self._compare(window.step, first, a, second, b)

    @property
    def datapoints(self) -> int:
        return int(max((counts.sum() for counts in self._gpus.values()), default=0))

    def details(self) -> Mapping[str, object]:
        return {f"{node}/{gpu}": counts.tolist() for (node, gpu), counts in self._gpus.items()}

    def unevaluated(self) -> str | None:
        if self.datapoints and len(self._gpus) < 2:
            return NotApplicable("there is one GPU, and no other to share the work with")
        return super().unevaluated()

    def _compare(self, step: int, first: str, a: _Counts, second: str, b: _Counts) -> Findings:
        distance = jensen_shannon(a, b)
        medians = _median(a), _median(b)
        few = min(int(a.sum()), int(b.sum())) <= self.patience
        gap = abs(medians[0] - medians[1])
        if few or not (distance > self.threshold and gap >= self.min_gap):
            return
        unused = [name for name, counts in ((first, a), (second, b)) if not counts[1:].any()]
        more = f"; {unused[0]} was hardly used at all" if unused else ""
        yield self.finding(
            step,
            "",
            f"{first} (median {number(medians[0])}%) and {second} ({number(medians[1])}%) are used"
            f" differently: their distance is {number(distance)}"
            f" (> {number(self.threshold)}){more}",
            value=distance,
            threshold=self.threshold,
            condition=f"{first} and {second}",
            remedy="give each as much to do: look at how data and layers are split",
            evidence={"first": first, "second": second, "medians": list(medians)},
        )


def _median(counts: _Counts) -> float:
    """Return the middle of the bin in which the median lies."""
    index = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return float(BINS[index] + BINS[index + 1]) / 2


_Key = tuple[str, str]


class LowGPUUtilization(GpuRule):
    """A GPU that is hardly used, or used in bursts.

    Over the last readings of each GPU: its 95th percentile is low, or that is not and its 5th is.
    Readings while the model is evaluated or a checkpoint is written do not count.
    """

    name = "low_gpu_utilization"
    compat: ClassVar[Mapping[str, object]] = {"pauses": True}

    threshold_p95: float = parameter(
        70, "Below this the GPU is used too little. Percent.", between=(0, 100)
    )
    threshold_p5: float = parameter(
        10, "Below this it is used in bursts. Percent.", between=(0, 100)
    )
    window: int = parameter(500, "So many readings are judged.", above=0)
    patience: int = parameter(1000, "So many readings must have been seen, and more.", at_least=0)
    pauses: bool = parameter(False, "Count evaluation and checkpoints, too; `true` in compat.")

    def begin(self) -> None:
        self._gpus: dict[_Key, RecentReadings] = {}
        self._before: list[ProfileWindow] = []

    def add(self, window: ProfileWindow) -> None:
        if self.pauses:
            self._add(window, ())
            return
        # a pause is known once it has ended, which may be in the next window
        known = [*self._before, window]
        for one in known if window.is_last else self._before:
            self._add(one, known)
        self._before = [window]

    def judge(self, window: ProfileWindow) -> Findings:
        for (node, gpu), recent in self._gpus.items():
            if recent.count > self.patience:
                yield from self._evaluate(window.step, node, gpu, recent)

    @property
    def datapoints(self) -> int:
        return max((recent.count for recent in self._gpus.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {f"{node}/{gpu}": spread(one.values) for (node, gpu), one in self._gpus.items()}

    def _add(self, window: ProfileWindow, known: Sequence[ProfileWindow]) -> None:
        for key, found in window.readings(GPUS, "busy_percent").items():
            kept = found.values[outside(known, found.time_ns)]
            self._gpus.setdefault(key, RecentReadings(self.window)).add(kept)

    def _evaluate(self, step: int, node: str, gpu: str, recent: RecentReadings) -> Findings:
        p5, p95 = quantiles(recent.values, (0.05, 0.95))
        low = p95 < self.threshold_p95
        if not low and p5 >= self.threshold_p5:
            return
        if not recent.values.any():
            what, text = "unused", "it was never used"
        elif low:
            what, text = "low", f"p95 is {number(p95)}% (< {number(self.threshold_p95)}%)"
        else:
            what = "bursts"
            text = f"p95 is {number(p95)}%, p5 {number(p5)}% (< {number(self.threshold_p5)}%)"
        yield self.finding(
            step,
            "",
            f"{node}/{gpu}: {text}, over the last {len(recent.values)} readings of its use",
            value=p95 if low else p5,
            threshold=self.threshold_p95 if low else self.threshold_p5,
            severity="warning" if low else "info",
            condition=f"{what} {node}/{gpu}",
            remedy="let it wait for nothing: look at the wait for data, take a larger batch, and"
            " move what synchronizes (.item(), print) out of the loop",
            evidence={"node": node, "device": gpu, **spread(recent.values)},
        )


class BatchSize(GpuRule):
    """GPUs that would take a larger batch: they, their memory and the cores all have room.

    Over the last readings, the 95th percentiles of the GPU, of its memory and of the mean of the
    machine's cores are all low.
    """

    name = "batch_size"

    cpu_threshold_p95: float = parameter(
        70, "Below this the cores have room. Percent.", between=(0, 100)
    )
    gpu_threshold_p95: float = parameter(70, "Below this the GPU has. Percent.", between=(0, 100))
    gpu_memory_threshold_p95: float = parameter(
        70, "Below this its memory has. Percent.", between=(0, 100)
    )
    patience: int = parameter(1000, "So many readings must have been seen, and more.", at_least=0)
    window: int = parameter(500, "So many readings are judged.", above=0)

    def begin(self) -> None:
        self._gpus: dict[_Key, RecentReadings] = {}
        self._memory: dict[_Key, RecentReadings] = {}
        self._cores: dict[str, RecentReadings] = {}

    def add(self, window: ProfileWindow) -> None:
        for of, metric in ((self._gpus, "busy_percent"), (self._memory, "memory_percent")):
            for key, found in window.readings(GPUS, metric).items():
                of.setdefault(key, RecentReadings(self.window)).add(found.values)
        for node, cores in by_node(window.readings(CORES, "busy_percent")).items():
            mean = mean_aligned(cores)
            self._cores.setdefault(node, RecentReadings(self.window)).add(mean.values)

    def judge(self, window: ProfileWindow) -> Findings:
        for (node, gpu), recent in self._gpus.items():
            series = recent, self._memory.get((node, gpu)), self._cores.get(node)
            known = [one.values for one in series if one is not None and one.count]
            if len(known) == len(series) and recent.count > self.needed:
                yield from self._evaluate(window.step, node, gpu, known)

    @property
    def datapoints(self) -> int:
        return max((recent.count for recent in self._gpus.values()), default=0)

    def details(self) -> Mapping[str, object]:
        of = {"gpu": self._gpus, "gpu_memory": self._memory}
        found: dict[str, object] = {
            f"{node}/{gpu} {what}": spread(one.values)
            for what, series in of.items()
            for (node, gpu), one in series.items()
        }
        return found | {f"{node} cpu": spread(one.values) for node, one in self._cores.items()}

    @property
    def needed(self) -> int:
        return max(self.patience, self.window)

    def unevaluated(self) -> str | None:
        have = {"memory of GPUs": self._memory, "cores": self._cores}
        missing = " and of ".join(what for what, series in have.items() if not series)
        absent = f"no readings of {missing} in the profile" if missing else None
        return super().unevaluated() or absent

    def _evaluate(self, step: int, node: str, gpu: str, known: Sequence[Floats]) -> Findings:
        used, memory, cores = (quantiles(values, (0.95,))[0] for values in known)
        limits = self.gpu_threshold_p95, self.gpu_memory_threshold_p95, self.cpu_threshold_p95
        if not all(one < limit for one, limit in zip((used, memory, cores), limits, strict=True)):
            return
        yield self.finding(
            step,
            "",
            f"{node}/{gpu}: over the last {len(known[0])} readings p95 of its use is"
            f" {number(used)}%, of its memory {number(memory)}%, of the cores {number(cores)}%;"
            f" all have room (< {number(limits[0])}%, {number(limits[1])}%, {number(limits[2])}%)",
            value=used,
            threshold=self.gpu_threshold_p95,
            severity="info",
            condition=f"room {node}/{gpu}",
            remedy="take a larger batch, or a smaller machine",
            evidence={"node": node, "device": gpu, "gpu": used, "memory": memory, "cpu": cores},
        )


UNITS = {name: unit for name, *_, unit in OF_MACHINES}
#: Operators that take less of the time than this are not named.
_LEAST_SHARE = 0.02


class OverallSystemUsage(ProfileRule):
    """How machines were used over the whole run; it finds nothing."""

    name = "overall_system_usage"

    def begin(self) -> None:
        self._used: defaultdict[tuple[str, str], QuantileSketch] = defaultdict(QuantileSketch)

    def add(self, window: ProfileWindow) -> None:
        for name, device, metric, _ in OF_MACHINES:
            for node, readings in by_node(window.readings(device, metric)).items():
                self._used[node, name].add(mean_aligned(readings).values)

    @property
    def datapoints(self) -> int:
        return max((used.count for used in self._used.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {
            f"{node} {name}": {"unit": UNITS[name], **used.table()}
            for (node, name), used in sorted(self._used.items())
            if used.count
        }

    def summary(self) -> str:
        devices = ("CPU", "CPU memory", "GPU", "GPU memory")
        text = [
            f"{node} {name} {number(used.of(0.5))}% ({number(used.of(0.95))}%)"
            for (node, name), used in sorted(self._used.items())
            if name in devices and used.count
        ]
        return f"median (p95): {', '.join(text)}" if text else ""


class OverallFrameworkMetrics(ProfileRule):
    """Where the time of the run went: its modes, phases and operators; it finds nothing."""

    name = "overall_framework_metrics"
    evidence_noun = "times of steps"

    def begin(self) -> None:
        self._ends: dict[str, tuple[int, int]] = {}
        self._spent: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, window: ProfileWindow) -> None:
        for (worker, mode), spans in window.intervals("step").items():
            self._steps += len(spans.start_ns)
            self._spent["mode"][mode] += int(spans.duration_ns.sum())
            first, last = self._ends.get(worker, (int(spans.start_ns[0]), 0))
            ended = int((spans.start_ns + spans.duration_ns).max())
            self._ends[worker] = first, max(last, ended)
        for kind in ("phase", "loader", "collective", "pause", "operator"):
            for spans in window.intervals(kind).values():
                for name, duration in zip(
                    spans.name.tolist(), spans.duration_ns.tolist(), strict=True
                ):
                    self._spent[kind][name] += duration

    @property
    def datapoints(self) -> int:
        return self._steps

    def details(self) -> Mapping[str, object]:
        modes, phases = self._spent["mode"], self._spent["phase"]
        others = max(0, self._total_ns - sum(modes.values()))
        spent = {
            **self._spent,
            "mode": modes + Counter({"others": others}),
            "pass": Counter({name: phases[name] for name in ("forward", "backward")}),
        }
        return {kind: _in_percent(times) for kind, times in spent.items()}

    def summary(self) -> str:
        shares = _in_percent(self._spent["phase"])
        text = [f"{name} {number(share)}%" for name, share in shares.items()]
        return f"of the time of steps: {', '.join(text)}" if text else ""

    @property
    def _total_ns(self) -> int:
        """From the first step to the last, summed over workers."""
        return sum(last - first for first, last in self._ends.values())


def _in_percent(times: Counter[str]) -> dict[str, float]:
    """Return the share of each in percent, the largest first; what is small is left out.

    Example:
        >>> _in_percent(Counter(matmul=75, relu=25, copy=1))
        {'matmul': 75.0, 'relu': 25.0}
    """
    total = sum(times.values())
    large = {name: ns for name, ns in times.most_common() if ns > 0 and ns >= _LEAST_SHARE * total}
    return {name: round(100 * ns / sum(large.values()), 2) for name, ns in large.items()}
