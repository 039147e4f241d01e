"""Saying once what is waited for, where an answer takes long, and no longer waiting on Ctrl-C.

A request says what it is while it is under way; whoever was given a command by somebody says how
that somebody is to hear of a long one. A training, which waits for nothing, gives none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from .parallel import begin, result_of

T = TypeVar("T")

#: From here on somebody wonders why nothing happens, seconds.
LONG_S = 2.0


@dataclass(eq=False)
class _Command:
    """What somebody waits for; ``tell`` is called with the first long wait and then forgotten."""

    tell: Callable[[str], object] | None


_commands: list[_Command] = []


@contextmanager
def long_waits(tell: Callable[[str], object] | None) -> Iterator[None]:
    """Have the first long wait that is begun in here told, and let Ctrl-C end any.

    Args:
        tell: Called with what is waited for, once at most, by a thread of its own; ``None`` for
            somebody who wants to hear of nothing.
    """
    command = _Command(tell)
    _commands.append(command)
    try:
        yield
    finally:
        _commands.remove(command)


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Say that something is waited for as long as this lasts."""
    if not any(command.tell for command in _commands):
        yield
        return
    timer = threading.Timer(LONG_S, _tell, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def answer_to(request: Callable[[], T]) -> T:
    """Return what a request returns.

    Within a library the main thread hears of no signal. So it has another thread ask, which is left
    alone if Ctrl-C ends the wait.
    """
    if not _commands or threading.current_thread() is not threading.main_thread():
        return request()
    return result_of(begin(request))


def _tell(what: str) -> None:
    for command in _commands:
        tell, command.tell = command.tell, None
        if tell is not None:
            tell(what)
