"""The thread that does the slow work of a run.

It takes no lock that a submitter could hold, and whatever ``work`` or ``tick`` raises ends
in a count: nothing can stop it. A submitter waits for the thread in one place, until a deadline.
Each counter is written by the thread alone or under the lock of the submitters. In a forked
child, where the thread does not exist, no lock and no queue is touched.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Generic, TypeVar

from ..errors import StepwatchError

T = TypeVar("T")

_MOST_WAITING = 100_000  # a bound also for items that say they have no size
_RECHECK_S = 0.05  # the most that a wake-up taken by another waiter can cost


@dataclass(frozen=True, slots=True)
class BackgroundReport:
    """What became of everything submitted.

    Args:
        processed: Items whose work was done.
        dropped: Items refused because the queue was full or closed, or given up by ``close``.
        failures: How often work or tick raised.
        first_error: The first of these, with its traceback.
        drained: Whether everything accepted was worked on before ``close`` ran out of time.
    """

    processed: int
    dropped: int
    failures: int
    first_error: BaseException | None
    drained: bool


@dataclass(eq=False, slots=True)
class _Marker:
    """An entry of the queue, passed once a tick ran there; nothing follows the ``last``."""

    last: bool = False
    passed: bool = False
    settled: threading.Event = field(default_factory=threading.Event)


class Background(Generic[T]):
    """A thread that works on what is submitted, in order, and never takes training down.

    Args:
        work: Called on the thread with each item.
        depth_bytes: Most bytes held, waiting or being worked on. A single item that is larger
            is taken when nothing else is held.
        patience: Seconds that submitters wait in total once the queue is full. After that what
            does not fit is dropped at once, until the queue is down to half.
        tick: Called on the thread about every ``tick_s``, busy or not, and after the last item.
        tick_s: Seconds between ticks.
        name: The name of the thread.

    Example:
        >>> done = []
        >>> background = Background(done.append)
        >>> background.submit("step 0", size_bytes=100)
        True
        >>> background.close(timeout=10).processed, done
        (1, ['step 0'])
    """

    def __init__(
        self,
        work: Callable[[T], object],
        *,
        depth_bytes: int = 256 * 2**20,
        patience: float = 1.0,
        tick: Callable[[], object] | None = None,
        tick_s: float = 0.5,
        name: str = "stepwatch",
    ) -> None:
        self._work = work
        self._depth_bytes = depth_bytes
        self._patience = patience
        self._tick = tick or (lambda: None)
        self._tick_s = tick_s if tick else 3600.0
        self._pid = os.getpid()
        # SimpleQueue: its put is atomic and may be interrupted or re-entered by a signal handler.
        self._queue: SimpleQueue[tuple[T, int] | _Marker] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        # RLock: a signal handler may close, or submit, in the middle of a submit.
        self._lock = threading.RLock()
        self._accepted_bytes = self._dropped = 0
        self._closed = False
        self._drained: bool | None = None
        self._give_up_at: float | None = None
        # The thread alone writes these.
        self._done_bytes = self._processed = self._failures = 0
        self._first_error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """How many items were not, and will not be, worked on."""
        return 0 if self._in_child() else self._dropped

    def report(self) -> BackgroundReport:
        """Return what became of everything submitted so far."""
        done, failed, error = self._processed, self._failures, self._first_error
        return BackgroundReport(done, self._dropped, failed, error, drained=bool(self._drained))

    def submit(self, item: T, size_bytes: int = 0) -> bool:
        """Hand over an item that holds so much memory; return whether it was accepted."""
        if self._in_child():
            return False
        if self._accept(item, size_bytes) or self._accept_late(item, size_bytes):
            return True
        with self._lock:
            self._dropped += 1
            first = self._dropped == 1 and not self._closed
        if first:
            _log("the queue to the store is full; steps are being dropped, and counted", None)
        return False

    def offer(self, item: T, size_bytes: int = 0) -> bool:
        """Hand over an item if there is room now, without waiting; counted nowhere if not."""
        return not self._in_child() and self._accept(item, size_bytes)

    def flush(self, timeout: float) -> bool:
        """Wait until all submitted before is done and a tick has run after it; return whether."""
        if self._in_child():
            return True
        if self._on_thread():
            return False  # else it would wait for itself
        marker = _Marker()
        with self._lock:
            if self._closed:
                return bool(self._drained)
            self._queue.put(marker)
        marker.settled.wait(timeout)
        return marker.passed

    def close(self, timeout: float = 10.0) -> BackgroundReport:
        """Accept nothing more, work on what is waiting, and return within ``timeout`` seconds.

        What is still waiting then is given up and counted as dropped. Closing again returns at
        once. From within ``work`` or ``tick`` it cannot wait, and gives up what is waiting.
        """
        if self._in_child():
            return BackgroundReport(0, 0, 0, None, drained=True)
        with self._lock:
            self._closed = True
            self._queue.put(_Marker(last=True))
        if self._drained is None:
            if not self._on_thread():
                self._thread.join(max(0.0, timeout))
            self._give_up_the_rest()
        return self.report()

    def _in_child(self) -> bool:
        return os.getpid() != self._pid

    def _on_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def _accept(self, item: T, size_bytes: int) -> bool:
        with self._lock:
            held = self._accepted_bytes - self._done_bytes
            fits = held <= 0 or held + size_bytes <= self._depth_bytes
            full = not fits or self._queue.qsize() >= _MOST_WAITING
            # The interpreter looks for signals after calls and jumps backward: from here to
            # the end of put none can interrupt.
            if full or self._closed:
                return False
            self._accepted_bytes += size_bytes
            self._queue.put((item, size_bytes))
            return True

    def _accept_late(self, item: T, size_bytes: int) -> bool:
        """Wait for room until the patience with this full queue has ended."""
        if self._on_thread():
            return False
        give_up_at = self._give_up_at = self._give_up_at or monotonic() + self._patience
        while not self._accept(item, size_bytes):
            left = give_up_at - monotonic()
            if self._closed or left <= 0:
                return False
            _wait_for(self._room, min(left, _RECHECK_S))
        return True

    def _give_up_the_rest(self) -> None:
        # First, so that a thread that comes back from a stalled call starts nothing new.
        self._drained = not self._thread.is_alive()
        given_up = 0
        while (entry := _wait_for(self._queue, 0)) is not None:
            if isinstance(entry, _Marker):
                entry.settled.set()
            else:
                given_up += 1
        self._queue.put(_Marker(last=True))
        with self._lock:
            self._dropped += given_up
            self._drained = self._drained and not given_up

    def _run(self) -> None:
        _let_others_run_first()
        tick_at, last = monotonic() + self._tick_s, False
        while not last:
            entry = _wait_for(self._queue, tick_at - monotonic())
            if isinstance(entry, _Marker):
                last = entry.last
                self._pass(entry)
            elif entry is not None:
                self._process([entry[0]], entry[1])
            # No frame of ours, and an error's traceback keeps some, may keep its arrays alive.
            entry = None
            if monotonic() >= tick_at:
                self._attempt(self._tick)
                tick_at = monotonic() + self._tick_s

    def _pass(self, marker: _Marker) -> None:
        if self._drained is None:  # else close has given up, and who called it has gone on
            self._attempt(self._tick)
            marker.passed = True
        marker.settled.set()

    def _process(self, single: list[T], size_bytes: int) -> None:
        if self._attempt(self._work, single):
            self._processed += 1
        single.clear()
        self._done_bytes += size_bytes
        if 2 * (self._accepted_bytes - self._done_bytes) <= self._depth_bytes:
            self._give_up_at = None
        if self._room.empty():
            self._room.put(None)

    def _attempt(self, call: Callable[..., object], arguments: Sequence[T] = ()) -> bool:
        try:
            call(*arguments)
        except BaseException as error:  # noqa: BLE001  SystemExit, too, would end the thread
            self._failures += 1
            if self._first_error is None:
                _log("work in the background failed; training goes on", error)
                self._first_error = _without_locals(error)
            return False
        return True


def _let_others_run_first() -> None:
    """Have the system not stop another thread for this one when it wakes up, where it can.

    On Linux a thread that wakes up may take the processor from one that computes, as that which
    trains, for milliseconds. Scheduled as a batch (see sched(7)) it waits for its turn; its share
    stays the same, so it is not kept long from giving back the interpreter lock.
    """
    if sys.platform == "linux" and os.sched_getscheduler(0) == os.SCHED_OTHER:
        with suppress(OSError):  # as a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _wait_for(queue: SimpleQueue[T], timeout: float) -> T | None:
    """Return the next of the queue; ``None`` if there is none within ``timeout`` seconds."""
    try:
        return queue.get(timeout=max(0.0, timeout))
    except Empty:
        return None


def _log(message: str, error: BaseException | None) -> None:
    # What is raised on purpose says in one line what is wrong; the rest is a bug of somebody's.
    trace = None if isinstance(error, StepwatchError) else error
    text = message if error is None else f"{message}: {error}"
    try:
        logging.getLogger("stepwatch").error(text, exc_info=trace)
    except Exception:  # noqa: BLE001  a broken log handler must not stop training either
        return


def _without_locals(error: BaseException) -> BaseException:
    """Keep where it went wrong, but not the arrays in the frames it passed through."""
    link: BaseException | None = error
    visited: set[int] = set()
    while link is not None and id(link) not in visited:
        visited.add(id(link))
        traceback.clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__
    return error
