"""Many small reads at once, or one apart, in threads that nobody waits for when Python ends."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from time import monotonic, thread_time
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

_MANY = 8  # items of which one is tried first
_WAITED_S = 1e-3  # more than a file takes that is in memory
_HEARS_S = 0.2  # how late Ctrl-C may be heard of


def map_parallel(function: Callable[[S], T], items: Iterable[S], *, threads: int = 8) -> list[T]:
    """Return ``function`` of each item, in order, computed by several threads; for small reads.

    The first exception ends it; what has not begun by then is left out. Of many items the first is
    computed alone: where it does not wait, more threads than processors would only be in each
    other's way.

    Example:
        >>> map_parallel(len, ["", "a", "bc"])
        [0, 1, 2]
    """
    waiting = list(items)
    if len(waiting) < 2 or threads < 2:
        return [function(item) for item in waiting]
    done: list[T] = []
    if len(waiting) > _MANY:
        began = monotonic() - thread_time()
        done.append(function(waiting[0]))
        if monotonic() - thread_time() - began < _WAITED_S:
            threads = min(threads, os.cpu_count() or 1)
    rest: list[tuple[Future[T], S]] = [(Future(), item) for item in waiting[len(done) :]]
    todo: SimpleQueue[tuple[Future[T], S]] = SimpleQueue()
    for entry in rest:
        todo.put(entry)
    for _ in range(min(threads, len(rest))):
        _start(function, todo)
    try:
        return done + [result_of(future) for future, _ in rest]
    finally:
        while _next(todo) is not None:
            pass


def begin(function: Callable[[], T]) -> Future[T]:
    """Return what a function is going to return, which is computed by a thread of its own."""
    future: Future[T] = Future()
    todo: SimpleQueue[tuple[Future[T], None]] = SimpleQueue()
    todo.put((future, None))
    _start(lambda _: function(), todo)
    return future


def result_of(future: Future[T]) -> T:
    """Return what a future returns, once it does, or raise what it raises; Ctrl-C ends the wait.

    A wait without a limit would miss a signal that comes just as it begins.
    """
    while not future.done():
        wait([future], timeout=_HEARS_S)
    return future.result()


def _start(function: Callable[[S], T], todo: SimpleQueue[tuple[Future[T], S]]) -> None:
    # A daemon: a process whose store is away must not wait for its last requests when it ends.
    threading.Thread(
        target=_work_on, args=(function, todo), name="stepwatch-read", daemon=True
    ).start()


def _work_on(function: Callable[[S], T], todo: SimpleQueue[tuple[Future[T], S]]) -> None:
    while (entry := _next(todo)) is not None:
        future, item = entry
        try:
            future.set_result(function(item))
        except BaseException as error:  # noqa: BLE001  raised in the waiting thread
            future.set_exception(error)


def _next(todo: SimpleQueue[S]) -> S | None:
    try:
        return todo.get_nowait()
    except Empty:
        return None
