"""The training process's end of its companion: what goes there, what comes back, and how it ends.

The training thread writes frames and compares a few numbers; whatever takes longer is done on the
background thread of this process. A companion that ends before the training is started once more,
from what is settled; if that ends too, steps are no more stored, and that is counted.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import StepwatchError
from ..formats import RunTarget
from ..formats.blackbox import MESSAGE_FRAME, remove_ring, ring_path
from ..formats.interface import RunWriter
from ..formats.manifest import End, working_folder
from ..formats.native.blobs import encode_parts
from ..formats.transport import ControlPage, SharedRing
from ..model.record import Layout, ScalarRow, ScalarSteps, StepRecord
from ..model.steps import Mode
from ..runtime.background import Background, BackgroundReport
from ..store import Store, scheme_of
from ..store.local import make_private_folder
from .black_box import BlackBox, FrameWriter
from .companion import Assignment, Companion, MakeRemote, Report
from .mirror import CLOSE_TIMEOUT_S as MIRROR_TIMEOUT_S
from .mirror import Mirror, NoMirror, ShutdownWait
from .output import Output
from .pipeline import MOST_SOON, Listener

_log = logging.getLogger("stepwatch")
Array = npt.NDArray[np.generic]
_CODE = """\
import sys
del sys.path[0]
sys.path.append({root!r})
from stepwatch.capture.companion import main
main()
"""
#: The size of the ring where there is no black box.
RING_BYTES = 16 << 20
#: Full values that do not fit into the ring wait in files, of this size together.
MOST_SPILLED_BYTES = 256 << 20
# Seconds that all waiting for room takes together: while it starts, and then.
_START_PATIENCE_S, _PATIENCE_S = 10.0, 1.0
_POLL_S, _PROMPT_POLL_S = 0.002, 0.0005
#: Where findings may change the training, it waits for the judgement of each step, so long in all.
#: So what is wrong from the start is acted on at once; later, a few steps after.
PROMPT_S = 2.0
_TICK_S = 0.25
#: Steps with a few numbers wait so long at most while others follow.
_SOON_NS = 50_000_000
_MOST_STARTS = 2
# How long the end of the process is waited for once it has reported, and for a note of our own.
_EXIT_TIMEOUT_S = _NOTE_TIMEOUT_S = 5.0
_LONGEST_ERROR = 40_000
_NO_MORE = "from here on no step is judged or stored, and training goes on"
_NOT_YET = "what was not stored when the training ended; the companion process goes on storing it"
_NO_VALUES: Mapping[str, Array] = {}


@runtime_checkable
class Divided(Protocol):
    """A listener of which a part may work in the companion.

    Of one that has such a part this process calls ``start``, and ``receive`` with what the part
    reports. Of one that has none it calls ``start``, ``tick`` and ``finish`` as ever, and, if they
    are there, ``on_sample`` with the last step of each kind a few times a second and ``on_judged``
    with the step up to which all parts have evaluated; never ``on_step``.
    """

    def remote(self, send: Report) -> MakeRemote | None:
        """Return what makes the part, which can be pickled; ``None`` for a listener without.

        It is called again where another companion takes over.

        Args:
            send: Passes something, of JSON's types, to ``receive`` of the part.

        Raises:
            NotImplementedError: The listener can only work as a whole, in this process.
        """


def open_link(
    output: Output,
    target: RunTarget,
    writers: Sequence[RunWriter],
    listeners: Sequence[Listener],
    patterns: Mapping[str, Sequence[str]],
    mirror: Mirror | NoMirror,
) -> CompanionLink | None:
    """Start a companion; ``None`` where there cannot be one.

    A line is logged if it should have been there and failed.

    Args:
        output: How the run is written.
        target: As it was opened by this process.
        writers: What opened it; nothing was written yet.
        listeners: Who are called with the steps; each was started.
        patterns: The patterns of the run's own collections.
        mirror: What copies the run, which was not started.
    """
    if not (output.companion and _is_possible(output, target.store)):
        return None
    if not all(isinstance(one, Divided) for one in listeners):
        return None
    try:
        return CompanionLink(output, target, writers, listeners, patterns, mirror)
    except NotImplementedError:
        return None
    except (OSError, StepwatchError, pickle.PicklingError, AttributeError, TypeError) as error:
        _log.warning("rules and writers work in the process of the training: %s", error)
        return None


def _is_possible(output: Output, store: Store) -> bool:
    is_ours = output.hook_config is None and scheme_of(store.url) != "memory"
    return is_ours and os.name == "posix" and bool(sys.executable)


class CompanionLink:
    """Sends what is recorded to a companion.

    Args:
        output: See ``open_link``.
        target: See ``open_link``.
        writers: See ``open_link``.
        listeners: See ``open_link``.
        patterns: See ``open_link``.
        mirror: See ``open_link``.

    Raises:
        NotImplementedError: A listener can only work as a whole.
        OSError: There is no space for the ring, or no process can be started.
        pickle.PicklingError: A part of a listener cannot be sent to another process.
    """

    def __init__(
        self,
        output: Output,
        target: RunTarget,
        writers: Sequence[RunWriter],
        listeners: Sequence[Listener],
        patterns: Mapping[str, Sequence[str]],
        mirror: Mirror | NoMirror,
    ) -> None:
        self._output, self._target, self._patterns = output, target, patterns
        self._store, self._worker = target.store, target.worker
        self._writers = tuple(writers)
        self._listeners = tuple(listeners)
        self._remotes = self._make_remotes()
        self._locals = [one for n, one in enumerate(listeners) if n not in self._remotes]
        self._on_judged = [one.on_judged for one in self._locals if hasattr(one, "on_judged")]
        self._pid, self._folder = os.getpid(), working_folder()
        #: Processor time that our own thread took in this process, seconds.
        self.background_s = 0.0
        self._end: End | None = None
        self._mail = b""  # the beginning of a message
        path = ring_path(target.store, target.worker)
        make_private_folder(path.parent)
        self._page = ControlPage(path.with_suffix(".control"), create=True)
        size_bytes = output.black_box_mb << 20 or RING_BYTES
        try:
            self._ring = SharedRing(path, size_bytes, self._page, patience=_START_PATIENCE_S)
            self._frames = FrameWriter(self._ring)
            self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  it is kept
            self._num_starts = 0
            self._process = self._start()
        except BaseException:
            self._remove_files()
            raise
        self._mirror = mirror
        mirror.relay(lambda key: self._send("copy", key))
        self._is_lost = self._is_ending = self._was_ready = False
        # Where findings may change the training, how long it may yet wait for them, seconds.
        is_changed = any(getattr(one, "changes_training", False) for one in self._locals)
        self._prompt_s = PROMPT_S if is_changed else 0.0
        self._failures: list[str] = []
        # Where a companion works that can have no process of its own.
        self._in_thread: Background[Callable[[], None]] | None = None
        self._is_delivering = False
        self._samples: dict[tuple[Mode, Layout], StepRecord] = {}
        self._soon: deque[ScalarRow] = deque()
        self._send_at_ns = 0
        self._spilled: deque[tuple[int, int]] = deque()  # where in the ring, and how large
        self._num_syncs = self._num_synced = 0
        self._background: Background[Callable[[], None]] = Background(
            lambda work: work(), tick=self._tick, tick_s=_TICK_S
        )
        #: The black box of the training, if there is one.
        self.black_box: BlackBox | None = None
        if output.black_box_mb:
            self.black_box = BlackBox(
                target.store,
                target.worker,
                self._frames,
                self._background.offer,
                output.snapshot_every,
                store_dump=partial(self._send, "dump"),
            )
            self.black_box.watch(listeners)

    # On the training thread

    def take(self, record: StepRecord) -> None:
        """Send a step that is over, and look at what came back."""
        if os.getpid() != self._pid:
            return
        self._look()
        self._send_scalars()
        box = self.black_box
        if record.raw:
            self._send_with_values(record)
        else:
            self._frames.write_step(record, _NO_VALUES)
        if box is not None:
            box.judge(record)
        self._samples[record.mode, record.layout] = record
        if self._prompt_s > 0:
            self._wait_for_judgement(record)

    def take_soon(self, row: ScalarRow | StepRecord) -> None:
        """Take a small step; those of a few finite numbers are sent a few times a second."""
        if isinstance(row, StepRecord):
            self.take(row)
            return
        if os.getpid() != self._pid or len(self._soon) >= MOST_SOON:
            return
        self._soon.append(row)
        if row.time_ns >= self._send_at_ns:
            self._send_at_ns = row.time_ns + _SOON_NS
            self._look()
            self._send_scalars()

    def _send_scalars(self) -> None:
        """Send the steps that wait, in front of whatever is sent next."""
        if not self._soon:
            return
        with self._frames.lock:
            rows = [self._soon.popleft() for _ in range(len(self._soon))]
            for steps in ScalarSteps.of(self._worker, rows):
                self._frames.write_scalars(steps)
                last = steps.last()
                self._samples[last.mode, last.layout] = last

    def _wait_for_judgement(self, record: StepRecord) -> None:
        """Wait until a step is judged, as long as that takes little together."""
        if not self._was_ready:
            self._was_ready = True
            self._wait_until_ready()
        began = monotonic()
        while self._page.judged <= record.step and not self._is_lost:
            if monotonic() - began >= self._prompt_s:
                break
            sleep(_PROMPT_POLL_S)
        if self._page.has_mail:
            self._background.offer(self._deliver)
            self._background.flush(self._prompt_s)
        self._prompt_s -= monotonic() - began

    def _wait_until_ready(self) -> None:
        give_up_at = monotonic() + _START_PATIENCE_S
        while not (self._page.is_reading or self._is_lost) and monotonic() < give_up_at:
            sleep(_POLL_S)

    def _look(self) -> None:
        page = self._page
        if page.has_mail:
            if not self._is_delivering:
                self._is_delivering = self._background.offer(self._deliver)
        elif self._on_judged:
            self._note_judged(page.judged)

    def _send_with_values(self, record: StepRecord) -> None:
        """Write what does not fit into the ring to a file."""
        fitting = self.black_box.fitting(record) if self.black_box else self._first_fitting(record)
        rest = {name: array for name, array in record.raw.items() if name not in fitting}
        size_bytes = sum(array.nbytes for array in rest.values())
        name = f"{self._worker}-{record.step}.raw" if rest else ""
        if rest and not (self._has_room_beside(size_bytes) and self._spill(name, rest)):
            return
        if self._frames.write_step(record, fitting, name) and rest:
            self._spilled.append((self._ring.written, size_bytes))

    def _first_fitting(self, record: StepRecord) -> Mapping[str, Array]:
        room, fitting = self._ring.capacity // 4, {}
        for name, array in record.raw.items():
            room -= array.nbytes
            if room >= 0:
                fitting[name] = array
        return fitting

    def _has_room_beside(self, size_bytes: int) -> bool:
        """Return whether more may be written beside the ring, waiting as for room in it."""
        give_up_at = monotonic() + self._ring.patience
        while True:
            while self._spilled and self._spilled[0][0] <= self._page.settled:
                self._spilled.popleft()
            held = sum(size for _, size in self._spilled)
            if not held or held + size_bytes <= MOST_SPILLED_BYTES:
                return not self._is_lost
            if monotonic() >= give_up_at or self._is_lost:
                return False
            self._page.wants_room = 1
            sleep(_POLL_S)

    def _spill(self, name: str, arrays: Mapping[str, Array]) -> bool:
        try:
            with self._ring.path.with_name(name).open("wb") as file:
                file.writelines(encode_parts(arrays))
        except OSError as error:
            _log.warning("step left out, its full values cannot be passed on: %s", error)
            return False
        return True

    # On any thread

    def _send(self, what: str, content: object) -> None:
        """Have the companion do something; see ``Companion``."""
        if not (self._is_ending or self._is_lost):
            with self._frames.lock:
                self._send_scalars()
                self._frames.write(MESSAGE_FRAME, {what: content}, {})

    def _send_to(self, number: int, message: object) -> None:
        """Pass a message to the part of a listener that is in the companion."""
        self._send("to", [number, message])

    def flush(self, timeout: float) -> bool:
        """Wait until every step that was taken is evaluated, and what that gave is known here."""
        if os.getpid() != self._pid:
            return True
        give_up_at = monotonic() + timeout
        self._num_syncs += 1
        self._send("sync", self._num_syncs)
        while not self._is_in_sync():
            left = give_up_at - monotonic()
            if left <= 0:
                return False
            if self._page.has_mail:
                self._background.submit(self._deliver)
                self._background.flush(left)
            else:
                sleep(_POLL_S)
        return self._background.flush(max(0.0, give_up_at - monotonic()))

    def store_steps(self, timeout: float) -> bool:
        """Do what ``flush`` does: the companion stores steps by itself, soon after."""
        return self.flush(timeout)

    def _is_in_sync(self) -> bool:
        """Return whether all is done that the companion was asked for."""
        if self._end is not None or self._is_lost:
            return True
        return not self._is_ending and self._num_synced >= self._num_syncs

    def close(self, timeout: float) -> BackgroundReport:
        """End the work of this process."""
        return self._background.close(timeout)

    # On the background thread of this process

    def _tick(self) -> None:
        if self._page.is_reading:
            self._ring.patience = _PATIENCE_S
        self._send_scalars()
        samples, self._samples = self._samples, {}
        last = sorted(samples.values(), key=lambda record: record.step)
        with ExitStack() as work:
            work.callback(self._deliver)
            work.callback(self._check_companion)
            for listener in self._locals:
                work.callback(getattr(listener, "tick", lambda: None))
                on_sample: Callable[[StepRecord], object] | None
                on_sample = getattr(listener, "on_sample", None)
                if on_sample is not None:
                    for record in reversed(last):
                        work.callback(on_sample, record)
        self.background_s = time.thread_time()

    def _deliver(self) -> None:
        """Pass on what came back, and then up to where all is judged."""
        self._is_delivering = False
        judged = self._page.judged  # before: what was found by then is in the mailbox
        data = self._page.peek()
        *lines, rest = (self._mail + data).split(b"\n")
        with ExitStack() as work:
            work.callback(self._note_judged, judged)
            if self.black_box is not None:
                work.callback(self.black_box.note_findings)
            work.callback(self._page.collect, len(data))  # after: what is there comes first
            self._mail = rest
            for line in reversed(lines):
                work.callback(self._receive, *json.loads(line))

    def _receive(self, kind: str, content: Any) -> None:
        if kind == "from":
            number, message = content
            self._listeners[number].receive(message)
        elif kind == "log":
            _log.log(*content)
        elif kind == "synced":
            self._num_synced = max(self._num_synced, content)
        elif kind == "end":
            self._end = End(**content)

    def _note_judged(self, judged: int) -> None:
        if judged > 0:
            for on_judged in self._on_judged:
                on_judged(judged - 1)

    def _check_companion(self) -> None:
        """Start another companion where one ended too early; give up after the second."""
        status = self._process.poll()
        if status is None or self._end is not None or self._is_lost or self._page.has_mail:
            return
        if self._in_thread is not None:
            return
        why = f"the companion process ended by {_how(status)}{self._last_error()}"
        self._failures.append(why)
        has_begun = self._page.is_reading or self._num_starts > 1
        if not has_begun and status > 0:
            then = self._try(self._work_here, "its work is done in the process of the training")
        elif self._num_starts < _MOST_STARTS:
            then = self._try(self._start_another, "another goes on, its rules begin anew")
        else:
            then = ""
        _log.warning("%s; %s", why, then or _NO_MORE)
        if not then:
            self._is_lost, self._ring.is_followed = True, False
            for number in self._remotes:
                self._listeners[number].receive({"lost": why})  # type: ignore[attr-defined]

    def _try(self, go_on: Callable[[], None], done: str) -> str:
        """Return what was done; ``""`` if it failed, which is noted."""
        try:
            self._remotes = self._make_remotes()
            go_on()
        except (OSError, StepwatchError) as error:
            self._failures.append(str(error))
            return ""
        return done

    def _start_another(self) -> None:
        self._process = self._start()

    def _work_here(self) -> None:
        """Do the work of a companion on a thread: no process of ours can be had."""
        companion = Companion(self._assignment())
        self._in_thread = Background(lambda work: work(), name="stepwatch-companion")
        self._in_thread.submit(companion.run)

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1]})" if lines else ""

    # Starting it

    def _make_remotes(self) -> dict[int, MakeRemote]:
        made = {
            number: listener.remote(partial(self._send_to, number))  # type: ignore[attr-defined]
            for number, listener in enumerate(self._listeners)
        }
        return {number: make for number, make in made.items() if make is not None}

    def _assignment(self) -> Assignment:
        """Return what is left to be done, from where all is settled."""
        page, start = self._page, self._target.start
        page.is_reading = 0
        page.collect(len(page.peek()))
        self._mail = b""
        return Assignment(
            url=self._store.url,
            worker=self._worker,
            output=self._output,
            manifest=self._target.manifest,
            is_first=self._target.is_first,
            marks_end=self._target.marks_end,
            start=start,
            patterns=self._patterns,
            ring=self._ring.path,
            page=page.path,
            remotes=self._remotes,
            folder=self._folder,
            training=self._pid,
            begins_at=page.settled,
            first_step=max(page.next_step, start.step if start else 0),
            num_stored=page.num_stored,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a companion, which goes on where all is settled.

        Raises:
            OSError: It cannot be started.
            pickle.PicklingError: What it is to do cannot be sent to another process.
        """
        self._num_starts += 1
        work = pickle.dumps(self._assignment())
        if b"__main__" in pickle.dumps(self._remotes):
            raise pickle.PicklingError("what the script itself defines is not known elsewhere")
        self._errors.truncate(0)
        # The folder of a script may hold files that are called like what Python itself imports.
        code = _CODE.format(root=str(Path(__file__).parents[2]))
        with tempfile.TemporaryFile() as file:
            file.write(work)
            file.seek(0)
            return subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,  # Ctrl-C is for the training
            )

    # The end

    def end(self, note: End, timeout: float) -> End:
        """Have all that was sent stored, and the note that says how the run ended.

        Args:
            note: Says in ``lost`` only what was never taken.
            timeout: Seconds that waiting may take together.

        Returns:
            The note as it was stored, or is going to be.
        """
        if os.getpid() != self._pid:
            return note
        self._send_scalars()
        self._wait_until_ready()  # silently: that is not the store
        wait = ShutdownWait(self, self._store.url, timeout)
        for number, listener in enumerate(self._listeners):
            if number in self._remotes:
                self._send("finish", number)
            else:
                self._background.submit(listener.finish)
            if not wait.is_done():
                break
        keeps_ring = False
        if self.black_box is not None:
            keeps_ring = self.black_box.settle(note.state, note.error)
        report = self._background.report()
        errors = [*map(str, filter(None, [report.first_error])), *self._failures]
        note = replace(note, error=(note.error or "".join(errors[:1]))[:_LONGEST_ERROR])
        failures = report.failures + len(self._failures)
        last = {"note": asdict(note), "failures": failures, "keeps_ring": keeps_ring}
        self._is_ending = True
        self._page.last_message = json.dumps(last).encode()
        wait.is_done()
        if self._end is None and self._is_lost:
            self._end = self._end_alone(note, report.failures + len(self._failures))
            self._remove_files(keeps_ring=keeps_ring)
        if self._end is None:
            self._end = replace(note, failures=failures, lost=_NOT_YET)
        else:
            self._wait_for_exit()
        wait.close()
        return self._end

    def _end_alone(self, note: End, failures: int) -> End:
        """Return, and store, the note of a run that nobody stores any more."""
        lost = note.steps - self._page.num_stored
        line = f"{lost} of {note.steps} steps ({self._failures[-1]})" if lost else ""
        end = replace(
            note,
            dropped=lost,
            failures=failures,
            lost=", ".join(filter(None, [line, note.lost])),
        )
        for writer in self._writers:
            self._background.submit(partial(writer.close, end))
        self._background.flush(_NOTE_TIMEOUT_S)
        mirror = self._output.open_mirror(
            self._store, self._worker, is_first=self._target.is_first, is_new=False
        )
        mirror.start()
        mirror.close()
        return end

    def _wait_for_exit(self) -> None:
        """Wait until the companion has copied the run where it is mirrored; Ctrl-C ends that."""
        if self._in_thread is not None:
            self._in_thread.close(MIRROR_TIMEOUT_S)
        patience = MIRROR_TIMEOUT_S if isinstance(self._mirror, Mirror) else _EXIT_TIMEOUT_S
        give_up_at = monotonic() + patience
        try:
            while self._process.poll() is None and monotonic() < give_up_at:
                self._background.flush(_POLL_S)
                sleep(_POLL_S)
        except KeyboardInterrupt:
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                self._process.wait(_EXIT_TIMEOUT_S)
        self._background.flush(_NOTE_TIMEOUT_S)  # what it logged at last

    def _remove_files(self, *, keeps_ring: bool = False) -> None:
        with suppress(OSError, StepwatchError):  # the folder may be forbidden by now
            self._page.path.unlink(missing_ok=True)
            for path in self._page.path.parent.glob(f"{self._worker}-*.raw"):
                path.unlink(missing_ok=True)
            if not keeps_ring:
                remove_ring(self._store, self._worker, self._page.path.with_suffix(".ring"))


def _how(status: int) -> str:
    """Return how a process ended.

    Example:
        >>> _how(-9), _how(1)
        ('signal 9', 'exit status 1')
    """
    return f"signal {-status}" if status < 0 else f"exit status {status}"
