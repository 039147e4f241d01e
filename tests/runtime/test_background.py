"""The laws of the background thread. Order is forced by events, never by sleeping."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import traceback
import weakref
from itertools import count

import pytest

from stepwatch.runtime.background import Background, BackgroundReport

SOON = 20.0  # longer than anything that works takes


def fail(_):
    raise ValueError("no good")


class TestWork:
    """What is submitted is done, in order."""

    def test_items_are_worked_on_in_order(self):
        """First in, first done; close reports them all."""
        done = []
        background = Background(done.append)
        accepted = [background.submit(item) for item in range(1000)]
        report = background.close(SOON)

        assert all(accepted)
        assert done == list(range(1000))
        assert report == BackgroundReport(1000, 0, 0, None, drained=True)

    @pytest.mark.skipif(sys.platform != "linux", reason="Linux schedules threads by policies")
    def test_it_does_not_take_the_processor_from_who_computes(self):
        """The thread waits for its turn when it wakes up; who submits goes on as it was."""
        policies = []
        background = Background(lambda _: policies.append(os.sched_getscheduler(0)))
        background.submit(None)
        background.close(SOON)

        assert [os.SCHED_BATCH] == policies
        assert os.SCHED_OTHER == os.sched_getscheduler(0)

    def test_an_item_is_let_go_when_done(self):
        """Between items the thread keeps no array alive, not even of one that failed."""

        class Item:
            pass

        for work in (id, fail):
            item = Item()
            gone = weakref.ref(item)
            background = Background(work)
            background.submit(item)
            del item
            assert background.flush(SOON)
            gc.collect()
            assert gone() is None
            background.close(SOON)

    def test_the_locals_of_a_failed_write_are_let_go(self):
        """The first error is kept with its traceback but without the arrays in its frames."""

        class Item:
            pass

        def outer(item):
            try:
                inner(item)
            except OSError as error:
                raise RuntimeError("outer") from error

        def inner(item):
            raise OSError(f"inner {item is None}")

        item = Item()
        gone = weakref.ref(item)
        background = Background(outer)
        background.submit(item)
        del item
        error = background.close(SOON).first_error
        gc.collect()

        assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:] == ["outer"]
        assert gone() is None


class TestFailures:
    """The thread never dies, and what went wrong is said."""

    @pytest.mark.parametrize("kind", [ValueError, MemoryError, SystemExit, KeyboardInterrupt])
    def test_failures_are_counted_and_the_rest_is_done(self, kind):
        """Whatever work raises, the next item is worked on; the first error is kept."""
        done = []

        def work(item):
            if item % 2:
                raise kind(f"item {item}")
            done.append(item)

        background = Background(work)
        for item in range(6):
            background.submit(item)
        report = background.close(SOON)

        assert done == [0, 2, 4]
        assert (report.processed, report.failures, report.drained) == (3, 3, True)
        assert str(report.first_error) == "item 1"
        assert traceback.extract_tb(report.first_error.__traceback__)[-1].name == "work"

    def test_the_first_failure_is_logged_at_once_and_only_it(self, caplog):
        """One record with the traceback, before close."""
        background = Background(fail)
        for _ in range(3):
            background.submit(None)
        background.flush(SOON)
        records = [record for record in caplog.records if record.name == "stepwatch"]

        assert [record.levelno for record in records] == [logging.ERROR]
        assert records[0].exc_info[0] is ValueError
        assert background.close(SOON).failures == 3

    def test_a_failing_tick_is_a_failure_like_any(self):
        """Ticks are counted and survived too."""
        done = []
        background = Background(done.append, tick=lambda: fail(None))
        assert background.flush(SOON)
        background.submit("after")
        report = background.close(SOON)

        assert done == ["after"]
        assert report.failures >= 2
        assert isinstance(report.first_error, ValueError)

    def test_a_broken_log_handler_does_not_matter(self):
        """Even reporting may fail."""

        class Broken(logging.Handler):
            def emit(self, record):
                raise RuntimeError(record)

        handler = Broken()
        logging.getLogger("stepwatch").addHandler(handler)
        try:
            background = Background(fail, depth_bytes=1, patience=0)
            background.submit(None)
            assert background.flush(SOON)
            assert background.submit(None)
            assert background.close(SOON).failures == 2
        finally:
            logging.getLogger("stepwatch").removeHandler(handler)


class TestTick:
    """Something to do now and then."""

    def test_tick_comes_when_nothing_is_submitted(self):
        """About every ``tick_s``, on the thread."""
        ticks = count()
        threads = set()
        third = threading.Event()

        def tick():
            threads.add(threading.current_thread().name)
            if next(ticks) == 2:
                third.set()

        background = Background(fail, tick=tick, tick_s=0.01, name="ticker")
        assert third.wait(SOON)
        background.close(SOON)
        assert threads == {"ticker"}

    def test_tick_comes_when_the_thread_is_busy(self):
        """A queue that is never empty does not starve the tick."""
        ticked = threading.Event()
        background = Background(lambda item: background.submit(item), tick=ticked.set, tick_s=0.01)
        background.submit("for ever")

        assert ticked.wait(SOON)
        background.close(SOON)

    def test_the_last_tick_follows_the_last_item(self):
        """What work has gathered, the last tick can write."""
        events = []
        background = Background(events.append, tick=lambda: events.append("tick"), tick_s=SOON)
        background.submit("item")
        background.close(SOON)

        assert events == ["item", "tick"]


class TestFlush:
    """Waiting for what was submitted."""

    def test_flush_waits_for_the_work_and_one_tick(self):
        """When it returns, all from before is done and a tick has run after it."""
        events = []
        background = Background(events.append, tick=lambda: events.append("tick"), tick_s=SOON)
        for item in range(3):
            background.submit(item)

        assert background.flush(SOON)
        assert events == [0, 1, 2, "tick"]
        background.close(SOON)

    def test_flush_on_the_thread_does_not_wait_for_itself(self):
        """From within work there is nothing to wait for."""
        results = []
        background = Background(lambda _: results.append(background.flush(SOON)))
        background.submit(None)
        background.close(SOON)

        assert results == [False]

    def test_flush_after_close_says_whether_all_was_done(self):
        """Nothing can be waiting any more."""
        background = Background(id)
        background.close(SOON)

        assert background.flush(0)


class TestInterruptions:
    """Signals and forks come at the worst moment."""

    def test_interrupts_leave_it_consistent(self):
        """Thrown out of submit a hundred times, what was accepted is done and counted once."""

        def interrupt(*_):
            raise KeyboardInterrupt

        done = []
        background = Background(done.append, depth_bytes=1000, patience=0.001)
        interrupted = accepted = refused = 0
        previous = signal.signal(signal.SIGVTALRM, interrupt)
        try:
            while interrupted < 100:
                try:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0005)
                    while True:
                        if background.submit("step", 10):
                            accepted += 1
                        else:
                            refused += 1
                except KeyboardInterrupt:
                    interrupted += 1
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)
        assert background.flush(SOON)

        assert background._accepted_bytes == background._done_bytes == 10 * len(done)
        assert accepted <= len(done) <= accepted + interrupted
        assert refused <= background.dropped <= refused + interrupted
        assert background.close(SOON).drained

    def test_a_signal_handler_may_close_in_the_middle_of_submit(self):
        """The scheduler's SIGTERM finds the lock held by the thread it interrupts."""
        done = []
        background = Background(done.append)
        reports = []
        previous = signal.signal(signal.SIGTERM, lambda *_: reports.append(background.close(SOON)))
        try:
            with background._lock:
                background.submit("step")
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, previous)

        assert (done, reports[0].drained) == (["step"], True)
