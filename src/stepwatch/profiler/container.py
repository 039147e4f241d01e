"""What a container may take, what it takes of it, and what waits for what: by files of Linux."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from .devices import Rates, Reading

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
        """Yield the shares of the time since the last call, in percent."""
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
