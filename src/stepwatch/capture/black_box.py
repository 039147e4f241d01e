"""The black box: what a training did last, kept where the death of its process cannot reach it.

What a step begins with is written by the training thread before the model runs, so it is there
whatever kills the step. What the step computed, and what waits for an accelerator, is written on
the background thread before anything is stored. Items still queued when a process is killed are
lost; the queue is nearly empty as long as the store keeps up.

When something goes wrong, the ring is copied to a dump, which nothing overwrites. A finding comes
when its step is over, so it is the next TRAIN step that is captured in detail: ``wanted`` asks
whoever feeds the box for its full values and the state before it.

A step names its layout by number, so the layout of every step that is still in the ring must be
there as well: it is written again before it would be overwritten.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..formats.blackbox import (
    BEGIN_FRAME,
    FRAME_BYTES,
    LAYOUT_FRAME,
    TRIGGER_FRAME,
    Ring,
    dump_key,
    encode_frame,
    encode_scalars,
    encode_step,
    layout_meta,
    open_ring,
    remove_ring,
)
from ..model.finding import Finding
from ..model.record import Layout, ScalarSteps, StepRecord
from ..model.steps import Mode
from ..store import BytesLike, Store

FrameArray = npt.NDArray[np.generic]
_MOST_LAYOUTS = 8


class FrameWriter:
    """Writes frames and the layouts they need.

    Args:
        ring: Where to; nobody else writes to it. Hold ``lock`` while several things are done to
            it: the training thread and the background thread both write.
    """

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.capacity = ring.capacity
        # RLock: a signal handler may come in the middle of a frame.
        self.lock = threading.RLock()
        #: How many frames are missing: the queue was full, or they were larger than the ring.
        self.left_out = 0
        self._layouts: list[_WrittenLayout] = []  # that used last is the last
        self._num_layouts = 0
        # Up to where it may be written before the layouts have to be looked through.
        self._safe_until = 0

    def write(
        self, kind: str, meta: Mapping[str, object], arrays: Mapping[str, FrameArray]
    ) -> bool:
        """Write a frame; return whether there was room for it."""
        return self._write(encode_frame(kind, meta, arrays))

    def write_step(
        self, record: StepRecord, raw: Mapping[str, FrameArray], elsewhere: str = ""
    ) -> bool:
        """Write a step that is over; return whether there was room for it.

        Args:
            record: The step.
            raw: Those of its full values that are written with it.
            elsewhere: The name of the file that holds the others, if one does.
        """
        with self.lock:
            layout = self.number_of(record.layout)
            if not layout:
                return False
            return self._write(encode_step(record, layout, self.left_out, raw, elsewhere))

    def write_scalars(self, steps: ScalarSteps) -> bool:
        """Write steps of which there are a few numbers only; return whether there was room."""
        with self.lock:
            layout = self.number_of(steps.layout)
            return bool(layout) and self._write(encode_scalars(steps, layout, self.left_out))

    def _write(self, parts: Sequence[BytesLike]) -> bool:
        size_bytes = FRAME_BYTES + sum(map(len, parts))
        with self.lock:
            is_written = size_bytes <= self.capacity and self._rewrite_layouts(size_bytes)
            is_written = is_written and self.ring.write(parts)
            self.left_out += not is_written
            return is_written

    def _rewrite_layouts(self, size_bytes: int) -> bool:
        """Write again the layouts that a frame would write over; return whether all are there."""
        # What tells the rows of steps apart must stay, as long as they do.
        if self.ring.written + size_bytes <= self._safe_until:
            return True
        room_after = self.ring.room_after
        self._layouts = [one for one in self._layouts if room_after(one.used) >= size_bytes]
        needed = size_bytes + self.size_of_layouts()
        are_there = all(
            self._write_layout(one)
            for one in self._layouts
            if room_after(one.start) < needed - one.size_bytes
        )
        first = min((one.start for one in self._layouts), default=self.ring.written)
        self._safe_until = first + self.capacity - self.size_of_layouts()
        return are_there

    def number_of(self, layout: Layout) -> int:
        """Return the number of the layout of a step, which is written first if it is new.

        Returns:
            At least 1; 0 if there was no room to write it.
        """
        with self.lock:
            if self._layouts and self._layouts[-1].layout is layout:  # as at most steps
                self._layouts[-1].used = self.ring.written
                return self._layouts[-1].number
            self._safe_until = 0
            known = self._known(layout)
            if known is None:
                self._num_layouts += 1  # first: whatever interrupts it, no number comes twice
                known = _WrittenLayout(layout, self._num_layouts)
                if not self._write_layout(known):
                    self.left_out += 1
                    return 0
            others = [one for one in self._layouts if one is not known]
            known.layout, known.used = layout, self.ring.written
            self._layouts = [*others, known][-_MOST_LAYOUTS:]
            # To write them again must not drive out what they are for.
            while len(self._layouts) > 1 and self.size_of_layouts() > self.capacity // 4:
                self._layouts.pop(0)
            return known.number

    def size_of_layouts(self) -> int:
        return sum(one.size_bytes for one in self._layouts)

    def _known(self, layout: Layout) -> _WrittenLayout | None:
        very = (one for one in self._layouts if one.layout is layout)
        equal = (one for one in self._layouts if one.layout.tensors == layout.tensors)
        return next(very, None) or next(equal, None)

    def _write_layout(self, one: _WrittenLayout) -> bool:
        start = self.ring.written
        is_written = self.ring.write(
            encode_frame(LAYOUT_FRAME, layout_meta(one.number, one.layout), {})
        )
        if is_written:
            one.start, one.size_bytes = start, self.ring.written - start
        return is_written


@dataclass(slots=True)
class _WrittenLayout:
    """A layout, its number, and where in the ring it was written, and used, last."""

    layout: Layout
    number: int
    start: int = 0
    used: int = 0
    size_bytes: int = 0


Array = npt.NDArray[np.generic]
_NO_VALUES: Mapping[str, Array] = {}
Arrays = Callable[[], Mapping[str, Array]]
Offer = Callable[[Callable[[], None], int], bool]

MOST_DUMPS = 3
NON_FINITE = "non-finite loss"
# Beside the arrays of a frame there is its header, its facts and theirs.
_FACTS_BYTES = 4096
# At most this many TRAIN steps are remembered that began and whose records may be queued.
_MOST_BEGUN = 64


def open_black_box(
    store: Store, worker: str, size_bytes: int, offer: Offer, snapshot_every: int = 0
) -> BlackBox | None:
    """Return the black box of a worker; ``None``, and a line in the log, if it cannot be made.

    Args:
        store: Where the run lies.
        worker: The worker.
        size_bytes: Its size.
        offer: Queues a call for the background thread, with the bytes that it holds.
        snapshot_every: See ``BlackBox``.
    """
    try:
        frames = FrameWriter(open_ring(store, worker, size_bytes))
        return BlackBox(store, worker, frames, offer, snapshot_every)
    except OSError as error:
        logging.getLogger("stepwatch").warning("training goes on without a black box: %s", error)
        return None


class BlackBox:
    """Keeps the last frames of a worker.

    Args:
        store: Where dumps go.
        worker: The worker.
        frames: Writes the frames.
        offer: See ``open_black_box``.
        snapshot_every: The state before every n-th TRAIN step is wanted; 0 for none.
        store_dump: Has what the ring holds stored under a key, where another process does that;
            ``judge`` and ``settle`` are then called on the training thread.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        frames: FrameWriter,
        offer: Offer,
        snapshot_every: int = 0,
        store_dump: Callable[[str], object] | None = None,
    ) -> None:
        self.capacity = frames.capacity
        self.snapshot_every = snapshot_every
        #: Why the next TRAIN step should be captured in detail; whoever does so sets it to "".
        self.wanted = ""
        self._store, self._worker, self._offer = store, worker, offer
        self._frames, self._ring = frames, frames.ring
        self._store_dump = store_dump or self._put_content
        self._judges_here = store_dump is not None
        self._num_requested_dumps = self._num_dumps = self._num_triggers = 0
        self._finders: list[FindingsSource] = []
        self._num_findings: list[int] = []  # of each of them, those that are noted
        self._step = -1  # the last that is over
        self._announced = -1
        # Of the last TRAIN steps that have begun: which, and where in the ring.
        self._begun: deque[tuple[int, int]] = deque(maxlen=_MOST_BEGUN)
        self._dumped = -2  # the step that was over when the last dump was made
        self._due = ""  # why a dump is to be made once the TRAIN step that runs is over
        self._was_finite = True
        #: Set once a step was kept.
        self.has_step = threading.Event()

    def watch(self, listeners: Sequence[object]) -> None:
        """Note the findings of those listeners that have ``findings``."""
        self._finders = [one for one in listeners if isinstance(one, FindingsSource)]
        self._num_findings = [0] * len(self._finders)

    # On the training thread

    @property
    def left_out(self) -> int:
        return self._frames.left_out

    def keep(self, kind: str, meta: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Write a frame.

        Args:
            kind: What it says.
            meta: Facts; of ``begin`` with ``step``, the global step that it will be.
            arrays: The values, as they are now.
        """
        self._keep(kind, {**meta, "time_ns": time.time_ns()}, lambda: arrays)

    def keep_later(
        self, kind: str, meta: Mapping[str, object], arrays: Arrays, size_bytes: int
    ) -> bool:
        """Hand over a frame; return whether there was room for it in the queue.

        Args:
            kind: What it says.
            meta: Facts, as for ``keep``.
            arrays: Returns the values; called on the background thread.
            size_bytes: How large they are.
        """
        facts = {**meta, "time_ns": time.time_ns()}
        kept = self._offer(partial(self._keep, kind, facts, arrays), size_bytes)
        self._frames.left_out += not kept
        return kept

    def request_dump(self, reason: str) -> bool:
        """Return whether to capture the running TRAIN step in detail: a few times in a run.

        If so, there will be a dump once it is over.
        """
        if self._num_requested_dumps >= MOST_DUMPS:
            return False
        self._num_requested_dumps += 1
        if self._judges_here:
            self._expect(reason)
        else:
            self._offer(partial(self._expect, reason), 0)
        return True

    # On the background thread

    def record(self, record: StepRecord) -> None:
        """Keep a step that is over, and its full values as far as its beginning stays."""
        with self._frames.lock:
            self._frames.write_step(record, self.fitting(record) if record.raw else _NO_VALUES)
        self.has_step.set()

    def record_scalars(self, steps: ScalarSteps) -> None:
        """Keep steps that are over, of which there are a few numbers only."""
        self._frames.write_scalars(steps)
        self.has_step.set()

    def fitting(self, record: StepRecord) -> Mapping[str, Array]:
        """Return the full values that leave what the step began with where it is."""
        self._frames.number_of(record.layout)  # a new layout is written first
        begun = [start for step, start in self._begun if step >= record.mode_step]
        room = self._ring.room_after(begun[0] if begun else self._ring.written)
        room = room if room > 0 else self.capacity // 2
        room -= record.statistics.nbytes + _FACTS_BYTES
        room -= self._frames.size_of_layouts()  # they may have to be written again
        fitting: dict[str, Array] = {}
        for name, array in record.raw.items():
            room -= array.nbytes + 2 * len(name) + 100
            if room >= 0:
                fitting[name] = array
        return fitting

    def judge(self, record: StepRecord) -> None:
        """Note what the listeners found in a step, and make the dump that is due."""
        self._step = record.step
        self.note_findings()
        if record.mode is not Mode.TRAIN:
            return
        if self._went_wrong(record) and not self._due:
            self._want(NON_FINITE, _step_position(record))
        if self._due:
            self._dump(self._step)

    def close(self, state: str, error: str) -> None:
        """Dump if the run ended badly; remove the ring if nothing was wrong or all is in a dump.

        With snapshots the ring stays: steps can be run again from it.
        """
        if not self.settle(state, error):
            remove_ring(self._store, self._worker, self._ring.path)

    def settle(self, state: str, error: str) -> bool:
        """Dump if the run ended badly; return whether the ring is to stay."""
        self.note_findings()
        if state == "failed":
            self._want("exception", {"error": error, "time_ns": time.time_ns()})
        self._due = self._due or self.wanted
        dumped = bool(self._due) and self._dump(max(self._step, self._announced))
        in_vain = state == "finished" and not (self._num_triggers or self.snapshot_every)
        return not (dumped or in_vain)

    def _keep(self, kind: str, meta: Mapping[str, Any], arrays: Arrays) -> None:
        with self._frames.lock:
            if kind == BEGIN_FRAME and meta["mode_step"] not in dict(self._begun):
                self._begun.append((meta["mode_step"], self._ring.written))
                self._announced = meta["step"]
            self._num_triggers += kind == TRIGGER_FRAME
            self._frames.write(kind, {**meta, "step": self._announced}, arrays())

    def _expect(self, reason: str) -> None:
        self._due = self._due or reason

    def _want(self, reason: str, meta: Mapping[str, object], *, is_new: bool = True) -> None:
        """Note that something went wrong in a step that is over, to capture the next in detail.

        Args:
            reason: What went wrong.
            meta: Facts.
            is_new: Whether that step is in no dump yet.
        """
        self._num_triggers += 1
        self._frames.write(TRIGGER_FRAME, {"reason": reason, **meta}, {})
        if is_new and not self._due:
            self.wanted = reason

    def note_findings(self) -> None:
        """Note what the listeners have found since; may be called on any thread."""
        for which, one in enumerate(self._finders):
            with self._frames.lock:
                new = one.findings[self._num_findings[which] :]
                self._num_findings[which] += len(new)
            for finding in new:
                if finding.severity != "info":
                    facts = {"step": finding.step, "finding": finding.to_dict()}
                    is_new = not 0 <= finding.step <= self._dumped
                    self._want(finding.rule, {**facts, "time_ns": time.time_ns()}, is_new=is_new)

    def _went_wrong(self, record: StepRecord) -> bool:
        """Return whether a loss of this step is not finite, and those of the step before were."""
        loss, was_finite = record.loss, self._was_finite
        if loss is None:
            return False
        self._was_finite = math.isfinite(loss)
        return was_finite and not self._was_finite

    def _dump(self, step: int) -> bool:
        """Copy the ring to a dump, named after a step; return whether that was done."""
        reason, self._due = self._due, ""
        if self._num_dumps >= MOST_DUMPS:
            return False
        self._num_dumps, self._dumped = self._num_dumps + 1, step
        self._store_dump(dump_key(self._worker, step, reason))
        return True

    def _put_content(self, key: str) -> None:
        with self._frames.lock:
            content = self._ring.content()
        self._store.put(key, content)


@runtime_checkable
class FindingsSource(Protocol):
    """A listener that keeps what it has found."""

    findings: list[Finding]


def _step_position(record: StepRecord) -> dict[str, object]:
    return {
        "mode": str(record.mode),
        "mode_step": record.mode_step,
        "step": record.step,
        "time_ns": record.time_ns,
    }
