"""Saying once what is waited for, where an answer takes long.

A request says what it is while it is under way; whoever was given a command by somebody says how
that somebody is to hear of a long one. A training, which waits for nothing, gives none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: From here on somebody wonders why nothing happens, seconds.
LONG_S = 2.0

_tells: list[Callable[[str], object]] = []


@contextmanager
def long_waits(tell: Callable[[str], object]) -> Iterator[None]:
    """Have the first long wait that is begun in here told, by a thread of its own.

    Args:
        tell: Called with what is waited for, once at most.
    """
    _tells.append(tell)
    try:
        yield
    finally:
        if tell in _tells:
            _tells.remove(tell)


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Say that something is waited for as long as this lasts."""
    if not _tells:
        yield
        return
    timer = threading.Timer(LONG_S, _tell, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(what: str) -> None:
    while _tells:
        _tells.pop()(what)
