"""Reads the devices of this machine: by psutil, by files of Linux, and NVIDIA's GPUs by NVML.

psutil and nvidia-ml-py are optional packages; NVML needs a driver as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import MissingDependency
from ..plugins.registry import require

#: A device, one of its metrics, and the number.
Reading = tuple[str, str, float]

_IDLE = ("idle", "iowait")
_SLOW_S = 5.0
# To look for the children of a process takes long where there are many processes.
_SCAN_EVERY_S = 10.0
_MAX_SCAN_SHARE = 0.001


class Rates:
    """Turns counters that only grow into rates per second."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[float, float]] = {}

    def of(self, device: str, metric: str, count: float, now: float) -> Iterator[Reading]:
        """Yield by how much a counter grew a second since the last call; nothing the first time.

        A counter that is less than it was began anew, and yields nothing.
        """
        before = self._last.get((device, metric))
        self._last[device, metric] = count, now
        if before is not None and now > before[1] and count >= before[0]:
            yield device, metric, (count - before[0]) / (now - before[1])


class Processors:
    """How busy processors are, and how much of the time they waited for disks."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._last: Sequence[Mapping[str, float]] = []

    def read(self) -> Iterator[Reading]:
        # guest times are within those of user and nice
        times = [
            {name: value for name, value in one._asdict().items() if not name.startswith("guest")}
            for one in self._psutil.cpu_times(percpu=True)
        ]
        before, self._last = self._last, times
        shares = [_shares(*pair) for pair in zip(before, times, strict=False)]
        for number, (busy, waiting) in enumerate(shares):
            yield f"cpu{number}", "busy_percent", busy
            yield f"cpu{number}", "iowait_percent", waiting
        if shares:
            yield "cpu", "busy_percent", sum(busy for busy, _ in shares) / len(shares)
            yield "cpu", "iowait_percent", sum(waiting for _, waiting in shares) / len(shares)


def _shares(before: Mapping[str, float], now: Mapping[str, float]) -> tuple[float, float]:
    passed = {name: max(0.0, now[name] - before.get(name, 0.0)) for name in now}
    total = sum(passed.values())
    if not total:
        return 0.0, 0.0
    busy = total - sum(passed.get(name, 0.0) for name in _IDLE)
    return 100 * busy / total, 100 * passed.get("iowait", 0.0) / total


class Machine:
    """Memory, disks and networks of this machine."""

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil
        self._rates = Rates()
        self._slow_at = 0.0

    def read(self) -> Iterator[Reading]:
        """Yield what they are at, and what passed through them since the last call."""
        now = time.perf_counter()
        memory = self._psutil.virtual_memory()
        yield "memory", "used_percent", memory.percent
        yield "memory", "used_bytes", memory.total - memory.available
        if now >= self._slow_at:
            self._slow_at = now + _SLOW_S
            yield from self._read_slow()
        disk = self._psutil.disk_io_counters(nowrap=False)
        if disk is not None:  # a container may see none
            operations = disk.read_count + disk.write_count
            yield from self._rates.of("disk", "iops", operations, now)
            yield from self._rates.of("disk", "read_bytes_per_second", disk.read_bytes, now)
            yield from self._rates.of("disk", "write_bytes_per_second", disk.write_bytes, now)
        networks = self._psutil.net_io_counters(pernic=True, nowrap=False)
        outside = [one for name, one in networks.items() if not name.startswith("lo")]
        for metric, field in (("receive", "bytes_recv"), ("transmit", "bytes_sent")):
            passed = sum(getattr(one, field) for one in outside)
            yield from self._rates.of("network", f"{metric}_bytes_per_second", passed, now)

    def _read_slow(self) -> Iterator[Reading]:
        """Yield what changes slowly, and takes as long to read as all the rest."""
        yield "memory", "swap_percent", self._psutil.swap_memory().percent
        if hasattr(os, "getloadavg"):
            yield "cpu", "load_1m", os.getloadavg()[0]


class Processes:
    """What a process and its children take.

    Args:
        psutil: The package.
        pid: The process.
    """

    def __init__(self, psutil: Any, pid: int) -> None:
        self._psutil = psutil
        self._parent = psutil.Process(pid)
        self._children: list[Any] = []
        self._scan_at = 0.0
        self._last: dict[int, float] = {}
        self._read_at = 0.0

    def read(self) -> Iterator[Reading]:
        """Yield what they used since the last call; nothing if the process is gone."""
        now = time.perf_counter()
        if now >= self._scan_at:
            self._scan(now)
        seconds: dict[int, float] = {}
        memory = threads = 0
        for process in (self._parent, *self._children):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    seconds[process.pid] = times.user + times.system
                    memory += process.memory_info().rss
                    threads += process.num_threads()
            except self._psutil.Error:
                continue  # it ended just now, or became somebody else's
        before, self._last = self._last, seconds
        passed, self._read_at = now - self._read_at, now
        if not seconds:
            return
        if before:
            taken = sum(max(0.0, now_s - before.get(pid, now_s)) for pid, now_s in seconds.items())
            yield "process", "cpu_percent", 100 * taken / max(passed, 1e-9)
        yield "process", "memory_bytes", memory
        yield "process", "threads", threads

    def _scan(self, now: float) -> None:
        try:
            self._children = self._parent.children(recursive=True)
        except self._psutil.Error:
            self._children = []
        ours = os.getpid()
        self._children = [one for one in self._children if one.pid != ours]
        cost = time.perf_counter() - now
        self._scan_at = now + max(_SCAN_EVERY_S, cost / _MAX_SCAN_SHARE)


class SamplerCost:
    """What this process takes, which reads all the others."""

    def __init__(self) -> None:
        self._rates = Rates()

    def read(self) -> Iterator[Reading]:
        """Yield what it took since the last call."""
        percent = 100 * time.process_time()
        yield from self._rates.of("sampler", "cpu_percent", percent, time.perf_counter())


def open_psutil() -> Any:
    """Return psutil.

    Raises:
        MissingDependency: It is not installed.
    """
    return require("psutil", extra="profiler")


_ROOT = Path("/sys/fs/cgroup")
_PRESSURE = Path("/proc/pressure")
# What an unlimited cgroup of the first version says: the most that fits, less a page.
_NO_LIMIT = 1 << 60


class Cgroup:
    """The limits of the control group of a process, of the second version or the first.

    Where a group has no limit, the nearest above it that has one counts.

    Args:
        pid: The process.
        root: Where control groups lie; for tests.
        proc: Where processes lie; for tests.
    """

    def __init__(self, pid: int, root: Path = _ROOT, proc: Path = Path("/proc")) -> None:
        paths = _paths(proc / str(pid) / "cgroup")
        self._rates = Rates()
        self._cpu = self._memory = None
        for name in ("", "cpu", "cpu,cpuacct"):
            folder = root / name
            for path in _upward(folder, paths.get(name)):
                if self._cpu is None and _cores(path) is not None:
                    self._cpu = path
        for name in ("", "memory"):
            for path in _upward(root / name, paths.get(name)):
                if self._memory is None and _memory_limit(path) is not None:
                    self._memory = path

    def read(self) -> Iterator[Reading]:
        """Yield what there is a limit for; nothing where there is none."""
        if self._cpu is not None:
            yield from self._read_cpu(self._cpu)
        if self._memory is not None:
            limit = _memory_limit(self._memory)
            used = _number(self._memory, "memory.current", "memory.usage_in_bytes")
            if limit and used is not None:
                yield "cgroup", "memory_limit_bytes", limit
                yield "cgroup", "memory_percent", 100 * used / limit

    def _read_cpu(self, path: Path) -> Iterator[Reading]:
        cores = _cores(path)
        if not cores:
            return
        now = time.perf_counter()
        yield "cgroup", "cpu_limit_cores", cores
        stat = _table(path / "cpu.stat")
        used = stat.get("usage_usec")
        if used is None:
            nanoseconds = _number(path, "cpuacct.usage")
            used = None if nanoseconds is None else nanoseconds / 1000
        if used is not None:
            for device, metric, rate in self._rates.of("cgroup", "cpu_percent", used, now):
                yield device, metric, rate / 1e4 / cores
        periods = [*self._rates.of("cgroup", "periods", stat.get("nr_periods", 0), now)]
        cut = [*self._rates.of("cgroup", "throttled", stat.get("nr_throttled", 0), now)]
        if periods and cut:
            yield "cgroup", "throttled_percent", 100 * cut[0][2] / (periods[0][2] or 1)


class Pressure:
    """For how much of the time something waited for processors, memory or disks.

    Args:
        folder: Where the kernel tells it; for tests.
    """

    def __init__(self, folder: Path = _PRESSURE) -> None:
        self._folder = folder
        self._rates = Rates()

    def read(self) -> Iterator[Reading]:
        now = time.perf_counter()
        for what in ("cpu", "memory", "io"):
            for line in _lines(self._folder / what):
                kind, *_, total = line.split()
                if what == "cpu" and kind == "full":  # of a whole machine it says nothing
                    continue
                waited_us = float(total.partition("=")[2])
                metric = f"{what}_{kind}_percent"
                for device, _, rate in self._rates.of("pressure", metric, waited_us, now):
                    yield device, metric, min(100.0, rate / 1e4)


def _paths(file: Path) -> dict[str, str]:
    """Return the path of a process's group by controller; "" is the second version."""
    found = {}
    for line in _lines(file):
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            found[name] = path
        found[controllers] = path
    return found


