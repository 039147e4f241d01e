"""Intervals of the training's time: taken in the training thread, stored in the background."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..formats.profile.clock import Clock
from ..formats.profile.parts import PartsWriter
from ..formats.profile.tables import SPANS, Span, spans_table
from ..store import Store

#: A part is written about so often.
GATHER_S = 2.0
# What waits to be stored is bounded: the store may be gone for long.
_MOST_WAITING = 200_000


class Spans:
    """Takes intervals from any thread, and stores them where the run lies.

    Args:
        clock: What the times of intervals are ticks of.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._waiting: deque[Span] = deque()
        self._writer: PartsWriter | None = None
        self._worker = ""
        self._due = 0
        #: Called before what waits is stored: what was gathered elsewhere may be added.
        self.gatherers: list[Callable[[], None]] = []
        #: How many were not taken because too many waited, or are not stored.
        self.dropped = 0
        #: Storing is given up when it failed so often in a row.
        self.most_failures = 50
        self._failures = 0

    def open(self, store: Store, worker: str) -> None:
        """Learn where they go; until then they wait."""
        self._writer, self._worker = PartsWriter(store, SPANS, worker), worker
        self._due = self.clock.ticks()

    def add(self, span: Span) -> None:
        """Take an interval, whose start is a tick of the clock."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append(span)
        else:
            self.dropped += 1

    def tick(self) -> None:
        """Store what waits if the last time is long enough ago."""
        if self.clock.ticks() - self._due >= GATHER_S * 1e9:
            self.flush()

    def flush(self) -> None:
        """Store what waits. What cannot be stored is given up, and counted."""
        self._due = self.clock.ticks()
        self.clock.settle()
        for gather in self.gatherers:
            gather()
        spans = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if self._writer is None or not spans:
            return
        self.dropped += len(spans)
        if self._failures < self.most_failures:
            self._failures += 1
            self._writer.write(spans_table(self._worker, spans, self.clock.offset_ns))
            self._failures = 0
            self.dropped -= len(spans)
