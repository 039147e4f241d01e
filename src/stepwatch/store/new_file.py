"""A new file, written by few calls of the system."""

from __future__ import annotations

import os
from collections.abc import Sequence

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# What one call of the system takes; POSIX promises 16, Linux and macOS have 1024.
_MOST_PIECES = 1024


def write_new(path: str, parts: Sequence[bytes | bytearray | memoryview]) -> None:
    """Write pieces to a new file; its folder is made if there is none.

    By calls of the system alone, and few of them: around each, another thread gets its turn and
    has to wait for it.
    """
    try:
        file = os.open(path, _NEW, 0o666)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, _NEW, 0o666)
    try:
        rest = [memoryview(part).cast("B") for part in parts]
        while rest:
            written = _write(file, rest[:_MOST_PIECES])
            while rest and written >= len(rest[0]):
                written -= len(rest.pop(0))
            if rest:
                rest[0] = rest[0][written:]
    finally:
        os.close(file)


def _write(file: int, parts: Sequence[memoryview]) -> int:
    """Write pieces, or as much of them as the system takes at once; return how much."""
    if hasattr(os, "writev"):
        return os.writev(file, parts)
    return os.write(file, parts[0])