def _upward(root: Path, path: str | None) -> Iterator[Path]:
    """Yield the folder of a group and those above it."""
    if path is None:
        return
    folder = root / path.strip("/")
    yield folder
    while folder != root:
        folder = folder.parent
        yield folder


def _cores(folder: Path) -> float | None:
    """Return how many processors a group may take; ``None`` for no limit."""
    both = " ".join(_lines(folder / "cpu.max")).split()
    if not both:
        quota = _lines(folder / "cpu.cfs_quota_us")
        both = [*quota, *_lines(folder / "cpu.cfs_period_us")]
    if len(both) != 2 or both[0] in ("max", "-1"):
        return None
    return float(both[0]) / float(both[1])


def _memory_limit(folder: Path) -> float | None:
    limit = _number(folder, "memory.max", "memory.limit_in_bytes")
    return None if limit is None or limit >= _NO_LIMIT else limit


def _number(folder: Path, *names: str) -> float | None:
    """Return the number in the first of these files that has one."""
    for name in names:
        for line in _lines(folder / name)[:1]:
            if line.isdecimal():
                return float(line)
    return None


def _table(file: Path) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in _lines(file))}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []  # another kernel, or not for us


# Clocks that are low because nothing is to be done, or because somebody asked for it.
_WANTED = 0x1 | 0x2
# Functions of NVML, what each takes beside the device, and the metrics that follow from its answer.
_QUERIES: tuple[tuple[str, tuple[int, ...], Callable[[Any], Mapping[str, float]]], ...] = (
    ("nvmlDeviceGetUtilizationRates", (), lambda busy: {"busy_percent": busy.gpu}),
    (
        "nvmlDeviceGetMemoryInfo",
        (),
        lambda memory: {
            "memory_percent": 100 * memory.used / memory.total,
            "memory_bytes": memory.used,
        },
    ),
    ("nvmlDeviceGetPowerUsage", (), lambda milliwatts: {"power_watts": milliwatts / 1000}),
    ("nvmlDeviceGetTemperature", (0,), lambda celsius: {"temperature_celsius": celsius}),
    ("nvmlDeviceGetClockInfo", (1,), lambda mhz: {"clock_mhz": mhz}),
    (
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        (),
        lambda reasons: {"throttled": float(bool(reasons & ~_WANTED))},
    ),
)


