"""When a training wrote its lines: a file beside each log, of how long the log was at which time.

A training writes to its log itself, with nobody between. So the runner looks about once a second
how long the log is, and adds a line ``<bytes> <milliseconds since the Unix epoch>``. A line of the
log was written when the log was first seen to hold it; what nobody saw yet is not shown.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_EVERY_S = 1.0


class LogClock:
    """Notes when the logs of a job grow, whoever writes them.

    Args:
        folder: Where they lie, and in folders there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[Path, int] = {}
        self._next = 0.0

    def look(self) -> bool:
        """Note how long they are, if the last time was a while ago; return whether it was."""
        is_due = time.monotonic() >= self._next
        if is_due:
            self.note()
        return is_due

    def note(self) -> None:
        """Note how long they are."""
        self._next = time.monotonic() + _EVERY_S
        with suppress(OSError):  # a full disk, which is no reason to end the job
            for log in self._folder.rglob("*.log"):
                size = log.stat().st_size
                if size != self._sizes.get(log, 0):
                    with log.with_suffix(".times").open("a") as file:
                        file.write(f"{size} {time.time_ns() // 1_000_000}\n")
                    self._sizes[log] = size


@dataclass(frozen=True, slots=True)
class LogTimes:
    """How long a log was at which times.

    Args:
        sizes: Bytes, ascending.
        times_ms: Milliseconds since the Unix epoch, ascending.
    """

    sizes: tuple[int, ...]
    times_ms: tuple[int, ...]

    @classmethod
    def read(cls, log: Path, ended_ms: int | None) -> LogTimes:
        """Return what was noted of a log; of one that has ended, all of it."""
        found = _rows(log.with_suffix(".times"))
        size = log.stat().st_size if log.is_file() else 0
        if ended_ms is not None and size > max((size for size, _ in found), default=0):
            found.append((size, max([ended_ms, *(ms for _, ms in found)])))
        sizes, times_ms, latest = list[int](), list[int](), 0
        for size, ms in found:
            if not sizes or size > sizes[-1]:
                latest = max(latest, ms)  # a clock may be set back, and what was told stays
                sizes.append(size)
                times_ms.append(latest)
        return cls(tuple(sizes), tuple(times_ms))

    @property
    def size(self) -> int:
        """How many bytes of the log are known."""
        return self.sizes[-1] if self.sizes else 0

    def time_ms(self, end: int) -> int:
        """Return when a line was written, by the byte after its last one."""
        return self.times_ms[bisect_left(self.sizes, end)]

    def start(self, since_ms: int) -> int:
        """Return before which byte lies what was written before a time."""
        place = bisect_left(self.times_ms, since_ms)
        return self.sizes[place - 1] if place else 0


def _rows(times: Path) -> list[tuple[int, int]]:
    """Return what was noted; a line that was not written whole is none."""
    lines = times.read_text().splitlines(keepends=True) if times.is_file() else []
    words = [line.split() for line in lines if line.endswith("\n")]
    return [(int(row[0]), int(row[1])) for row in words if len(row) == 2]
