"""Reads the devices of this machine; needs psutil."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..optional import require

#: A device, one of its metrics, and the number.
Reading = tuple[str, str, float]

_IDLE = ("idle", "iowait")
_SLOW_S = 5.0
# To look for the children of a process takes long where there are many processes.
_LOOK_EVERY_S = 10.0
_MOST_LOOKING = 0.001


class Rates:
    """Turns counters that only grow into what they grew by in a second."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[float, float]] = {}

    def of(self, device: str, metric: str, count: float, now: float) -> Iterator[Reading]:
        """Yield by how much it grew since it was last told, from the second time on.

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
        """Yield the shares of the time since the last call, in percent."""
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
        self._look_at = 0.0
        self._last: dict[int, float] = {}
        self._read_at = 0.0

    def read(self) -> Iterator[Reading]:
        """Yield what they took since the last call; nothing if the process is gone."""
        now = time.perf_counter()
        if now >= self._look_at:
            self._look(now)
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

    def _look(self, now: float) -> None:
        try:
            self._children = self._parent.children(recursive=True)
        except self._psutil.Error:
            self._children = []
        ours = os.getpid()
        self._children = [one for one in self._children if one.pid != ours]
        cost = time.perf_counter() - now
        self._look_at = now + max(_LOOK_EVERY_S, cost / _MOST_LOOKING)


class Own:
    """What this process takes, which reads all the others."""

    def __init__(self) -> None:
        self._rates = Rates()

    def read(self) -> Iterator[Reading]:
        """Yield what it took since the last call."""
        now = time.perf_counter()
        for device, metric, rate in self._rates.of(
            "sampler", "cpu_percent", time.process_time(), now
        ):
            yield device, metric, 100 * rate


def open_psutil() -> Any:
    """Return psutil.

    Raises:
        MissingDependency: It is not installed.
    """
    return require("psutil", extra="profiler")
