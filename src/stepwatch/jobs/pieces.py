"""A file as the pieces of a value, of which few need be in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, overload

PIECE_BYTES = 8 << 20


class FilePieces(Sequence[bytes]):
    """What is in an open file, piece by piece.

    Args:
        file: Open for reading; where it stands does not matter.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = file.seek(0, os.SEEK_END)

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
        self._file.seek(index * PIECE_BYTES)
        return self._file.read(PIECE_BYTES)
