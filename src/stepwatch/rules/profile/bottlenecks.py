"""Rules on what a training waits for: the cores, or reading and writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ...finding import Finding
from ..checks import number
from ..rule import Findings
from ..scope import at_least, one_of, within
from .recent import Quantiles
from .rule import SCAN_INTERVAL_US, ProfileRule, too_few
from .snapshots import Mask, Together, first_start, phases_at, snapshots, step_time
from .window import CORES, GPUS, Ints, ProfileWindow, Readings, by_node

#: Without so many moments at which the cores had room, nobody knows how long a step takes then.
_ENOUGH = 20


@dataclass
class _Node:
    """What is counted of one machine.

    Args:
        moments: At which its devices were read.
        low: Of these, those at which a GPU was idle.
        met: Those at which the training waited.
        phases: What it did then.
    """

    moments: int = 0
    low: int = 0
    met: int = 0
    phases: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """In percent."""
        return 100 * self.met / max(self.moments, 1)


class Bottleneck(ProfileRule):
    """Too many moments at which a machine waited for something.

    Args:
        threshold: So large a share of the moments is too much, percent.
        gpu_threshold: A GPU that is used less is idle, percent.
        patience: So many moments must have been seen, and more.
        startup: Count what was before the first step, too.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    compat: ClassVar[Mapping[str, object]] = {"startup": True}
    remedy: ClassVar[str]

    def __init__(
        self,
        threshold: float,
        gpu_threshold: float,
        patience: int,
        startup: bool,
        scan_interval_us: int,
    ) -> None:
        super().__init__(scan_interval_us)
        within("threshold", threshold, 0, 100)
        within("gpu_threshold", gpu_threshold, 0, 100)
        at_least("patience", patience, 0)
        self.threshold, self.gpu_threshold = threshold, gpu_threshold
        self.patience, self.startup = patience, startup
        self._nodes: dict[str, _Node] = {}
        self._trains = False

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        """Return the readings of what may be waited for, of each machine."""
        raise NotImplementedError

    def waits(self, resource: Together) -> Mask:
        """Return at which moments a machine with GPUs is short of it."""
        raise NotImplementedError

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Together) -> Mask:
        """Return at which moments a machine without GPUs waits for it."""
        raise NotImplementedError

    def said(self, *, has_gpu: bool) -> str:
        """Return in words what was met at so many moments."""
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
            name: {"moments": node.moments, "low": node.low, "met": node.met,
                   "phases": dict(node.phases)}
            for name, node in self._nodes.items()
        }  # fmt: skip

    def unevaluated(self) -> str | None:
        return super().unevaluated() or too_few(self.datapoints, self.patience, "moments")

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
            met = low & self.waits(short)
        else:
            times, (short,) = snapshots(resource)
            low = np.zeros(len(times), bool)
            met = self.waits_without_gpu(window, times, short)
        counts = times >= began_ns
        node.moments += int(counts.sum())
        node.low += int((low & counts).sum())
        node.met += int((met & counts).sum())
        node.phases += phases_at(window, times[met & counts])

    def _finding(self, step: int, name: str, node: _Node) -> Finding:
        most = node.phases.most_common(1)
        during = f"; most of them in the phase {most[0][0]}" if most else ""
        said = self.said(has_gpu=bool(node.low))
        return Finding(
            self.name,
            step,
            "",
            f"{name}: at {number(node.share)}% of {node.moments} moments"
            f" (> {number(self.threshold)}%) {said}{during}",
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

    Args:
        threshold: So large a share of the moments is too much, percent.
        gpu_threshold: A GPU that is used less is idle, percent.
        cpu_threshold: A core that is used more is busy, percent.
        patience: So many moments must have been seen, and more.
        cpu_scope: Whether one busy core counts, or the mean of all.
        slower: By this fraction of a step. At least 0.
        startup: Count what was before the first step, too.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "cpu_bottleneck"
    evidence_words = "readings of cores"
    remedy = (
        "give the DataLoader more workers, and move work out of the process that trains; see which"
        " other processes run"
    )

    def __init__(
        self,
        threshold: float = 50,
        gpu_threshold: float = 10,
        cpu_threshold: float = 90,
        patience: int = 1000,
        cpu_scope: Literal["any", "mean"] = "any",
        slower: float = 0.2,
        startup: bool = False,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(threshold, gpu_threshold, patience, startup, scan_interval_us)
        within("cpu_threshold", cpu_threshold, 0, 100)
        one_of("cpu_scope", cpu_scope, ("any", "mean"))
        at_least("slower", slower, 0)
        self.cpu_threshold, self.cpu_scope, self.slower = cpu_threshold, cpu_scope, slower
        self._with_room = Quantiles()

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        return by_node(window.readings(CORES, "busy_percent"))

    def waits(self, resource: Together) -> Mask:
        used = resource.highest if self.cpu_scope == "any" else resource.mean
        return used > self.cpu_threshold

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Together) -> Mask:
        took = step_time(window, times)
        busy = resource.mean > self.cpu_threshold
        self._with_room.add(took[~busy & ~np.isnan(took)])
        if self._with_room.count < _ENOUGH:
            return np.zeros(len(times), bool)
        return busy & (took > (1 + self.slower) * self._with_room.of(0.5))

    def said(self, *, has_gpu: bool) -> str:
        limit = f"above {number(self.cpu_threshold)}%"
        if has_gpu:
            cores = "a core was" if self.cpu_scope == "any" else "the cores were"
            return f"a GPU was below {number(self.gpu_threshold)}% while {cores} {limit}"
        return f"the cores were {limit} and steps took longer by {self.slower:.0%} or more"


class IOBottleneck(Bottleneck):
    """GPUs that are idle while cores wait for reading and writing; without GPUs, the wait alone.

    Args:
        threshold: So large a share of the moments is too much, percent.
        gpu_threshold: A GPU that is used less is idle, percent.
        io_threshold: A core that waits more, waits, percent.
        patience: So many moments must have been seen, and more.
        pressure: Look at the share of time in which some process waited as well, as the kernel
            tells it: the wait of a core does not show network file systems.
        startup: Count what was before the first step, too.
        scan_interval_us: Microseconds from one judgement to the next.
    """

    name = "io_bottleneck"
    evidence_words = "readings of I/O waits"
    compat: ClassVar[Mapping[str, object]] = {"startup": True, "pressure": False}
    remedy = "read ahead, from fewer and larger files, or from a copy on a local disk"

    def __init__(
        self,
        threshold: float = 50,
        gpu_threshold: float = 10,
        io_threshold: float = 50,
        patience: int = 1000,
        pressure: bool = True,
        startup: bool = False,
        scan_interval_us: int = SCAN_INTERVAL_US,
    ) -> None:
        super().__init__(threshold, gpu_threshold, patience, startup, scan_interval_us)
        within("io_threshold", io_threshold, 0, 100)
        self.io_threshold, self.pressure = io_threshold, pressure

    def resources(self, window: ProfileWindow) -> dict[str, list[Readings]]:
        waits = window.readings(CORES, "iowait_percent")
        if self.pressure:
            waits |= window.readings("pressure", "io_some_percent")
        return by_node(waits)

    def waits(self, resource: Together) -> Mask:
        return resource.highest > self.io_threshold

    def waits_without_gpu(self, window: ProfileWindow, times: Ints, resource: Together) -> Mask:
        del window, times
        return self.waits(resource)

    def said(self, *, has_gpu: bool) -> str:
        waited = f"a core waited for I/O more than {number(self.io_threshold)}% of the time"
        if has_gpu:
            return f"a GPU was below {number(self.gpu_threshold)}% while {waited}"
        return waited
