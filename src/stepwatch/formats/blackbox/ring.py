"""A ring of frames in a memory-mapped file.

What was copied into the map belongs to the kernel: it outlives the process, however that dies.

A frame carries its length, its sequence number and a checksum over all of it, so nothing else has
to be right for it to be read: a reader looks for what is whole, wherever it lies, and puts it in
order. A writer that is killed at any byte therefore loses the frame that it was writing, and of
the oldest those that it was writing over.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...elements import kernel
from ...store import BytesLike
from ..crc32c import crc32c_of_array

MAGIC = b"STEPWBB1"
_HEADER = struct.Struct("<8sQ")  # magic; how many bytes follow this header
# Marker, bytes of payload, sequence number, checksum of these two numbers and of the payload.
_FRAME = struct.Struct("<8sQQI")
_NUMBERS = struct.Struct("<QQ")
_MARKER = b"\xf5frame"
# What follows says how it is checked: by CRC-32C, for which processors have an instruction, or by
# CRC-32, which is fast without our kernel.
_CRC32C, _CRC32 = b"C\n", b"\r\n"
_CHECKSUMS: dict[bytes, Callable[..., int]] = {_CRC32C: crc32c_of_array, _CRC32: zlib.crc32}
_KIND = _CRC32 if kernel is None else _CRC32C
FRAME_BYTES = _FRAME.size


class Ring:
    """A ring file, made anew, that is written to by one process and one thread.

    The space is taken at once: a disk that is full says so here, as an error, and never by a
    signal in the middle of a training.

    Args:
        path: The file; its folder is made if there is none.
        size_bytes: How large the file is, at least 4096.

    Raises:
        OSError: There is no space, no permission, no such place.
    """

    def __init__(self, path: Path, size_bytes: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666
        )
        try:
            _take_space(file, max(size_bytes, mmap.PAGESIZE))
            self._map = mmap.mmap(file, max(size_bytes, mmap.PAGESIZE))
        except BaseException:
            path.unlink()
            raise
        finally:
            os.close(file)
        self.path = path
        # A view: numpy lets other threads run while it copies into it.
        self._bytes = np.frombuffer(self._map, np.uint8)[_HEADER.size :]
        self.capacity = len(self._bytes)
        #: How many bytes of frames were written, those that are gone included.
        self.written = 0
        self._sequence = 0
        self._map[: _HEADER.size] = _HEADER.pack(MAGIC, self.capacity)

    def write(self, parts: Sequence[BytesLike]) -> bool:
        """Append a frame, over the oldest ones.

        Args:
            parts: Its payload, in pieces.

        Returns:
            Whether it was: one that is larger than the ring is not.
        """
        pieces = [np.frombuffer(part, np.uint8) for part in parts if len(part)]
        length = sum(piece.nbytes for piece in pieces)
        if FRAME_BYTES + length > self.capacity:
            return False
        checksum = _CHECKSUMS[_KIND]
        crc = checksum(_numbers(length, self._sequence))
        for piece in pieces:
            crc = checksum(piece, crc)
        head = _FRAME.pack(_MARKER + _KIND, length, self._sequence, crc)
        place = self.written
        for piece in (np.frombuffer(head, np.uint8), *pieces):
            self._copy(piece, place % self.capacity)
            place += piece.nbytes
        self.written = place
        self._sequence += 1
        return True

    def room_after(self, place: int) -> int:
        """Return how many more bytes can be written before those at ``place`` are written over.

        Args:
            place: What ``written`` was when they were.
        """
        return self.capacity - (self.written - place)

    def content(self) -> memoryview:
        """Return a copy of all that is held, the oldest first."""
        start = self.written % self.capacity
        if self.written <= self.capacity:
            return self._bytes[: self.written].copy().data
        return np.concatenate([self._bytes[start:], self._bytes[:start]]).data

    def _copy(self, piece: npt.NDArray[np.uint8], start: int) -> None:
        first = min(piece.nbytes, self.capacity - start)
        self._bytes[start : start + first] = piece[:first]
        self._bytes[: piece.nbytes - first] = piece[first:]


def _take_space(file: int, size_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size_bytes)
        return
    zeros = bytes(1 << 20)
    while size_bytes > 0:
        size_bytes -= os.write(file, zeros[:size_bytes])


class Whole(NamedTuple):
    """A frame that is whole: where it lies, its sequence number and its payload."""

    start: int
    end: int
    sequence: int
    payload: memoryview


def whole_in_ring(data: bytes) -> list[Whole]:
    """Return every whole frame of a ring file, or of what is left of one, in no order.

    Args:
        data: The file; it may have been written to while it was read.
    """
    found = list(whole_in(data, _HEADER.size))
    first, last = (found[0].start, found[-1].end) if found else (len(data), _HEADER.size)
    # One may go on at the beginning: it lies after the last of the others and before the first.
    return found + list(whole_in(data[last:] + data[_HEADER.size : first]))


def whole_in(data: bytes, start: int = 0) -> Iterator[Whole]:
    """Yield every whole frame from ``start`` on, as they lie."""
    everything = np.frombuffer(data, np.uint8)
    start = data.find(_MARKER, start)
    while 0 <= start <= len(data) - FRAME_BYTES:
        marker, length, sequence, crc = _FRAME.unpack_from(data, start)
        end = start + FRAME_BYTES + length
        payload = everything[start + FRAME_BYTES : end]
        checksum = _CHECKSUMS.get(marker[len(_MARKER) :])
        is_whole = (
            checksum is not None
            and len(payload) == length
            and checksum(payload, checksum(_numbers(length, sequence))) == crc
        )
        if is_whole:
            yield Whole(start, end, sequence, payload.data)
        start = data.find(_MARKER, end if is_whole else start + 1)


def _numbers(length: int, sequence: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(_NUMBERS.pack(length, sequence), np.uint8)
