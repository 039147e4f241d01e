"""A new file, written by few calls of the system."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# What one call of the system takes; POSIX promises 16, Linux and macOS have 1024.
_MOST_PIECES = 1024
# For smaller files it does not pay to ask for their space first.
_LARGE_BYTES = 1 << 20
_TRIES = 3

Opened = TypeVar("Opened")


def write_new(path: str, parts: Sequence[bytes | bytearray | memoryview]) -> None:
    """Write pieces to a new file; its folder is made if there is none.

    By calls of the system alone, and few of them: around each, another thread gets its turn and
    has to wait for it.
    """
    file = in_its_folder(path, lambda: os.open(path, _NEW, 0o666))
    try:
        rest = [memoryview(part).cast("B") for part in parts]
        _take_space(file, sum(map(len, rest)))
        while rest:
            written = _write(file, rest[:_MOST_PIECES])
            while rest and written >= len(rest[0]):
                written -= len(rest.pop(0))
            if rest:
                rest[0] = rest[0][written:]
    finally:
        os.close(file)


def in_its_folder(path: str, open_it: Callable[[], Opened]) -> Opened:
    """Open a file; its folder is made if there is none, and again if another process removes it."""
    for _ in range(_TRIES):
        try:
            return open_it()
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
    return open_it()


def _write(file: int, parts: Sequence[memoryview]) -> int:
    """Write pieces, or as much of them as the system takes at once; return how much."""
    if hasattr(os, "writev"):
        return os.writev(file, parts)
    return os.write(file, parts[0])


def _take_space(file: int, size_bytes: int) -> None:
    """Take the space of a large file at once, where the system can: writing is a quarter faster.

    Raises:
        OSError: There is not so much.
    """
    fallocate = _fallocate() if size_bytes >= _LARGE_BYTES else None
    if fallocate is None or fallocate(file, 0, 0, size_bytes) == 0:
        return
    if ctypes.get_errno() == errno.ENOSPC:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@cache
def _fallocate() -> Any:
    """Return the call of Linux, which says so where a file system cannot do it.

    That of POSIX, which Python has, would then write to every block instead.
    """
    try:
        function = ctypes.CDLL(None, use_errno=True).fallocate
    except (AttributeError, OSError, TypeError):  # not Linux
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    return function
