"""The companion: a process in which rules judge, and writers store, what a training recorded.

It follows the ring of the training process, shares no interpreter lock with it, and outlives it:
what reached the ring is judged and stored whatever ended the training, and if that came without
a word the note at the end says so. What it has to report goes back by the mailbox, a line of JSON
each.

It never ends by what a rule, a writer or a store raises: that is counted, and reported once.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import StepwatchError
from ..formats import RunTarget
from ..formats.blackbox import (
    LAYOUT_FRAME,
    MESSAGE_FRAME,
    STEP_FRAME,
    STEPS_FRAME,
    Frame,
    decode_frame,
    layout_of,
    remove_ring,
    step_frames,
    step_record,
)
from ..formats.manifest import End, Manifest
from ..formats.native.blobs import BlobFile
from ..formats.native.writer import GATHER_S
from ..formats.outage import store_the_last
from ..formats.resume import ResumePoint
from ..formats.transport import ControlPage, RingFollower
from ..model.record import Layout, StepRecord
from ..store import Store, open_store
from .output import Output
from .pipeline import Listener, Pipeline

#: Reports something to the part of a listener that is in the training process; JSON's types.
Report = Callable[[object], None]
#: Makes the part of a listener that works in the companion.
MakeRemote = Callable[[Report], Listener]

WITHOUT_A_WORD = (
    "the training process ended without a word: it was killed, ran out of memory or crashed"
)
_TICK_S = 0.25
_PARENT_EVERY_S = 0.25
# How long it sleeps where nothing comes: little while steps do, and more after a while without.
_PAUSE_S, _LONG_PAUSE_S, _LONG_AFTER_S = 0.005, 0.02, 1.0


@dataclass(frozen=True)
class Assignment:
    """What a companion is to do.

    Args:
        url: Where the run lies.
        worker: Whose steps.
        output: How the run is written.
        manifest: What the run is.
        is_first: Whether the worker is the first.
        marks_end: See ``RunTarget``.
        start: Where the run was resumed.
        patterns: The patterns of the run's own collections.
        ring: The ring.
        page: Its control page.
        remotes: What makes each listener, by its number among those of the training process.
        folder: The working directory of the training when it began.
        training: The number of its process.
        begins_at: How many bytes of the ring are settled.
        first_step: The first global step that comes.
        num_stored: How many steps are stored already.
    """

    url: str
    worker: str
    output: Output
    manifest: Manifest
    is_first: bool
    marks_end: bool
    start: ResumePoint | None
    patterns: Mapping[str, Sequence[str]]
    ring: Path
    page: Path
    remotes: Mapping[int, MakeRemote]
    folder: str
    training: int
    begins_at: int = 0
    first_step: int = 0
    num_stored: int = 0


class Mailbox:
    """Posts lines to the training process, while that lives.

    Args:
        page: Holds the mailbox.
        is_read: Whether somebody still takes out what is in it.
    """

    def __init__(self, page: ControlPage, is_read: Callable[[], bool]) -> None:
        self._page, self._is_read = page, is_read

    def post(self, kind: str, content: object) -> None:
        """Post a message, waiting for room; nothing is done where nobody reads."""
        data = json.dumps([kind, content]).encode() + b"\n"
        while data:
            data = data[self._page.post(data) :]
            if data:
                if not self._is_read():
                    return
                time.sleep(_PAUSE_S)


class _PostedLog(logging.Handler):
    """Has what is logged here logged by the training process, as its script wants it."""

    def __init__(self, mailbox: Mailbox) -> None:
        super().__init__()
        self._mailbox = mailbox

    def emit(self, record: logging.LogRecord) -> None:
        self._mailbox.post("log", [record.levelno, self.format(record)])


class Companion:
    """Follows a ring to its end.

    Args:
        work: What is to be done.
        is_trained: Returns whether the training process is there.

    Raises:
        StepwatchError: The run cannot be written to.
        OSError: There is no such ring.
    """

    def __init__(self, work: Assignment, is_trained: Callable[[], bool] = lambda: True) -> None:
        self._work, self._is_trained = work, is_trained
        self._page = ControlPage(work.page, create=False)
        self._follower = RingFollower(work.ring, self._page, work.begins_at)
        self.mailbox = Mailbox(self._page, is_trained)
        self._store: Store = open_store(work.url)
        self._mirror = work.output.open_mirror(
            self._store, work.worker, is_first=work.is_first, is_new=False
        )
        self._store = self._mirror.store
        target = RunTarget(
            self._store,
            work.worker,
            work.manifest,
            is_first=work.is_first,
            over_unfinished=work.output.over_unfinished,
            marks_end=work.marks_end,
            start=work.start,
        )
        writers = work.output.attach_writers(target, work.first_step)
        self._listeners = {
            number: make(partial(self._report, number)) for number, make in work.remotes.items()
        }
        for listener in self._listeners.values():
            listener.start(self._store, work.worker, work.patterns)
        self._unfinished = dict(self._listeners)
        self._pipeline = Pipeline(list(self._listeners.values()), writers)
        self._pipeline.dropped.came(work.num_stored)
        self._layouts: dict[int, Layout] = {}
        if work.begins_at:  # the layouts of what follows may have come before
            for whole in self._follower.layouts():
                self._learn(decode_frame(work.worker, whole))
        self._settled_at = time.monotonic()
        self._spilled: list[Path] = []
        self._failures, self._first_error = 0, ""
        self._is_over = False

    def run(self) -> None:
        """Work until the training has ended, and all that it recorded is stored."""
        self._mirror.start()
        self._page.is_reading = 1
        worked_at = tick_at = time.monotonic()
        while not self._is_over:
            # Before, so that all is read that was written until then.
            is_trained, last = self._is_trained(), self._page.last_message
            has_read = self._read()
            now = time.monotonic()
            if now >= tick_at:
                self._tick()
                tick_at = time.monotonic() + _TICK_S
            if self._page.wants_room:
                self._page.wants_room = 0
                self._settle()
            if has_read:
                worked_at = now
            elif last:
                self._end(**json.loads(last))
            elif not is_trained:
                self._end_without_a_word()
            else:
                is_idle = now - worked_at >= _LONG_AFTER_S
                time.sleep(_LONG_PAUSE_S if is_idle else _PAUSE_S)
        self._mirror.close()

    def _read(self) -> bool:
        """Work on what is in the ring, for as long as a tick; return whether anything was there."""
        give_up_at, has_read = time.monotonic() + _TICK_S, False
        while not self._is_over and time.monotonic() < give_up_at and not self._page.wants_room:
            whole = self._follower.read(STEP_FRAME, STEPS_FRAME, LAYOUT_FRAME, MESSAGE_FRAME)
            if whole is None:
                break
            has_read = True
            frame = decode_frame(self._work.worker, whole)
            if frame.kind == LAYOUT_FRAME:
                self._learn(frame)
            elif frame.kind != MESSAGE_FRAME:
                for one in step_frames(frame):
                    self._take(one)
            else:
                self._attempt(self._do, frame.meta)
        return has_read

    def _learn(self, frame: Frame) -> None:
        if frame.meta["layout"] not in self._layouts:  # it is written again before it is lost
            self._layouts[frame.meta["layout"]] = layout_of(frame.meta)

    def _take(self, frame: Frame) -> None:
        record = self._whole(step_record(frame, self._layouts[frame.meta["layout"]]), frame)
        self._attempt(self._pipeline.take, record)
        self._page.judged = record.step + 1

    def _whole(self, record: StepRecord, frame: Frame) -> StepRecord:
        """Return a step with those of its full values that did not fit into the ring."""
        name = frame.meta.get("elsewhere")
        if name:
            path = self._work.ring.with_name(name)
            self._spilled.append(path)
            data = path.read_bytes()
            file = BlobFile(name, lambda start, length: data[start : start + length])
            beside = {one: file.get(one) for one in file.names}
            return replace(record, raw={**record.raw, **beside})
        return record

    def _tick(self) -> None:
        self._attempt(self._pipeline.tick)
        is_due = time.monotonic() - self._settled_at >= GATHER_S
        if is_due or self._follower.position - self._page.settled > self._follower.capacity // 2:
            self._settle()

    def _settle(self) -> None:
        """Store what waits, so that it may be written over; TensorBoard's files are not waited for.

        What a store refuses is settled, too: it is given up, and counted. So is what the writer
        keeps while the store is away.
        """
        for writer in self._pipeline.writers[:1]:
            self._attempt(self._pipeline.store_by, writer)
        page, writers = self._page, self._pipeline.writers
        self._settled_at = time.monotonic()
        refused = max((writer.lost for writer in writers[:1]), default=0)
        page.num_stored = self._pipeline.dropped.num_came - refused
        page.next_step = max(page.judged, page.next_step)
        page.settled = self._follower.position
        self._remove_spilled()

    def _remove_spilled(self) -> None:
        while self._spilled:
            with suppress(OSError):
                self._spilled.pop().unlink()

    def _do(self, message: Mapping[str, Any]) -> None:
        """Do what the training process asks for; see ``capture.link``."""
        for what, content in message.items():
            if what == "sync":
                self._attempt(self._pipeline.tick)
                self._settle()
                self.mailbox.post("synced", content)
            elif what == "copy":
                self._mirror.note(content)
            elif what == "dump":
                self._store.put(content, self._follower.content())
            elif what == "to":
                number, to_listener = content
                self._listeners[number].receive(to_listener)  # type: ignore[attr-defined]
            elif what == "finish":
                self._finish(content)

    def _finish(self, number: int) -> None:
        listener = self._unfinished.pop(number, None)
        if listener is not None:
            self._attempt(listener.finish)

    def _end(self, note: Mapping[str, Any], failures: int, keeps_ring: bool) -> None:
        """Store what is left, and the note; report the note and be done.

        Args:
            note: The fields of an ``End`` without what was lost.
            failures: How often something failed in the training process.
            keeps_ring: Whether the ring is to stay.
        """
        for number in list(self._unfinished):
            self._finish(number)
        self._failures += failures

        def losses() -> End:
            return self._pipeline.with_losses(End(**note), self._failures, self._first_error)

        for writer in self._pipeline.writers:
            self._attempt(self._pipeline.dropped.store, store_the_last, writer.flush)
        for writer in self._pipeline.writers:
            self._attempt(lambda one=writer: one.close(losses()))
        self._is_over = True
        self._page.settled = self._follower.position
        self._remove_spilled()
        with suppress(OSError, StepwatchError):  # the folder may be forbidden by now
            self._work.page.unlink(missing_ok=True)
            if not keeps_ring:
                remove_ring(self._store, self._work.worker, self._work.ring)
        self.mailbox.post("end", asdict(losses()))

    def _end_without_a_word(self) -> None:
        num_steps = self._pipeline.dropped.num_came
        note = End("failed", time.time_ns(), num_steps, error=WITHOUT_A_WORD)
        self._end(asdict(note), 0, keeps_ring=self._work.output.black_box_mb > 0)

    def _report(self, number: int, message: object) -> None:
        self.mailbox.post("from", [number, message])

    def _attempt(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except Exception as error:
            self._failures += 1
            if not self._first_error:
                self._first_error = str(error) or type(error).__name__
                trace = None if isinstance(error, StepwatchError) else error
                logging.getLogger("stepwatch").error(  # noqa: TRY400  a line may do
                    "work in the background failed; training goes on: %s", error, exc_info=trace
                )


class _Parent:
    """The process that started this one.

    Args:
        number: Its number.
    """

    def __init__(self, number: int) -> None:
        self._number, self._asked_at, self._is_there = number, 0.0, True

    def is_there(self) -> bool:
        now = time.monotonic()
        if self._is_there and now >= self._asked_at + _PARENT_EVERY_S:
            self._asked_at, self._is_there = now, os.getppid() == self._number
        return self._is_there


def main() -> None:
    """Do what standard input says."""
    for what in ("SIGTERM", "SIGHUP"):  # whoever ends the training ends us by that
        if hasattr(signal, what):
            signal.signal(getattr(signal, what), signal.SIG_IGN)
    work: Assignment = pickle.load(sys.stdin.buffer)
    with suppress(OSError):
        os.chdir(work.folder)
    companion = Companion(work, _Parent(work.training).is_there)
    logging.getLogger("stepwatch").addHandler(_PostedLog(companion.mailbox))
    companion.run()
    os._exit(0)  # nothing is left that a slow end of the interpreter could do
