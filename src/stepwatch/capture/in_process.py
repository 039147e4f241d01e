"""Listeners and writers on a thread of the training process.

The training thread hands finished steps over and goes on, so a slow disk costs a dropped step and
never a slow training.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event

from ..formats import RunTarget
from ..formats.interface import RunWriter
from ..formats.manifest import End, end_key
from ..model.record import ScalarRow, StepRecord
from ..runtime.background import Background
from .mirror import Mirror, NoMirror, ShutdownWait
from .output import Output
from .pipeline import MOST_SOON, Listener, Pipeline

# If the time for what is queued was not enough, how long to wait for the note that says so.
NOTE_TIMEOUT_S = 5.0
# How long the training waits until its first step is in the black box; a millisecond will do.
FIRST_STEP_PATIENCE_S = 0.5
# How often writers store what they gathered long enough.
TICK_S = 0.5


class InProcess:
    """Carries steps to a pipeline on a background thread.

    Args:
        output: How the run is written.
        target: Where.
        writers: Store the steps.
        listeners: Called with every step before it is stored; each was started.
        mirror: Copies the run, and is started here.
    """

    def __init__(
        self,
        output: Output,
        target: RunTarget,
        writers: Sequence[RunWriter],
        listeners: Sequence[Listener],
        mirror: Mirror | NoMirror,
    ) -> None:
        self._store, self._worker = target.store, target.worker
        self._pipeline = Pipeline(listeners, writers)
        self._mirror = mirror
        self._soon: deque[ScalarRow | StepRecord] = deque()
        # The steps that were submitted and are not taken yet: none after them may be taken first.
        self._submitted: deque[int] = deque()
        #: Processor time that the thread took, seconds.
        self.background_s = 0.0
        self.background: Background[StepRecord | Callable[[], object]] = Background(
            self._work, tick=self._tick, tick_s=TICK_S
        )
        mirror.start()
        #: The black box of the training, if there is one.
        self.black_box = output.open_black_box(target.store, target.worker, self.background.offer)
        self._first_kept: Event | None = None
        if self.black_box is not None:
            self._pipeline.add_black_box(self.black_box)
            self._first_kept = self.black_box.has_step

    def take(self, record: StepRecord) -> None:
        """Hand over a step that is over."""
        values = sum(array.nbytes for array in record.raw.values())
        self._submitted.append(record.step)
        if not self.background.submit(record, record.statistics.nbytes + values):
            self._submitted.remove(record.step)
        elif self._first_kept is not None:  # who dies at once has this step alone
            self._first_kept.wait(FIRST_STEP_PATIENCE_S)
            self._first_kept = None

    def take_soon(self, step: ScalarRow | StepRecord) -> None:
        """Hand over a small step without waking the thread: it takes them a few times a second."""
        if len(self._soon) < MOST_SOON:
            self._soon.append(step)

    def flush(self, timeout: float) -> bool:
        """Wait until every step that was taken is evaluated and handed to the writers."""
        return self.background.flush(timeout)

    def store_steps(self, timeout: float) -> bool:
        """Wait until every step that was taken is stored; return whether it is."""
        return self.background.offer(self._pipeline.store) and self.background.flush(timeout)

    def end(self, note: End, timeout: float) -> End:
        """Store what is left, and the note that says how the run ended.

        Args:
            note: Says in ``lost`` only what was never taken.
            timeout: Seconds that waiting may take together.

        Returns:
            The note as it was stored.
        """
        wait = ShutdownWait(self.background, self._store.url, timeout)
        if wait.is_done():  # so that there is room for what ends the run
            for work in self._pipeline.ending(
                note.state, note.error, lambda: self._with_losses(note)
            ):
                self.background.submit(work)
        report = wait.close()
        end = self._with_losses(note)
        if not report.drained and self._pipeline.writers:  # the store is too slow even for the end
            beside: Background[bytes] = Background(partial(self._store.put, end_key(self._worker)))
            beside.submit(end.to_json())
            beside.close(NOTE_TIMEOUT_S)
        self._mirror.close()
        return end

    def _work(self, item: StepRecord | Callable[[], object]) -> None:
        try:
            if isinstance(item, StepRecord):
                self._take_waiting()
                self._submitted.popleft()
                self._pipeline.take(item)
            else:
                item()
        finally:
            self.background_s = time.thread_time()

    def _tick(self) -> None:
        try:
            self._take_waiting()
            self._pipeline.tick()
        finally:
            self.background_s = time.thread_time()

    def _take_waiting(self) -> None:
        """Take the steps that came before the first one that was submitted."""
        waiting: list[ScalarRow | StepRecord] = []
        while self._soon:
            # First: a step that comes before it was submitted before it came.
            step = self._soon[0].step
            if self._submitted and self._submitted[0] < step:
                break
            waiting.append(self._soon.popleft())
        self._pipeline.take_small(self._worker, waiting)

    def _with_losses(self, note: End) -> End:
        report = self.background.report()
        first_error = str(report.first_error) if report.first_error else ""
        return self._pipeline.with_losses(note, report.failures, first_error)
