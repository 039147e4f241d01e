"""Reads TRAIN steps of all workers of a run while they train, in the process of one of them.

A ``Trial`` lists and opens what all workers wrote at each refresh. Here a call reads for as long as
it is given, and only of the worker that is furthest behind: of the others nothing can be complete
before that one has written more. So while one is waited for, a call costs one listing of its parts,
and less often the longer it lasts. What is held is at most a part of each worker, without the
tensors that nobody asked for.

Steps are joined by their count within TRAIN: a worker that evaluates by itself counts more global
steps than the others.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from ..formats.manifest import Manifest, end_key, read_process
from ..formats.native.observations import LayoutColumns, texts_where, to_records
from ..formats.native.parts import OBSERVATIONS, Part, Span, parse_span, widest_spans
from ..model.record import Layout, StepRecord
from ..model.steps import Mode
from ..numerics.columns import numbers, rows_where
from ..numerics.statistics import NUM_FIELDS
from ..store import Store, scheme_of

#: How long to wait before the parts of a worker are listed again, seconds; twice as long each time
#: that there are none, up to so many times.
POLL_S, DISTANT_POLL_S, LONGEST_POLL = 0.5, 5.0, 8
#: After so long without a new part, whether the worker still runs is asked, seconds.
SILENT_S = 5.0
# So many parts or listings are read in one go, however fast that is.
_MOST_READS = 16
# A part with more rows takes too long to read.
_MOST_ROWS = 500_000
# Where more is held than this, steps are left out, by periods that each divide the next.
_MOST_BYTES = 256 << 20
_PERIODS = (1, 2, 10, 20, 100, 200, 1000)
_TRAINING = (Mode.TRAIN.value, Mode.GLOBAL.value)
_NOTHING, _NO_ROWS = Layout(()), np.empty((0, NUM_FIELDS))


@dataclass(slots=True)
class _Tail:
    """How far one worker was read.

    Args:
        worker: The worker.
        after: The last global step that was read.
        read_until: The last step within TRAIN that was read; -1 for none.
        records: What was read and not joined yet, ascending.
        shown: The steps within TRAIN that were read and not joined yet, as there may be of which
            nothing is kept.
        parts: Listed, and not read yet.
        ignored: Parts that the worker is about to remove.
        list_at: When its parts are listed again, by the clock.
        wait_s: The time from one listing to the next.
        came_at: When it last had something new.
        is_gone: Whether it will write no more, and all of it was read.
    """

    worker: str
    after: int
    came_at: float
    wait_s: float
    read_until: int = -1
    records: deque[StepRecord] = field(default_factory=deque)
    shown: set[int] = field(default_factory=set)
    parts: deque[Span] = field(default_factory=deque)
    ignored: set[Span] = field(default_factory=set)
    list_at: float = 0.0
    is_gone: bool = False


class JointSteps:
    """The TRAIN steps of a run in the native format, each with the records of all workers.

    A step is complete, and comes, once every worker wrote it or a later one, or writes no more.
    Where one has yet to begin, it is waited for. Records hold no full values.

    Args:
        store: Where the run lies.
        manifest: What it is.
        worker: Whose process this is, one of the run. Only steps that it recorded come.
        first: The first step that this worker recorded since it runs.
        collections: Those whose tensors are wanted; all if empty.
        clock: Seconds, monotonic; for tests.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        worker: str,
        first: StepRecord,
        collections: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._worker, self._clock = store, worker, clock
        self._wanted = frozenset(collections)
        is_distant = scheme_of(store.url) not in ("", "file", "memory")
        self._poll_s = DISTANT_POLL_S if is_distant else POLL_S
        # What a worker left that has not come back yet after the run was resumed.
        self._since_ns = first.time_ns if manifest.resumes else 0
        self._tails = [
            _Tail(f"worker_{rank}", first.step - 1, clock(), self._poll_s)
            for rank in range(manifest.num_workers)
        ]
        self._layouts: dict[LayoutColumns, Layout] = {}
        self._joined = -1
        self._period = 0
        #: The last step within TRAIN that was passed over because it was too much to read.
        self.passed_over = -1

    def advance(self, seconds: float, *, now: bool = False) -> Iterator[tuple[StepRecord, ...]]:
        """Yield the next complete steps in order, the record of this worker first.

        Of a worker that recorded none of the wanted tensors at a step, the record is empty.

        Args:
            seconds: After so long nothing more is read.
            now: List what there is even if it is not time yet.

        Raises:
            StoreError: The store refuses.
            CorruptRun: A part is damaged.
        """
        give_up_at, reads_left = self._clock() + seconds, _MOST_READS
        if now:
            reads_left = len(self._tails) * _MOST_READS
            for tail in self._tails:
                tail.list_at = 0.0
        while reads_left and self._clock() < give_up_at:
            awaited = [tail for tail in self._tails if not tail.is_gone]
            behind = min(awaited, key=lambda tail: tail.read_until)
            heads = [tail.records[0].mode_step for tail in self._tails if tail.records]
            if heads and min(heads) <= behind.read_until:
                records = self._join(min(heads))
                if records:
                    yield records
            elif not self._read(behind):
                return
            else:
                reads_left -= 1

    def _join(self, mode_step: int) -> tuple[StepRecord, ...]:
        """Take a step from what was read; nothing if it is none to be compared."""
        self._joined = mode_step
        found = {
            tail.worker: tail.records.popleft()
            for tail in self._tails
            if tail.records and tail.records[0].mode_step == mode_step
        }
        left_out = mode_step <= self.passed_over or mode_step % _PERIODS[self._period] != 0
        mine = found.pop(self._worker, None)
        if left_out or mine is None:
            return ()
        others = (
            found.get(tail.worker) or _empty_record(tail.worker, mine)
            for tail in self._tails
            if tail.worker != self._worker and mode_step in tail.shown
        )
        return (mine, *others)

    def _read(self, tail: _Tail) -> bool:
        """Read the next part of a worker; return whether there was one, or it is known as gone."""
        if not tail.parts:
            if self._clock() < tail.list_at:
                return False
            self._list(tail)
            if not tail.parts:
                return tail.is_gone
        try:
            self._read_part(tail, tail.parts[0])
        except FileNotFoundError:  # merged into another
            tail.parts.clear()
            tail.list_at = 0.0
            return False
        tail.parts.popleft()
        return True

    def _list(self, tail: _Tail) -> None:
        """List what a worker wrote since, or note that it will write no more."""
        tail.parts.extend(self._new_parts(tail))
        is_silent = self._clock() - tail.came_at >= SILENT_S
        if not tail.parts and is_silent and tail.worker != self._worker:
            # Listed again: a worker that is gone has written all its parts.
            is_gone = self._has_left(tail.worker)
            tail.parts.extend(self._new_parts(tail) if is_gone else ())
            tail.is_gone = is_gone and not tail.parts
        if tail.parts:
            tail.came_at, tail.wait_s = self._clock(), self._poll_s
        else:
            tail.wait_s = min(2 * tail.wait_s, LONGEST_POLL * self._poll_s)
        tail.list_at = self._clock() + tail.wait_s

    def _new_parts(self, tail: _Tail) -> list[Span]:
        spans = widest_spans(map(parse_span, self._store.list(f"{OBSERVATIONS}{tail.worker}/")))
        return [one for one in spans if one.last > tail.after and one not in tail.ignored]

    def _has_left(self, worker: str) -> bool:
        try:
            self._store.get(end_key(worker))
        except FileNotFoundError:
            process = read_process(self._store, worker)
            return process is not None and not process.may_run()
        return True

    def _read_part(self, tail: _Tail, span: Span) -> None:
        part = Part(self._store, span)
        ends = [one.mode_last for one in part.meta.ranges if one.mode.value in _TRAINING]
        if part.num_rows > _MOST_ROWS:
            self.passed_over = max(self.passed_over, *ends, -1)
            tail.read_until = max(tail.read_until, *ends, -1)
            tail.after = span.last
            return
        table = part.read()
        is_training = texts_where(table.column("mode"), _TRAINING.__contains__)
        is_new = numbers(table.column("time_ns")) >= self._since_ns
        table = rows_where(table, is_training & is_new)
        if self._since_ns and ends and not len(table):
            tail.ignored.add(span)
            return
        self._keep(tail, table)
        tail.read_until = max(tail.read_until, *ends, -1)
        tail.after = span.last

    def _keep(self, tail: _Tail, table: pa.Table) -> None:
        """Keep of a part what is wanted of it."""
        later = (step for step in tail.shown if step > self._joined)
        tail.shown = {*later, *np.unique(numbers(table.column("mode_step"))).tolist()}
        if self._wanted:
            wanted = texts_where(table.column("collection"), self._wanted.__contains__)
            table = rows_where(table, wanted)
        if len(table):
            records = to_records(table, tail.worker, self._layouts, tail.after)
            tail.records.extend(one.record for one in records)
        while self._size_bytes() > _MOST_BYTES and self._period < len(_PERIODS) - 1:
            self._period += 1
            for one in self._tails:
                one.records = deque(map(_alone, filter(self._is_of_period, one.records)))

    def _is_of_period(self, record: StepRecord) -> bool:
        return record.mode_step % _PERIODS[self._period] == 0

    def _size_bytes(self) -> int:
        return sum(
            record.statistics.nbytes + 64 * len(record.digests)
            for tail in self._tails
            for record in tail.records
        )


def _alone(record: StepRecord) -> StepRecord:
    """Return a record that keeps no other of its part in memory."""
    return replace(record, statistics=record.statistics.copy())


def _empty_record(worker: str, like: StepRecord) -> StepRecord:
    """Return the record of a worker of whose step nothing is kept."""
    return replace(
        like, worker=worker, layout=_NOTHING, statistics=_NO_ROWS, digests={}, exponents={}
    )
