"""Writes one worker's part of a run.

Steps are gathered for a little less than a second, then stored as one part: raw values first,
then the rows that name them. Everything here runs on the background thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa

from ...errors import RunExists, StoreError
from ...record import StepRecord
from ...store import Store, put_parts
from ..manifest import End, Manifest
from ..notes import END, RUN_KEY, end_key
from ..step_range import step_ranges
from . import blobs
from .layout import OBSERVATIONS, RESERVE, Span, tensors_key
from .merge import Levels
from .observations import to_table
from .part_meta import PartMeta
from .parts import Known, write_part

# A step is visible within two seconds: at most one until the tick that finds it gathered, the
# rest to write it, behind a merge if one is under way.
GATHER_S = 0.75
GATHER_ROWS = 100_000
GATHER_BYTES = 64 << 20
# On a disk that others fill, the note needs a block for itself and one for its folder.
RESERVE_BYTES = 16 << 10


def warm_up() -> None:
    """Let Arrow import what it imports at its first use (pandas, where there is one).

    That may take longer than a step should wait to become visible.
    """
    pa.array([""])


def start_run(store: Store, manifest: Manifest) -> None:
    """Claim a place for a run.

    Raises:
        RunExists: It already holds one; nothing is changed.
        StoreError: It cannot be written to.
    """
    if not store.create(RUN_KEY, manifest.to_json()):
        raise RunExists(f"{store.url} already holds a run; give another --run, or delete it")


def join_run(store: Store, worker: str, num_workers: int) -> None:
    """Make sure that a worker does not write into an earlier run; the first worker claims it.

    Raises:
        RunExists: This worker wrote there before, or a run of another size or that ended is there.
    """
    earlier = store.list(f"{OBSERVATIONS}{worker}/") or store.list(END)
    if not earlier:
        try:
            manifest = Manifest.from_json(RUN_KEY, store.get(RUN_KEY))
        except FileNotFoundError:
            return  # the first worker is not there yet
        earlier = [] if manifest.num_workers == num_workers else [RUN_KEY]
    if earlier:
        raise RunExists(f"{store.url} already holds a run; give another --run, or delete it")


class NativeWriter:
    """Writes one worker's part of a run.

    Args:
        store: Where the run lies; ``start_run`` was called.
        worker: Whose part.
        follows: What ``resume.cut`` left of it; by default nothing was there.
        clock: Seconds, monotonic; for tests.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        *,
        follows: Span | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._taken = self._stored = 0
        self._worker = worker
        self._clock = clock
        self._pending: list[StepRecord] = []
        self._rows = 0
        self._bytes = 0
        self._since = 0.0
        self._last_step, self._again = (follows.last, follows.again) if follows else (-1, 0)
        self._levels = Levels(store)
        # Not of zeros: some file systems store none of them.
        store.put(f"{RESERVE}{worker}", os.urandom(RESERVE_BYTES))

    @property
    def lost(self) -> int:
        """How many steps were taken and are not stored, or not yet."""
        return self._taken - self._stored

    def write(self, record: StepRecord) -> None:
        """Take one step; later than the ones before."""
        self._taken += 1
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
        span = Span(self._worker, records[0].step, records[-1].step, self._again)
        part = self._store_part(span, records)
        self._stored += len(records)
        self._last_step = span.last
        self._levels.add(part)

    def _store_part(self, span: Span, records: list[StepRecord]) -> Known:
        """Store raw values, then the rows that name them."""
        arrays = {
            f"{record.step}/{name}": array
            for record in records
            for name, array in record.raw.items()
        }
        blob = None
        if arrays:
            key = tensors_key(span)
            put_parts(self._store, key, blobs.encode_parts(arrays))
            blob = key.rpartition("/")[2]
        table = to_table(records, [blob if record.raw else None for record in records])
        meta = PartMeta(self._last_step, tuple(step_ranges(records)))
        return write_part(self._store, span, table, meta, clustered=False)

    def close(self, end: End) -> None:
        """Store what is left, then the note that says how the run ended."""
        try:
            self.flush()
        finally:
            with suppress(StoreError):
                self._store.delete(f"{RESERVE}{self._worker}")
            self._store.put(end_key(self._worker), end.to_json())
