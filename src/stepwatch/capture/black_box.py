"""The black box: what a training did last, kept where the death of its process cannot reach it.

What a step begins with is written by the training thread, before the model runs: it is there
whatever kills the step. What came out of it, and what waits for an accelerator, is written on the
background thread, before anything is stored. What is in the queue when a process is killed is
lost; it is nearly empty as long as the store keeps up.

When something goes wrong, the ring is copied to where nothing writes over it: a dump. A finding
comes when its step is over, so the next TRAIN step is what is looked at closely: ``wanted`` asks
whoever feeds the box for its full values and the state before it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..formats.blackbox import dump_key, open_ring, remove_ring
from ..formats.blackbox.frames import (
    BEGIN,
    RAW,
    STATISTICS,
    STEP,
    TRIGGER,
)
from ..formats.blackbox.ring import Ring
from ..record import StepRecord
from ..statistics import NAN, NEGINF
from ..steps import Mode
from ..store import Store
from .frame_writer import FrameWriter

Array = npt.NDArray[np.generic]
Arrays = Callable[[], Mapping[str, Array]]
Offer = Callable[[Callable[[], None], int], bool]

MOST_DUMPS = 3
NON_FINITE = "non-finite loss"
# Beside the arrays of a frame there is its header, its facts and theirs.
_FACTS_BYTES = 4096
# So many TRAIN steps may have begun whose records are still in the queue, for all to be known.
_MOST_BEGUN = 64


def open_black_box(
    store: Store, worker: str, size_bytes: int, offer: Offer, snapshot_every: int = 0
) -> BlackBox | None:
    """Return the black box of a worker; ``None``, and a line in the log, if it cannot be had.

    Args:
        store: Where the run lies.
        worker: Whose box.
        size_bytes: How large.
        offer: Takes what is to be done on the background thread, with the bytes it holds.
        snapshot_every: See ``BlackBox``.
    """
    try:
        return BlackBox(store, worker, open_ring(store, worker, size_bytes), offer, snapshot_every)
    except OSError as error:
        logging.getLogger("stepwatch").warning("training goes on without a black box: %s", error)
        return None


class BlackBox:
    """Keeps the last frames of a worker.

    Args:
        store: Where dumps go.
        worker: Whose frames.
        ring: Where they are kept.
        offer: See ``open_black_box``.
        snapshot_every: The state before each so many TRAIN steps is wanted; 0 for none.
    """

    def __init__(
        self, store: Store, worker: str, ring: Ring, offer: Offer, snapshot_every: int = 0
    ) -> None:
        self.capacity = ring.capacity
        self.snapshot_every = snapshot_every
        #: Why the next TRAIN step should be looked at closely; whoever does so sets it to "".
        self.wanted = ""
        self._store, self._worker, self._ring, self._offer = store, worker, ring, offer
        self._frames = FrameWriter(ring)
        self._num_looks = self._num_dumps = self._num_triggers = 0
        self._finders: list[Finds] = []
        self._num_findings: list[int] = []  # of each of them, those that are noted
        self._step = -1  # the last that is over
        self._foretold = -1
        # Of the last TRAIN steps that have begun: which, and where in the ring.
        self._begun: deque[tuple[int, int]] = deque(maxlen=_MOST_BEGUN)
        self._due = ""  # why a dump is to be made once the TRAIN step that runs is over
        self._was_finite = True

    def around(self, listeners: Sequence[object]) -> list[Callable[[StepRecord], object]]:
        """Return who looks at each step, in order: the box before all others and after them.

        Args:
            listeners: The others, each with ``look``; what those have found who have ``findings``
                is noted.
        """
        self._finders = [one for one in listeners if isinstance(one, Finds)]
        self._num_findings = [0] * len(self._finders)
        looks = [one.look for one in listeners]  # type: ignore[attr-defined]
        return [self.record, *looks, self.judge]

    # On the training thread

    @property
    def left_out(self) -> int:
        """How many frames are missing: the queue was full, or they were larger than the ring."""
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

    def look_closely(self, reason: str) -> bool:
        """Return whether to look closely at the TRAIN step that runs, not too often in a run.

        If so, there will be a dump once it is over.
        """
        if self._num_looks >= MOST_DUMPS:
            return False
        self._num_looks += 1
        self._offer(partial(self._expect, reason), 0)
        return True

    # On the background thread

    def record(self, record: StepRecord) -> None:
        """Keep a step that is over; its full values as long as its beginning stays."""
        self._step = record.step
        with self._frames.lock:
            layout = self._frames.number_of(record.layout)
            meta = {**_place(record), "layout": layout, "left_out": self.left_out}
            arrays: dict[str, Array] = {STATISTICS: record.statistics}
            begun = [place for step, place in self._begun if step >= record.mode_step]
            room = self._ring.room_after(begun[0] if begun else self._ring.written)
            room = room if room > 0 else self.capacity // 2
            room -= record.statistics.nbytes + _FACTS_BYTES
            room -= self._frames.size_of_layouts()  # they may have to be written again
            for name, array in record.raw.items():
                room -= array.nbytes + 2 * len(name) + 100
                if room >= 0:
                    arrays[RAW + name] = array
            self._frames.write(STEP, meta, arrays)

    def judge(self, record: StepRecord) -> None:
        """A step was looked at by all: note what was found, and make the dump that is due."""
        self._note_findings()
        if record.mode is not Mode.TRAIN:
            return
        if self._went_wrong(record) and not self._due:
            self._want(NON_FINITE, _place(record))
        if self._due:
            self._dump(self._step)

    def close(self, state: str, error: str) -> None:
        """The run ends: dump if it ended badly; remove the ring if nothing was wrong.

        With snapshots it stays: steps can be run again from it.
        A ring of which all is in a dump is removed as well.
        """
        self._note_findings()
        if state == "failed":
            self._want("exception", {"error": error, "time_ns": time.time_ns()})
        self._due = self._due or self.wanted
        dumped = bool(self._due) and self._dump(max(self._step, self._foretold))
        in_vain = state == "finished" and not (self._num_triggers or self.snapshot_every)
        if dumped or in_vain:
            remove_ring(self._store, self._worker, self._ring)

    def _keep(self, kind: str, meta: Mapping[str, Any], arrays: Arrays) -> None:
        with self._frames.lock:
            if kind == BEGIN and meta["mode_step"] not in dict(self._begun):
                self._begun.append((meta["mode_step"], self._ring.written))
                self._foretold = meta["step"]
            self._num_triggers += kind == TRIGGER
            self._frames.write(kind, {**meta, "step": self._foretold}, arrays())

    def _expect(self, reason: str) -> None:
        self._due = self._due or reason

    def _want(self, reason: str, meta: Mapping[str, object]) -> None:
        """Something went wrong in a step that is over: the next should be looked at closely."""
        self._num_triggers += 1
        self._frames.write(TRIGGER, {"reason": reason, **meta}, {})
        if not self._due:
            self.wanted = reason

    def _note_findings(self) -> None:
        for which, one in enumerate(self._finders):
            new = one.findings[self._num_findings[which] :]
            self._num_findings[which] += len(new)
            for finding in new:
                if finding.severity != "info":
                    facts = {"step": finding.step, "finding": finding.to_dict()}
                    self._want(finding.rule, {**facts, "time_ns": time.time_ns()})

    def _went_wrong(self, record: StepRecord) -> bool:
        """Return whether a loss of this step is not finite, and those of the step before were."""
        rows = record.layout.rows_of.get("losses")
        if rows is None:
            return False
        was_finite = self._was_finite
        self._was_finite = not record.statistics[rows, NAN : NEGINF + 1].any()
        return was_finite and not self._was_finite

    def _dump(self, step: int) -> bool:
        """Copy the ring to where it stays, under a step; return whether that was done."""
        reason, self._due = self._due, ""
        if self._num_dumps >= MOST_DUMPS:
            return False
        self._num_dumps += 1
        with self._frames.lock:
            content = self._ring.content()
        self._store.put(dump_key(self._worker, step, reason), content)
        return True


@runtime_checkable
class Finds(Protocol):
    """A listener that keeps what it has found."""

    findings: list[Finding]


def _place(record: StepRecord) -> dict[str, object]:
    return {
        "mode": str(record.mode),
        "mode_step": record.mode_step,
        "step": record.step,
        "time_ns": record.time_ns,
    }
