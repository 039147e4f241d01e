"""Writes one worker's part of a run.

Steps are gathered for at most a second, then stored as one part: raw values first, then the rows
that name them. Everything here runs on the background thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import RunExists
from ...record import StepRecord
from ...store import Store
from . import blobs
from .layout import RUN_KEY, Span, end_key, tensors_key
from .manifest import End, Manifest
from .merge import FAN_IN, ROW_LIMIT, merge_parts
from .observations import step_ranges, to_table
from .parts import Part, PartMeta, write_part

# A step is visible within two seconds: one to gather, the rest to write and to be listed.
GATHER_S = 1.0
GATHER_ROWS = 100_000
GATHER_BYTES = 64 << 20
# Merging in the training process stops here; ``compact`` goes on from there.
_MERGE_ROWS = ROW_LIMIT // 2


def start_run(store: Store, manifest: Manifest) -> None:
    """Claim a place for a run.

    Raises:
        RunExists: It already holds one; nothing is changed.
        StoreError: It cannot be written to.
    """
    if not store.create(RUN_KEY, manifest.to_json()):
        raise RunExists(f"{store.url} already holds a run; give another --run, or delete it")


class NativeWriter:
    """Writes one worker's part of a run.

    Args:
        store: Where the run lies; ``start_run`` was called.
        worker: Whose part.
        clock: Seconds, monotonic; for tests.
    """

    def __init__(
        self, store: Store, worker: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._worker = worker
        self._clock = clock
        self._pending: list[StepRecord] = []
        self._rows = 0
        self._bytes = 0
        self._since = 0.0
        self._last_step = -1
        self._levels: list[list[tuple[Span, int]]] = []

    def write(self, record: StepRecord) -> None:
        """Take one step; later than the ones before."""
        if not self._pending:
            self._since = self._clock()
        self._pending.append(record)
        self._rows += len(record.layout)
        self._bytes += sum(array.nbytes for array in record.raw.values())
        if self._rows >= GATHER_ROWS or self._bytes >= GATHER_BYTES:
            self.flush()

    def tick(self) -> None:
        """Store what was gathered long enough; call this a few times a second."""
        if self._pending and self._clock() - self._since >= GATHER_S:
            self.flush()

    def flush(self) -> None:
        """Store what was gathered. What cannot be stored is given up, not kept for ever."""
        records, self._pending, self._rows, self._bytes = self._pending, [], 0, 0
        if not records:
            return
        span = Span(self._worker, records[0].step, records[-1].step)
        arrays = {
            f"{record.step}/{name}": array
            for record in records
            for name, array in record.raw.items()
        }
        blob = None
        if arrays:
            key = tensors_key(span)
            self._store.put(key, blobs.encode(arrays))
            blob = key.rpartition("/")[2]
        table = to_table(records, [blob if record.raw else None for record in records])
        meta = PartMeta(self._last_step, tuple(step_ranges(records)))
        write_part(self._store, span, table, meta, clustered=False)
        self._last_step = span.last
        self._add(span, len(table), level=0)

    def close(self, end: End) -> None:
        """Store what is left, then the note that says how the run ended."""
        try:
            self.flush()
        finally:
            self._store.put(end_key(self._worker), end.to_json())

    def _add(self, span: Span, rows: int, *, level: int) -> None:
        """Note a part of a level; ten of them become one of the next."""
        if level == len(self._levels):
            self._levels.append([])
        parts = self._levels[level]
        parts.append((span, rows))
        if len(parts) < FAN_IN:
            return
        self._levels[level] = []
        total = sum(rows for _, rows in parts)
        if total <= _MERGE_ROWS:
            merged = merge_parts(self._store, [Part(self._store, span) for span, _ in parts])
            self._add(merged, total, level=level + 1)