class Gpus:
    """The accelerators of this machine.

    Args:
        nvml: The module ``pynvml``; for tests.

    Raises:
        MissingDependency: nvidia-ml-py is not installed.
        OSError: There is no driver, or none that answers.
    """

    def __init__(self, nvml: Any = None) -> None:
        self._nvml = nvml or require("pynvml", extra="profiler")
        try:
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
            #: What they are called.
            self.names = tuple(
                _text(self._nvml.nvmlDeviceGetName(handle)) for handle in self._handles
            )
        except self._nvml.NVMLError as error:
            raise OSError(f"NVML: {error}") from None
        self._unsupported: set[tuple[int, str]] = set()

    def read(self) -> Iterator[Reading]:
        """Yield their readings; nothing of what a device or its driver does not support."""
        for number, handle in enumerate(self._handles):
            for function, arguments, metrics in _QUERIES:
                answer = self._query(number, function, handle, *arguments)
                if answer is not None:
                    for metric, value in metrics(answer).items():
                        yield f"gpu{number}", metric, value

    def _query(self, gpu: int, function: str, *arguments: Any) -> Any:
        """Return what the driver answers, ``None`` for an error; the unsupported is not retried."""
        if (gpu, function) in self._unsupported:
            return None
        try:
            return getattr(self._nvml, function)(*arguments)
        except self._nvml.NVMLError as error:
            if isinstance(error, self._nvml.NVMLError_NotSupported):
                self._unsupported.add((gpu, function))
            return None


def open_gpus() -> tuple[Gpus | None, str]:
    """Return the accelerators, and why they are not read if they are not."""
    try:
        gpus = Gpus()
    except (MissingDependency, OSError) as error:
        return None, f"no accelerator is read: {error}"
    return (gpus, "") if gpus.names else (None, "no accelerator is read: NVML finds none")


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
