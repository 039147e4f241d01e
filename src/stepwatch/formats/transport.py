"""The ring as a way from the training process to its companion, and a mailbox back.

The training process writes frames to the ring and then, in a control page, how far it has written.
The companion reads up to there and notes up to where all is settled: stored, or given up. What is
not settled is never written over. So the training process may die at any byte, and the companion
too: whoever follows begins at what is settled.

Each number of the control page is written by one side, and by one store of 8 bytes.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import numpy.typing as npt

from ..errors import CorruptRun
from ..store import BytesLike
from ..store.local import private_opener
from .blackbox import (
    FRAME_BYTES,
    LAYOUT_FRAME,
    CompleteFrame,
    Ring,
    complete_frames,
    complete_frames_in_ring,
    frame_bytes,
    is_of_kind,
    ring_bytes,
)

_NUMBERS_BYTES = 4096
MAILBOX_BYTES = 256 << 10
_LAST_BYTES = 512 << 10
_POLL_S = 0.001
# The map of another process shows a frame after its end; that much later it must be whole.
_LATE_S = 1.0


class _Number:
    """A number of the control page."""

    def __init__(self, index: int) -> None:
        self._index = index

    def __get__(self, page: ControlPage, kind: type) -> int:
        return page.numbers[self._index]

    def __set__(self, page: ControlPage, value: int) -> None:
        page.numbers[self._index] = value


class ControlPage:
    """Numbers that the training process and its companion share, a mailbox, and a last message.

    Args:
        path: The file.
        create: Whether to make it anew.

    Raises:
        OSError: There is no space, no permission or no such file.
    """

    #: By the training process: how many bytes of frames were written.
    written = _Number(0)
    #: By the training process: not 0 where it waits for room in the ring.
    wants_room = _Number(1)
    #: By the companion: up to where in the ring all is settled.
    settled = _Number(2)
    #: By the companion: the first global step that is not settled.
    next_step = _Number(3)
    #: By the companion: how many of the steps that are settled are stored.
    num_stored = _Number(4)
    #: By the companion: the first global step that was not judged.
    judged = _Number(5)
    #: By the companion: not 0 once it reads.
    is_reading = _Number(6)
    # How many bytes were put into the mailbox, and taken out.
    _posted = _Number(7)
    _collected = _Number(8)
    # By the training process: how long its last message is, not 0 once it is there.
    _last_bytes = _Number(9)

    def __init__(self, path: Path, *, create: bool) -> None:
        size_bytes = _NUMBERS_BYTES + MAILBOX_BYTES + _LAST_BYTES
        if create:
            try:
                with open(path, "wb", opener=private_opener) as new:
                    new.write(bytes(size_bytes))
            except OSError:  # what is there of it would fill the disk for ever
                path.unlink(missing_ok=True)
                raise
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size_bytes)
        self.path = path
        self.numbers = memoryview(self._map)[:_NUMBERS_BYTES].cast("Q")
        self._mail = memoryview(self._map)[_NUMBERS_BYTES:][:MAILBOX_BYTES]
        self._last = memoryview(self._map)[_NUMBERS_BYTES + MAILBOX_BYTES :]

    @property
    def has_mail(self) -> bool:
        return self._posted != self._collected

    def post(self, data: bytes) -> int:
        """Put as much into the mailbox as there is room for; return how many bytes."""
        posted = self._posted
        data = data[: MAILBOX_BYTES - (posted - self._collected)]
        start = posted % MAILBOX_BYTES
        first = data[: MAILBOX_BYTES - start]
        self._mail[start : start + len(first)] = first
        self._mail[: len(data) - len(first)] = data[len(first) :]
        self._posted = posted + len(data)
        return len(data)

    def peek(self) -> bytes:
        """Return what is in the mailbox."""
        start, end = self._collected, self._posted
        first = start % MAILBOX_BYTES
        data = bytes(self._mail[first : first + end - start])
        return data + bytes(self._mail[: end - start - len(data)])

    def collect(self, num_bytes: int) -> None:
        """Take so much out of the mailbox."""
        self._collected += num_bytes

    @property
    def last_message(self) -> bytes:
        """What the training process has sent after all frames; nothing as long as it has not."""
        return bytes(self._last[: self._last_bytes])

    @last_message.setter
    def last_message(self, data: bytes) -> None:
        if len(data) > _LAST_BYTES:
            raise ValueError(f"{len(data)} bytes are more than {_LAST_BYTES}")
        self._last[: len(data)] = data
        self._last_bytes = len(data)


class SharedRing(Ring):
    """A ring of which nothing is written over that the companion has not settled.

    Args:
        path: The file; see ``Ring``.
        size_bytes: How large it is.
        page: The numbers that are shared.
        patience: Seconds that writers wait in total once it is full. After that what does not fit
            is refused at once, until half of it is settled.
    """

    def __init__(
        self, path: Path, size_bytes: int, page: ControlPage, *, patience: float = 1.0
    ) -> None:
        super().__init__(path, size_bytes)
        self.page = page
        self.patience = patience
        #: Whether somebody reads.
        self.is_followed = True
        self._give_up_at: float | None = None
        self._pid = os.getpid()

    def write(self, parts: Sequence[BytesLike]) -> bool:
        """Append a frame, over what is settled; return whether there was room for it."""
        if os.getpid() != self._pid:  # a forked child has the map, too
            return False
        size_bytes = FRAME_BYTES + sum(map(len, parts))
        if self.is_followed and not self._has_room(size_bytes) and not self._wait(size_bytes):
            return False
        is_written = super().write(parts)
        self.page.written = self.written
        return is_written

    def _has_room(self, size_bytes: int) -> bool:
        held = self.written - self.page.settled
        if self._give_up_at is not None and 2 * held <= self.capacity:
            self._give_up_at = None
        return held + size_bytes <= self.capacity

    def _wait(self, size_bytes: int) -> bool:
        if size_bytes > self.capacity:
            return False
        give_up_at = self._give_up_at = self._give_up_at or monotonic() + self.patience
        self.page.wants_room = 1
        while self.is_followed and not self._has_room(size_bytes):
            if monotonic() >= give_up_at:
                return False
            sleep(_POLL_S)
        return True


class RingFollower:
    """Reads the frames of a ring in the order in which they are written.

    Args:
        path: The ring.
        page: Says how far it is written.
        start: How many bytes of frames were written before the first that is read.

    Raises:
        OSError: There is no such file.
    """

    def __init__(self, path: Path, page: ControlPage, start: int = 0) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = ring_bytes(np.frombuffer(self._map, np.uint8))
        self._page = page
        #: How many bytes of frames were read, or written before the first that is.
        self.position = start

    @property
    def capacity(self) -> int:
        return len(self._bytes)

    def layouts(self) -> Iterator[CompleteFrame]:
        """Yield the ``layout`` frames that are there, in no order."""
        for whole in complete_frames_in_ring(bytes(self._map)):
            if is_of_kind(whole.payload, LAYOUT_FRAME):
                yield whole

    def read(self, *kinds: str) -> CompleteFrame | None:
        """Return the next frame of one of some kinds; ``None`` if there is none yet.

        Raises:
            CorruptRun: A frame is damaged.
        """
        end = self._page.written
        while self.position < end:
            data = self._frame(end)
            self.position += len(data)
            payload = data[FRAME_BYTES:].data
            if any(is_of_kind(payload, kind) for kind in kinds):
                return self._checked(data)
        return None

    def content(self) -> memoryview:
        """Return a copy of all that the ring holds, the oldest first."""
        written = self._page.written
        if written <= len(self._bytes):
            return self._bytes[:written].copy().data
        return self._at(written % len(self._bytes), len(self._bytes)).copy().data

    def _frame(self, end: int) -> npt.NDArray[np.uint8]:
        head = self._at(self.position % len(self._bytes), FRAME_BYTES)
        size_bytes = frame_bytes(head)
        if size_bytes > end - self.position:
            raise CorruptRun("the ring", self.position, f"a frame of {size_bytes} bytes")
        return self._at(self.position % len(self._bytes), size_bytes)

    def _checked(self, data: npt.NDArray[np.uint8]) -> CompleteFrame:
        give_up_at = monotonic() + _LATE_S
        while True:
            whole = next(complete_frames(data.tobytes()), None)
            if whole is not None and whole.start == 0:
                return whole
            if monotonic() >= give_up_at:
                raise CorruptRun("the ring", self.position - len(data), "a frame is damaged")
            sleep(_POLL_S)

    def _at(self, start: int, size_bytes: int) -> npt.NDArray[np.uint8]:
        """Return bytes of the ring, which may go on at its beginning."""
        piece = self._bytes[start : start + size_bytes]
        if len(piece) == size_bytes:
            return piece
        return np.concatenate([piece, self._bytes[: size_bytes - len(piece)]])
