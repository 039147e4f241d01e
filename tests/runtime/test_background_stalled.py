"""The laws of the background thread while the disk stalls. Nothing here sleeps to be in time."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from time import monotonic

import pytest

from stepwatch.runtime.background import Background, BackgroundReport

SOON = 20.0  # longer than anything that works takes


class Gate:
    """Work that begins, tells so, and goes on only when told; a stand-in for a stalled disk."""

    def __init__(self):
        self.begun = threading.Event()
        self.open = threading.Event()
        self.done = []

    def __call__(self, item):
        self.begun.set()
        assert self.open.wait(SOON)
        self.done.append(item)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


def stalled(gate, **options):
    """A background whose thread holds one item of 10 bytes, and room for 100."""
    background = Background(gate, depth_bytes=100, **options)
    assert background.submit("held", 10)
    assert gate.begun.wait(SOON)
    return background


class TestFull:
    """A stalled disk costs the patience once, then drops."""

    def test_full_waits_for_patience_once_then_drops_at_once(self, gate):
        """The wait is in total, not for each submit; every drop is counted."""
        background = stalled(gate, patience=0.3)
        assert background.submit("fills", 90)
        before = monotonic()
        assert not background.submit("late", 10)
        waited = monotonic() - before
        assert not any(background.submit("later", 10) for _ in range(1000))

        assert waited >= 0.3
        assert background.dropped == 1001

    def test_what_fits_is_accepted_while_larger_items_are_dropped(self, gate):
        """Full is a question of size."""
        background = stalled(gate, patience=0)

        assert not background.submit("large", 95)
        assert background.submit("small", 90)
        assert not background.submit("more", 1)

    def test_room_within_the_patience_is_taken(self, gate):
        """A submitter that waits is let in as soon as there is room."""
        background = stalled(gate, patience=SOON)
        assert background.submit("fills", 90)
        threading.Timer(0.05, gate.open.set).start()

        assert background.submit("late", 90)
        assert background.close(SOON).drained
        assert gate.done == ["held", "fills", "late"]

    def test_patience_is_new_once_the_queue_has_drained(self, gate):
        """A second stall is waited for like the first."""
        background = stalled(gate, patience=0.2)
        assert not background.submit("late", 95)
        gate.open.set()
        assert background.flush(SOON)
        gate.open.clear()
        gate.begun.clear()
        background.submit("held again", 10)
        assert gate.begun.wait(SOON)
        before = monotonic()

        assert not background.submit("late again", 95)
        assert monotonic() - before >= 0.2

    def test_one_huge_item_is_accepted_when_nothing_is_held(self, gate):
        """A step larger than the whole queue is not impossible, only alone."""
        background = Background(gate, depth_bytes=100, patience=0)
        assert background.submit("huge", 10**12)
        assert not background.submit("next", 1)
        gate.open.set()
        assert background.flush(SOON)

        assert background.submit("huge again", 10**12)
        assert background.close(SOON).processed == 2

    def test_the_first_drop_is_logged_and_only_it(self, gate, caplog):
        """Dropping is said once, loudly, and then counted."""
        background = stalled(gate, patience=0)
        for _ in range(3):
            background.submit("late", 95)

        assert [record.levelno for record in caplog.records] == [logging.ERROR]

    def test_work_that_submits_does_not_wait_for_itself(self):
        """On the thread, what does not fit is dropped at once."""
        accepted = []

        def work(item):
            if item == "first":
                accepted.append(background.submit("second", 95))

        background = Background(work, depth_bytes=100, patience=SOON)
        before = monotonic()
        background.submit("first", 10)
        assert background.flush(SOON)

        assert accepted == [False]
        assert monotonic() - before < SOON / 2
        background.close(SOON)

    def test_many_submitters_lose_nothing(self):
        """Everything is either done or counted as dropped, never both and never neither."""
        done = []
        background = Background(done.append, depth_bytes=100, patience=0.01)
        accepted = []

        def submit():
            accepted.extend(background.submit("step", 30) for _ in range(2000))

        threads = [threading.Thread(target=submit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report = background.close(SOON)

        assert report.processed == len(done) == sum(accepted)
        assert report.processed + report.dropped == 16000


class TestFlush:
    """Waiting for what may never be done."""

    def test_flush_gives_up_in_time(self, gate):
        """A stalled disk makes it False."""
        assert not stalled(gate).flush(0.01)

    def test_a_waiting_flush_is_woken_when_close_gives_up(self, gate):
        """It then says that its items were not done."""
        background = stalled(gate)
        results = []
        waiting = threading.Thread(target=lambda: results.append(background.flush(SOON)))
        waiting.start()
        while background._queue.empty():
            os.sched_yield()
        background.close(0)
        waiting.join(SOON / 2)

        assert results == [False]


class TestClose:
    """It always returns."""

    def test_close_returns_in_time_and_counts_what_it_gave_up(self, gate):
        """With the disk stalled: not drained, the waiting items dropped, nothing done later."""
        background = stalled(gate)
        background.submit("waiting", 10)
        background.submit("waiting", 10)
        before = monotonic()
        report = background.close(0.1)

        assert monotonic() - before < 0.1 + 0.5
        assert report == BackgroundReport(0, 2, 0, None, drained=False)
        gate.open.set()
        background._thread.join(SOON)
        assert gate.done == ["held"]

    def test_after_giving_up_the_thread_does_not_tick(self, gate):
        """Who closed has gone on; the run may be closed or gone."""
        ticks = []
        background = stalled(gate, tick=lambda: ticks.append(1), tick_s=SOON)
        background.close(0)
        gate.open.set()
        background._thread.join(SOON)

        assert ticks == []

    def test_close_is_idempotent(self, gate):
        """Closing again returns the same, at once, stalled or not."""
        background = stalled(gate)
        report = background.close(0)
        before = monotonic()

        assert background.close(SOON) == report
        assert monotonic() - before < SOON / 2

    def test_submit_after_close_is_dropped_and_counted(self):
        """It neither raises nor waits."""
        background = Background(id, patience=SOON)
        background.close(SOON)
        before = monotonic()

        assert not background.submit("late")
        assert monotonic() - before < SOON / 2
        assert (background.dropped, background.close(SOON).dropped) == (1, 1)

    def test_close_wakes_a_waiting_submitter(self, gate):
        """Who waits for room is told at once that there will be none."""
        background = stalled(gate, patience=SOON)
        results = []
        waiting = threading.Thread(target=lambda: results.append(background.submit("late", 95)))
        waiting.start()
        while background._give_up_at is None:
            os.sched_yield()
        background.close(0)
        waiting.join(SOON / 2)

        assert results == [False]

    def test_close_from_within_work_returns(self):
        """It cannot wait for itself, and does not try."""
        reports = []
        background = Background(lambda _: reports.append(background.close(SOON)))
        before = monotonic()
        background.submit(None)
        background._thread.join(SOON)

        assert not reports[0].drained
        assert monotonic() - before < SOON / 2

    def test_interpreter_ends_without_close(self):
        """A forgotten close, with the disk stalled, does not keep the process."""
        script = (
            "import threading\nfrom stepwatch.runtime.background import Background\n"
            "begun = threading.Event()\n"
            "def work(item):\n    begun.set()\n    threading.Event().wait()\n"
            "background = Background(work)\nbackground.submit(1)\nbackground.submit(2)\n"
            "begun.wait()\nprint('end')\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], timeout=SOON, capture_output=True, text=True, check=True
        )

        assert (result.stdout, result.stderr) == ("end\n", "")


class TestFork:
    """What a data loader does."""

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_starts_clean(self, gate):
        """In the child nothing is submitted and nothing waits, whatever was held at the fork."""
        background = stalled(gate, patience=0)
        background.submit("waiting", 90)
        background.submit("drops", 90)
        with background._lock:
            other = threading.Thread(target=background._lock.acquire)
            other.start()  # whoever gets the lock, the child's only thread may not wait for it
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                clean = BackgroundReport(0, 0, 0, None, drained=True)
                good = not background.submit("child") and background.close(SOON) == clean
                os._exit(0 if good and background.flush(SOON) and background.dropped == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
