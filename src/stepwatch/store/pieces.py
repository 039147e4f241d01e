"""A large value as the pieces that it is put in, of which few need be in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import IO, overload

from . import Store

#: Larger values go in pieces of this size, of which some travel at the same time. What is held
#: in memory beyond the value is so much for each of them.
PIECE_BYTES = 8 << 20


class Pieces(Sequence[bytes]):
    """What follows each other makes a value.

    Args:
        size: Of the value.
        read: Returns so many bytes of it from a place on, fewer at its end.

    Example:
        >>> len(Pieces(0, lambda start, length: b"")), len(Pieces(PIECE_BYTES + 1, lambda *_: b""))
        (1, 2)
    """

    def __init__(self, size: int, read: Callable[[int, int], bytes]) -> None:
        self._size, self._read = size, read

    def __len__(self) -> int:
        return max(1, -(-self._size // PIECE_BYTES))

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._read(index * PIECE_BYTES, PIECE_BYTES)


def pieces_of_value(store: Store, key: str, size: int) -> Pieces:
    """Return the pieces of what lies in a store."""
    return Pieces(size, lambda start, length: store.get(key, start, length))


def pieces_of_file(file: IO[bytes]) -> Pieces:
    """Return the pieces of an open file; where it stands does not matter."""

    def read(start: int, length: int) -> bytes:
        file.seek(start)
        return file.read(length)

    return Pieces(file.seek(0, os.SEEK_END), read)
