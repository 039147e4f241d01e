"""Rules on GPUs that have too little to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ...finding import Finding
from ..checks import Floats, number
from ..rule import Findings
from ..scope import above, at_least, within
from .pauses import outside
from .recent import Recent, spread
from .rule import SCAN_INTERVAL_US, GpuRule, too_few
from .window import CORES, GPUS, ProfileWindow, by_node, mean_together

_Key = tuple[str, str]


class LowGPUUtilization(GpuRule):
    """A GPU that is hardly used, or used in bursts.

    Over the last readings of each GPU: its 95th percentile is low, or that is not and its 5th is.
    Readings while the model is evaluated or a checkpoint is written do not count.

    Args:
        threshold_p95: Below this the GPU is used too little. Percent.
        threshold_p5: Below this it is used in bursts. Percent.
        window: So many readings are judged.
        patience: So many readings must have been seen, and more.
        pauses: Count readings in evaluation and checkpoints, too.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "low_gpu_utilization"
    compat: ClassVar[Mapping[str, object]] = {"pauses": True}

    def __init__(
        self,
        threshold_p95: float = 70,
        threshold_p5: float = 10,
        window: int = 500,
        patience: int = 1000,
        pauses: bool = False,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        within("threshold_p95", threshold_p95, 0, 100)
        within("threshold_p5", threshold_p5, 0, 100)
        above("window", window, 0)
        at_least("patience", patience, 0)
        self.threshold_p95, self.threshold_p5 = threshold_p95, threshold_p5
        self.window, self.patience, self.pauses = window, patience, pauses
        self._gpus: dict[_Key, Recent] = {}
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
                yield from self._judge(window.step, node, gpu, recent)

    @property
    def datapoints(self) -> int:
        return max((recent.count for recent in self._gpus.values()), default=0)

    def details(self) -> Mapping[str, object]:
        return {f"{node}/{gpu}": spread(one.values) for (node, gpu), one in self._gpus.items()}

    def unevaluated(self) -> str | None:
        return super().unevaluated() or too_few(self.datapoints, self.patience)

    def _add(self, window: ProfileWindow, known: Sequence[ProfileWindow]) -> None:
        for key, found in window.readings(GPUS, "busy_percent").items():
            kept = found.values[outside(known, found.time_ns)]
            self._gpus.setdefault(key, Recent(self.window)).add(kept)

    def _judge(self, step: int, node: str, gpu: str, recent: Recent) -> Findings:
        p5, p95 = np.percentile(recent.values, (5, 95)).tolist()
        low = p95 < self.threshold_p95
        if not low and p5 >= self.threshold_p5:
            return
        if not recent.values.any():
            what, said = "unused", "it was never used"
        elif low:
            what, said = "low", f"p95 is {number(p95)}% (< {number(self.threshold_p95)}%)"
        else:
            what = "bursts"
            said = f"p95 is {number(p95)}%, p5 {number(p5)}% (< {number(self.threshold_p5)}%)"
        yield Finding(
            self.name,
            step,
            "",
            f"{node}/{gpu}: {said}, over the last {len(recent.values)} readings of its use",
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

    Args:
        cpu_threshold_p95: Below this the cores have room. Percent.
        gpu_threshold_p95: Below this the GPU has. Percent.
        gpu_memory_threshold_p95: Below this its memory has. Percent.
        patience: So many readings must have been seen, and more.
        window: So many readings are judged.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "batch_size"

    def __init__(
        self,
        cpu_threshold_p95: float = 70,
        gpu_threshold_p95: float = 70,
        gpu_memory_threshold_p95: float = 70,
        patience: int = 1000,
        window: int = 500,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(scan_interval_us)
        within("cpu_threshold_p95", cpu_threshold_p95, 0, 100)
        within("gpu_threshold_p95", gpu_threshold_p95, 0, 100)
        within("gpu_memory_threshold_p95", gpu_memory_threshold_p95, 0, 100)
        at_least("patience", patience, 0)
        above("window", window, 0)
        self.cpu_threshold_p95, self.gpu_threshold_p95 = cpu_threshold_p95, gpu_threshold_p95
        self.gpu_memory_threshold_p95 = gpu_memory_threshold_p95
        self.patience, self.window = patience, window
        self._gpus: dict[_Key, Recent] = {}
        self._memory: dict[_Key, Recent] = {}
        self._cores: dict[str, Recent] = {}

    def add(self, window: ProfileWindow) -> None:
        for of, metric in ((self._gpus, "busy_percent"), (self._memory, "memory_percent")):
            for key, found in window.readings(GPUS, metric).items():
                of.setdefault(key, Recent(self.window)).add(found.values)
        for node, cores in by_node(window.readings(CORES, "busy_percent")).items():
            mean = mean_together(cores)
            self._cores.setdefault(node, Recent(self.window)).add(mean.values)

    def judge(self, window: ProfileWindow) -> Findings:
        for (node, gpu), recent in self._gpus.items():
            series = recent, self._memory.get((node, gpu)), self._cores.get(node)
            known = [one.values for one in series if one is not None and one.count]
            if len(known) == len(series) and recent.count > max(self.patience, self.window):
                yield from self._judge(window.step, node, gpu, known)

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

    def unevaluated(self) -> str | None:
        few = too_few(self.datapoints, max(self.patience, self.window))
        return super().unevaluated() or few or self._missing()

    def _missing(self) -> str | None:
        have = {"memory of GPUs": self._memory, "cores": self._cores}
        missing = " and of ".join(what for what, series in have.items() if not series)
        return f"no readings of {missing} in the profile" if missing else None

    def _judge(self, step: int, node: str, gpu: str, known: Sequence[Floats]) -> Findings:
        used, memory, cores = (float(np.percentile(values, 95)) for values in known)
        limits = self.gpu_threshold_p95, self.gpu_memory_threshold_p95, self.cpu_threshold_p95
        if not all(one < limit for one, limit in zip((used, memory, cores), limits, strict=True)):
            return
        yield Finding(
            self.name,
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
