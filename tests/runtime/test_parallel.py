"""The laws of many small reads at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from stepwatch.runtime.parallel import begin, map_parallel, result_of

SOON = 20.0  # longer than anything that works takes


def test_results_are_in_the_order_of_the_items():
    """Not in the order in which they end: the first here ends last."""
    second = threading.Event()

    def read(item):
        if item == 0:
            assert second.wait(SOON)
        elif item == 1:
            second.set()
        return item * 10

    assert map_parallel(read, range(8), threads=4) == [item * 10 for item in range(8)]


def test_many_that_wait_wait_together():
    """The first is tried alone; the others pass the barrier only all at once."""
    together = threading.Barrier(12)

    def read(item):
        if item == 0:
            threading.Event().wait(0.05)
        else:
            together.wait(SOON)
        return item

    assert list(range(13)) == map_parallel(read, range(13), threads=12)


def test_many_that_do_not_wait_are_left_to_as_many_threads_as_there_are_processors():
    """And to the one that tried the first."""
    threads = map_parallel(lambda _: threading.current_thread(), range(1000), threads=1000)

    assert threads[0] is threading.current_thread()
    assert len(set(threads)) <= 1 + os.cpu_count()


@pytest.mark.parametrize("items", [[], ["one"]])
def test_few_items_need_no_thread(items):
    """None and one are done where they are asked for."""
    threads = map_parallel(lambda _: threading.current_thread(), items)

    assert threads == [threading.current_thread()] * len(items)


def test_a_process_that_ends_does_not_wait_for_them():
    """As when a store is away: the wait was left by Ctrl-C, and the requests hang."""
    script = (
        "import threading\n"
        "from stepwatch.runtime.parallel import map_parallel\n"
        "hang = threading.Event()\n"
        "both = lambda item: item or hang.wait()\n"
        "waiting = lambda: map_parallel(both, [0, 0])\n"
        "threading.Thread(target=waiting, daemon=True).start()\n"
        "while threading.active_count() < 4: pass\n"
    )

    assert 0 == subprocess.run([sys.executable, "-c", script], timeout=SOON).returncode


def test_the_first_exception_is_raised():
    """First in the order of the items."""

    def read(item):
        if item >= 3:
            raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 3"):
        map_parallel(read, range(10))


@pytest.mark.parametrize(
    "wait_for",
    [lambda work: result_of(begin(work)), lambda work: map_parallel(lambda _: work(), "ab")],
    ids=["one", "many"],
)
def test_ctrl_c_is_heard_though_it_woke_another_thread(wait_for):
    """As one that comes just as the wait begins, which wakes nobody."""
    first, ended = iter([True]), threading.Event()

    def work():
        if next(first, False):
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        assert ended.wait(SOON), "nobody heard of it"

    with pytest.raises(KeyboardInterrupt):
        wait_for(work)

    ended.set()
