"""Writes one worker's part of a run, or resumes it at an earlier step.

Steps are gathered for a little less than a second, then stored as one part: raw values first,
then the rows that name them. Everything here runs on the background thread.

To resume, parts from that step on are deleted, the last one first: a reader meanwhile sees the
end move back, and never a hole. To do it twice, or in two processes at once, does no harm.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from ...errors import RunExists, StoreAway, StoreError
from ...model.record import ScalarSteps, StepRecord, step_numbers
from ...numerics.columns import numbers, rows_where
from ...store import Store, put_parts
from ..interface import StepRange, step_ranges
from ..manifest import (
    END,
    FIRST_WORKER,
    RUN_KEY,
    End,
    Manifest,
    end_key,
    read_manifest,
    worker_in_key,
)
from ..outage import Outage
from . import blobs
from .merge import Levels
from .observations import to_table
from .parts import (
    OBSERVATIONS,
    RESERVE,
    TENSORS,
    KnownPart,
    Part,
    PartMeta,
    Span,
    blob_name,
    clustered_rows,
    fresh_rows,
    observations_key,
    parse_span,
    tensors_key,
    write_part,
)

# A step is visible within two seconds: at most one until the tick that finds it gathered, the
# rest to write it, behind a merge if one is under way.
GATHER_S = 0.75
GATHER_ROWS = 100_000
GATHER_BYTES = 64 << 20
# On a disk that others fill, the note needs a block for itself and one for its folder.
RESERVE_BYTES = 16 << 10


_Steps = StepRecord | ScalarSteps


def start_run(store: Store, manifest: Manifest) -> None:
    """Store the manifest of a new run.

    Raises:
        RunExists: The store already holds one; nothing is changed.
        StoreError: The store cannot be written to.
    """
    if not store.create(RUN_KEY, manifest.to_json()):
        raise RunExists(f"{store.url} already holds a run; give another --run, or delete it")


def join_run(store: Store, worker: str, num_workers: int) -> None:
    """Make sure that a worker does not write into an earlier run; the first worker claims it.

    Raises:
        RunExists: This worker wrote there before, or a run of another size is there, or one that
            the first worker has ended. That others have ended says nothing: where nobody waits for
            them, some are done before the last one begins.
    """
    ended = {end_key(worker), end_key(FIRST_WORKER)}.intersection(store.list(END))
    earlier = store.list(f"{OBSERVATIONS}{worker_in_key(worker)}/") or list(ended)
    if not earlier:
        manifest = read_manifest(store)
        if manifest is None:
            return  # the first worker is not there yet
        earlier = [] if manifest.num_workers == num_workers else [RUN_KEY]
    if earlier:
        raise RunExists(f"{store.url} already holds a run; give another --run, or delete it")


class NativeWriter:
    """Writes one worker's part of a run.

    Args:
        store: Where the run lies; ``start_run`` was called.
        worker: The worker.
        follows: What ``truncate`` left of its part; by default nothing was there.
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
        self._received = self._stored = 0
        self._worker = worker
        self._clock = clock
        self._pending: list[_Steps] = []
        self._rows = 0
        self._bytes = 0
        self._since = 0.0
        # What is to be a part each, in order; one was tried where the store is away.
        self._parts: deque[list[_Steps]] = deque()
        self._parts_bytes = 0
        self._outage = Outage(clock)
        self._last_step, self._again = (follows.last, follows.again) if follows else (-1, 0)
        self._levels = Levels(store)
        # Not of zeros: some file systems store none of them.
        store.put(f"{RESERVE}{worker_in_key(worker)}", os.urandom(RESERVE_BYTES))

    @property
    def lost(self) -> int:
        """How many steps were written and are not stored, or not yet."""
        return self._received - self._stored

    def write(self, record: StepRecord) -> None:
        """Take a step, later than the ones before.

        Raises:
            StoreAway: The store is away, and as much as may wait for it does.
        """
        self._take(record)

    def write_scalars(self, steps: ScalarSteps) -> None:
        """Take steps in a row, later than the ones before.

        Raises:
            StoreAway: The store is away, and as much as may wait for it does.
        """
        self._take(steps)

    def _take(self, steps: _Steps) -> None:
        count = _count(steps)
        self._received += count
        size = _size_bytes(steps)
        self._outage.check_room(self._parts_bytes + self._bytes + size)
        if not self._pending:
            self._since = self._clock()
        self._pending.append(steps)
        self._rows += count * len(steps.layout)
        self._bytes += size
        if self._rows >= GATHER_ROWS or self._bytes >= GATHER_BYTES:
            self._gather()
            self._store_parts()

    def tick(self) -> None:
        # The first steps at once: who looks sees that it trains, and many runs end early.
        if self._pending and (not self._stored or self._clock() - self._since >= GATHER_S):
            self._gather()
        self._store_parts()

    def flush(self) -> None:
        """Store what was gathered. What is refused is given up, not kept for ever.

        Raises:
            StoreAway: The store is away, and what was gathered waits.
        """
        self._gather()
        self._store_parts()
        if self._parts:
            self._outage.check()

    def _gather(self) -> None:
        """Let what came since the last part be one, unless nothing can be stored now."""
        is_full = self._rows >= GATHER_ROWS or self._bytes >= GATHER_BYTES
        if self._pending and (is_full or self._outage.asks_again):
            self._parts.append(self._pending)
            self._parts_bytes += self._bytes
            self._pending, self._rows, self._bytes = [], 0, 0

    def _store_parts(self) -> None:
        """Store the parts that wait; keep them where the store is away."""
        while self._parts and self._outage.asks_again:
            records = self._parts.popleft()
            first, last = step_numbers(records[0])[0], step_numbers(records[-1])[-1]
            span = Span(self._worker, int(first[0]), int(last[0]), self._again)
            try:
                part = self._store_part(span, records)
            except StoreAway as error:
                self._parts.appendleft(records)
                self._outage.begins(error)
                return
            finally:
                self._parts_bytes = sum(_size_bytes(one) for part in self._parts for one in part)
            self._outage.ends()
            self._stored += sum(_count(one) for one in records)
            self._last_step = span.last
            self._levels.add(part)

    def _store_part(self, span: Span, records: list[_Steps]) -> KnownPart:
        """Store raw values, then the rows that name them."""
        arrays = {
            f"{record.step}/{name}": array
            for record in records
            if isinstance(record, StepRecord)
            for name, array in record.raw.items()
        }
        blob = None
        if arrays:
            put_parts(self._store, tensors_key(span), blobs.encode_checked(arrays))
            blob = blob_name(span)
        has_raw = (isinstance(one, StepRecord) and one.raw for one in records)
        table = to_table(records, [blob if has else None for has in has_raw])
        meta = PartMeta(self._last_step, tuple(step_ranges(records)))
        return write_part(self._store, span, fresh_rows(table), meta)

    def close(self, end: End) -> None:
        try:
            self.flush()
        finally:
            with suppress(StoreError):
                self._store.delete(f"{RESERVE}{worker_in_key(self._worker)}")
            self._store.put(end_key(self._worker), end.to_json())


