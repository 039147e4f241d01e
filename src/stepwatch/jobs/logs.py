"""The logs of a job: the last line of each, when lines were written, and the metrics in them.

A training writes to its log itself, with nothing between. So about once a second the runner notes
in a file beside each log how long it is, ``<bytes> <milliseconds since the Unix epoch>``. A line
was written when the log was first noted to hold it; what is not noted yet is not shown.

The last number that each pattern of the job found lies in ``logs/metrics.json``, an object
``{name: [value, milliseconds since the Unix epoch]}``; what was found in each second in
``logs/metrics.jsonl``, a line ``[name, second, count, sum, min, max]`` each.
"""

from __future__ import annotations

import json
import math
import re
import signal
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

from ..errors import StoreError
from ..store.local import LocalStore, private_opener, tail
from .paths import JobPaths

# A log may be larger than memory.
_TAIL_BYTES = 64 << 10
# Written by us, in the process of a training.
_OURS = "stepwatch: "


def log_tail(log: Path) -> str:
    """Return the last line of a log that a program wrote itself; empty if there is none."""
    if not log.is_file():
        return ""
    text = tail(log, _TAIL_BYTES)[0].decode(errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    written = [line for line in lines if line]
    own = [line for line in written if not line.startswith(_OURS)]
    return (own or written or [""])[-1]


_EVERY_S = 1.0


class LogClock:
    """Notes when the logs in a folder, and in folders there, grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[Path, int] = {}
        self._next = 0.0

    def tick(self) -> bool:
        """Note how long they are if that is due; return whether it was."""
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
                    with open(log.with_suffix(".times"), "a", opener=private_opener) as file:
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
                latest = max(latest, ms)  # a clock may be set back, and what was shown stays
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
        index = bisect_left(self.times_ms, since_ms)
        return self.sizes[index - 1] if index else 0


def _rows(times: Path) -> list[tuple[int, int]]:
    """Return what was noted; a line that was not written whole is none."""
    lines = times.read_text().splitlines(keepends=True) if times.is_file() else []
    fields = [line.split() for line in lines if line.endswith("\n")]
    return [(int(row[0]), int(row[1])) for row in fields if len(row) == 2]


_NAME, _SERIES = "metrics.json", "metrics.jsonl"
# At most so much of what a training adds is searched at once; the rest waits.
_PIECE_BYTES, _MOST_PIECES = 1 << 20, 16
_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that was printed last under a name.

    Args:
        name: As the job calls it.
        value: The number, finite.
        time_ms: When it was found, milliseconds since the Unix epoch.
    """

    name: str
    value: float
    time_ms: int


class LogMetrics:
    """Searches for metrics in what the processes of a training add to their logs.

    Args:
        patterns: A regular expression for each name; its first group, or all of it, is a number.
        paths: The folder of the job.
        logs: What is searched.
        from_start: Whether what is there by now was not searched yet.
    """

    def __init__(
        self,
        patterns: Mapping[str, str],
        paths: JobPaths,
        logs: Sequence[Path],
        *,
        from_start: bool = False,
    ) -> None:
        self._patterns = {name: re.compile(text) for name, text in patterns.items()}
        self._store = LocalStore(paths.logs)
        # What was there before was searched before.
        self._starts = {
            log: 0 if from_start or not log.is_file() else log.stat().st_size for log in logs
        }
        self._found = {one.name: one for one in last_metrics(paths)}
        self._series = paths.logs / _SERIES
        self._new: dict[tuple[str, int], MetricPoint] = {}
        # Of what nobody searched when it was written, the clock beside the log knows the time.
        self._times = {log: LogTimes.read(log, _now_ms()) for log in logs} if from_start else {}
        if from_start:
            self._series.unlink(missing_ok=True)

    def search(self, *, at_end: bool = False) -> None:
        """Search the lines that were added; at the end the last one may lack its newline."""
        before = dict(self._found)
        for log in self._starts if self._patterns else ():
            pieces = iter(partial(self._piece, log, at_end=at_end), b"")
            for piece in islice(pieces, None if at_end else _MOST_PIECES):
                self._search(log, self._starts[log] - len(piece), piece)
        self._times = {}
        self._write_series()
        if self._found != before:
            metrics = {one.name: [one.value, one.time_ms] for one in self._found.values()}
            with suppress(StoreError):  # a full disk, which is no reason to end the job
                self._store.put(_NAME, json.dumps(metrics).encode())

    def _piece(self, log: Path, *, at_end: bool) -> bytes:
        """Return some lines that are whole, or what there is of one; nothing if it is not whole."""
        if not log.is_file():
            return b""
        with log.open("rb") as file:
            file.seek(self._starts[log])
            piece = file.read(_PIECE_BYTES)
        whole = piece[: piece.rfind(b"\n") + 1]
        if not whole and (at_end or len(piece) == _PIECE_BYTES):
            whole = piece
        self._starts[log] += len(whole)
        return whole

    def _search(self, log: Path, start: int, piece: bytes) -> None:
        lines = piece.split(b"\n")
        times = self._line_times_ms(log, start, lines)
        texts = [line.decode(errors="replace") for line in lines]
        for name, pattern in list(self._patterns.items()):
            try:
                with _patience(_PATIENCE_S):
                    found = [
                        (one[min(1, pattern.groups)] or "", time_ms)
                        for text, time_ms in zip(texts, times, strict=True)
                        for one in pattern.finditer(text)
                    ]
            except TimeoutError:
                del self._patterns[name]
                print(f"the metric {name} is given up: its pattern takes too long", flush=True)
            else:
                self._note(name, found)

    def _line_times_ms(self, log: Path, start: int, lines: Sequence[bytes]) -> list[int]:
        """Return when each of some lines was written, the first of which begins at a byte."""
        times = self._times.get(log)
        if times is None:
            return [_now_ms()] * len(lines)
        ends = accumulate((len(line) + 1 for line in lines), initial=start)
        return [times.time_ms(min(end, times.size)) for end in islice(ends, 1, None)]

    def _note(self, name: str, found: Sequence[tuple[str, int]]) -> None:
        for text, time_ms in found:
            with suppress(ValueError):
                if math.isfinite(value := float(text)):
                    self._found[name] = Metric(name, value, time_ms)
                    key = name, time_ms // 1000
                    point = MetricPoint(key[1], 1, value, value, value)
                    self._new[key] = self._new[key] + point if key in self._new else point

    def _write_series(self) -> None:
        if self._new:
            rows = [json.dumps([name, *astuple(one)]) for (name, _), one in self._new.items()]
            self._new.clear()
            with suppress(OSError), open(self._series, "a", opener=private_opener) as file:
                file.write("".join(f"{row}\n" for row in rows))


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """What was printed of a metric within a second, or more of them.

    Args:
        second: When it began, since the Unix epoch.
        count: How many numbers.
        total: Their sum.
        lowest: The least of them.
        highest: The largest.
    """

    second: int
    count: int
    total: float
    lowest: float
    highest: float

    def __add__(self, later: MetricPoint) -> MetricPoint:
        """Return both together, as of when this one began."""
        return MetricPoint(
            self.second,
            self.count + later.count,
            self.total + later.total,
            min(self.lowest, later.lowest),
            max(self.highest, later.highest),
        )


def metric_points(paths: JobPaths, name: str) -> list[MetricPoint]:
    """Return what a job's training printed of a metric by now, in the order of time."""
    try:
        lines = (paths.logs / _SERIES).read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    found = [MetricPoint(*row[1:]) for row in rows if row[0] == name]
    return sorted(found, key=lambda point: point.second)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def last_metrics(paths: JobPaths) -> list[Metric]:
    """Return the last value of each metric that a job's training printed, by now."""
    try:
        found = json.loads((paths.logs / _NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [Metric(name, value, time_ms) for name, (value, time_ms) in found.items()]


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Raise TimeoutError where something takes longer, a pattern too; in the main thread only."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
