"""Numbers that a training prints: the last that was found by each pattern of its job.

They lie in ``logs/metrics.json``, an object ``{name: [value, milliseconds since the Unix epoch]}``.
"""

from __future__ import annotations

import json
import math
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from ..errors import StoreError
from ..store.local import LocalStore
from .place import Place

_NAME = "metrics.json"
# Of what a training adds at most so much is looked through at once; the rest waits.
_PIECE_BYTES, _MOST_PIECES = 1 << 20, 16
_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that was printed last under a name.

    Args:
        name: As the job calls it.
        value: The number, finite.
        time_ms: When it was seen, milliseconds since the Unix epoch.
    """

    name: str
    value: float
    time_ms: int


class LogMetrics:
    """Looks for metrics in what the processes of a training add to their logs.

    Args:
        patterns: A regular expression for each name; its first group, or all of it, is a number.
        place: The folder of the job.
        logs: What is looked through.
    """

    def __init__(self, patterns: Mapping[str, str], place: Place, logs: Sequence[Path]) -> None:
        self._patterns = {name: re.compile(text) for name, text in patterns.items()}
        self._store = LocalStore(place.logs)
        # What was there before was looked through before.
        self._starts = {log: log.stat().st_size if log.is_file() else 0 for log in logs}
        self._found = {one.name: one for one in last_metrics(place)}

    def look(self, *, at_end: bool = False) -> None:
        """Look through the lines that were added; at the end the last one may be without end."""
        before = dict(self._found)
        for log in self._starts if self._patterns else ():
            pieces = iter(partial(self._piece, log, at_end=at_end), b"")
            for piece in islice(pieces, None if at_end else _MOST_PIECES):
                self._search(piece.decode(errors="replace"))
        if self._found != before:
            told = {one.name: [one.value, one.time_ms] for one in self._found.values()}
            with suppress(StoreError):  # a full disk, which is no reason to end the job
                self._store.put(_NAME, json.dumps(told).encode())

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

    def _search(self, text: str) -> None:
        for name, pattern in list(self._patterns.items()):
            try:
                with _patience(_PATIENCE_S):
                    found = [one for line in text.split("\n") for one in pattern.finditer(line)]
            except TimeoutError:
                del self._patterns[name]
                print(f"the metric {name} is given up: its pattern takes too long", flush=True)
            else:
                self._note(name, [one[min(1, pattern.groups)] or "" for one in found])

    def _note(self, name: str, texts: Sequence[str]) -> None:
        for text in texts:
            with suppress(ValueError):
                if math.isfinite(value := float(text)):
                    self._found[name] = Metric(name, value, time.time_ns() // 1_000_000)


def last_metrics(place: Place) -> list[Metric]:
    """Return the last value of each metric that a job's training printed, by now."""
    try:
        found = json.loads((place.logs / _NAME).read_text(encoding="utf-8"))
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