def _count(steps: _Steps) -> int:
    return len(steps) if isinstance(steps, ScalarSteps) else 1


def _size_bytes(steps: _Steps) -> int:
    if isinstance(steps, ScalarSteps):
        return steps.numbers.nbytes + steps.values.nbytes
    return steps.statistics.nbytes + sum(array.nbytes for array in steps.raw.values())


def truncate(store: Store, worker: str, first: int) -> Span:
    """Remove what a worker stored of step ``first`` and all that follow.

    Returns:
        What the next part follows: its ``last`` is the last step that is kept, -1 for none, and
        ``again`` what new parts have.
    """
    name = worker_in_key(worker)
    spans = _spans(store, f"{OBSERVATIONS}{name}/")
    blobs = _spans(store, f"{TENSORS}{name}/")
    again = 1 + max((span.again for span in (*spans, *blobs)), default=0)
    doomed = [span for span in spans if span.last >= first]
    across = [span for span in doomed if span.first < first]
    if across:
        widest = max(across, key=lambda span: span.last - span.first)
        with suppress(FileNotFoundError):  # another process has done it
            spans.append(_shorten_part(store, widest, first, again))
    for span in sorted(doomed, key=lambda span: (-span.first, span.last)):
        store.delete(observations_key(span))
    for span in blobs:
        if span.first >= first:
            store.delete(tensors_key(span))
    last = max((span.last for span in spans if span.last < first), default=-1)
    return Span(worker, 0, last, again)


def _spans(store: Store, prefix: str) -> list[Span]:
    return [span for key in store.list(prefix) if (span := parse_span(key))]


def _shorten_part(store: Store, wide: Span, first: int, again: int) -> Span:
    """Write the rows of a part that are of earlier steps as a part of their own."""
    part = Part(store, wide)
    table = part.read()
    table = rows_where(table, numbers(table.column("step")) < first).unify_dictionaries()
    kept = [range_ for one in part.meta.ranges if (range_ := _before_step(one, first))]
    span = wide._replace(last=max(range_.last for range_ in kept), again=again)
    meta = PartMeta(part.meta.follows, tuple(kept))
    write_part(store, span, clustered_rows(table.combine_chunks()), meta)
    return span


def _before_step(range_: StepRange, first: int) -> StepRange | None:
    """Return the steps of a range that come before a step, if any do."""
    if range_.first >= first:
        return None
    count = range_.count if not range_.stride else -(-(first - range_.first) // range_.stride)
    return replace(range_, count=min(range_.count, count))
