"""Values from event files: small files are read whole and kept, large ones in parts.

From step to step the record of a tensor differs in little: the time, the step, the value, the
step within the mode. Everything else is compared with the record of that name that was read and
tested last, byte by byte; only what differs is read as a message again.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun
from ...store import Store
from .index import SavedStep
from .reductions import REDUCTION_PREFIX
from .wire import (
    HEADER_BYTES,
    MODE_NUMBERS,
    SMDEBUG_FOOTER,
    Event,
    bytes_field,
    header,
    payload_range,
    read_event,
    varint_field,
)

Array = npt.NDArray[np.generic]

#: Files up to this size are read whole for any of their values.
SMALL_BYTES = 64 * 1024
#: Files up to this size are read whole where all of their values are wanted.
MEDIUM_BYTES = 8 * 1024 * 1024
#: Before so much is read, the size of the file is checked.
LARGE_BYTES = 64 * 1024 * 1024
_MOST_KNOWN = 65_536
# What stands before the step: the header, and the time with its key.
_TIME_KEY = b"\x09"
_TIME_AT = HEADER_BYTES + len(_TIME_KEY)
_STEP_AT = _TIME_AT + 8


@dataclass(frozen=True, slots=True)
class _File:
    """An event file that is kept, and what its records have in common."""

    data: bytes
    step: bytes  # as a field
    tail: bytes  # follows the value in a record if its mode is that of the index


@dataclass(frozen=True, slots=True)
class _Known:
    """A record that was tested: what the next of the same tensor must have in common with it."""

    length: int
    step_bytes: int
    tail_bytes: int
    head: bytes
    middle: bytes
    content_bytes: int
    dtype: np.dtype[np.generic]
    count: int
    shape: tuple[int, ...]


class EventFiles:
    """The values of a run, of which ``most_bytes`` are kept in memory."""

    def __init__(self, store: Store, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._kept: dict[str, _File] = {}
        self._kept_bytes = 0
        self._known: dict[str, _Known] = {}
        self._size = lru_cache(maxsize=1024)(store.size)

    def keep(self, saved: SavedStep) -> None:
        """Read the file of a step whole, unless it is large: all of it is about to be read.

        Raises:
            FileNotFoundError: There is no such file.
        """
        key = saved.event_key
        if key and key not in self._kept and saved.contents.size_bytes <= MEDIUM_BYTES:
            self._keep(key, saved)

    def forget(self, saved: SavedStep) -> None:
        """Let go of the file of a step: it is another one by now."""
        file = self._kept.pop(saved.event_key or "", None)
        self._kept_bytes -= len(file.data) if file else 0

    def value(self, saved: SavedStep, name: str) -> Array:
        """Return a value, or a stored reduction by its full name, in its own shape and dtype.

        Raises:
            KeyError: The step has none of this name.
            FileNotFoundError: Its event file is not there.
            CorruptRun: It is not what the index says.
        """
        start, length = saved.contents.byte_ranges[name]
        file, at, base = self._kept.get(saved.event_key or ""), start, 0
        if file is None:
            file, at, base = self._open(saved, start, length)
        known = self._known.get(name)
        if known is not None and known.length == length:
            content = _content_of(file, at, known)
            if content >= 0:
                values = np.frombuffer(file.data, known.dtype, known.count, content)
                # A copy: it must not keep the whole file, and users may write to it.
                return values.reshape(known.shape).copy()
        event = self._event(saved, name, file.data, at, length, base)
        self._learn(name, event, file, at, length)
        return event.value

    def event(self, saved: SavedStep, name: str) -> Event:
        """Return the whole record of a value; raises as ``value`` does."""
        start, length = saved.contents.byte_ranges[name]
        file, at, base = self._open(saved, start, length)
        return self._event(saved, name, file.data, at, length, base)

    def time_ns(self, saved: SavedStep) -> int:
        """Return when the first value of a step was saved, nanoseconds since the Unix epoch.

        0 where only shapes were saved: nothing tells. Raises as ``value`` does.
        """
        name = next(iter(saved.contents.byte_ranges), None)
        if name is None:
            return 0
        start, length = saved.contents.byte_ranges[name]
        file, at, base = self._open(saved, start, length)
        payload_range(str(saved.event_key), file.data, at, base)
        if file.data.startswith(_TIME_KEY, at + HEADER_BYTES):
            time_s: float = struct.unpack_from("<d", file.data, at + _TIME_AT)[0]
        else:
            time_s = self._event(saved, name, file.data, at, length, base).wall_time
        if not math.isfinite(time_s):
            raise CorruptRun(str(saved.event_key), base + at, f"its time is {time_s}")
        # A double holds less than a microsecond of today.
        return min(max(round(time_s * 1e6), 0) * 1000, 2**63 - 1)

    def has_vector_norms(self, saved: SavedStep) -> bool | None:
        """Return whether the reductions of a step are a framework's, not NumPy's.

        Those of NumPy have one dimension, and its norm of a matrix is that of the linear map.
        ``None`` if that is unknown, as of a step whose event file is not there.
        """
        name = next(
            (name for name in saved.contents.byte_ranges if name.startswith(REDUCTION_PREFIX)), None
        )
        try:
            return None if name is None else self.value(saved, name).ndim == 0
        except (FileNotFoundError, CorruptRun):
            return None

    def _open(self, saved: SavedStep, start: int, length: int) -> tuple[_File, int, int]:
        """Return bytes that hold a record, where in them it begins, and where they begin."""
        if saved.event_key is None:
            raise FileNotFoundError(f"step {saved.step} has no event file")
        key = saved.event_key
        file = self._kept.get(key)
        if file is None and saved.contents.size_bytes <= SMALL_BYTES:
            file = self._keep(key, saved)
        if file is not None:
            return file, start, 0
        if start + length > LARGE_BYTES and start + length > self._size(key):
            raise CorruptRun(
                key, self._size(key), f"it ends; its index goes on to {start + length}"
            )
        return _file(saved, self._store.get(key, start, length)), 0, start

    def _keep(self, key: str, saved: SavedStep) -> _File:
        # No more than the index speaks of, however long the file may be.
        file = _file(saved, self._store.get(key, 0, saved.contents.size_bytes))
        while self._kept and self._kept_bytes + len(file.data) > self._most_bytes:
            self._kept_bytes -= len(self._kept.pop(next(iter(self._kept))).data)
        self._kept[key] = file
        self._kept_bytes += len(file.data)
        return file

    def _event(
        self, saved: SavedStep, name: str, data: bytes, at: int, length: int, base: int
    ) -> Event:
        key = str(saved.event_key)
        start, end = payload_range(key, data, at, base)
        if end + len(SMDEBUG_FOOTER) - at != length:
            found = end + len(SMDEBUG_FOOTER) - at
            raise CorruptRun(key, base + at, f"a record of {found} bytes; its index says {length}")
        event = read_event(key, data, start, end, base)
        if event.tag != name:
            raise CorruptRun(key, base + start, f"a record of {event.tag!r}, not of {name!r}")
        if event.step != saved.step:
            raise CorruptRun(key, base + start, f"a record of step {event.step}, not {saved.step}")
        return event

    def _learn(self, name: str, event: Event, file: _File, at: int, length: int) -> None:
        """Remember a record that has the usual form."""
        if event.content is None or event.value.dtype == np.bool_:
            return  # truth values are tested each time
        start, end = event.content
        step_end = at + _STEP_AT + len(file.step)
        known = _Known(
            length,
            len(file.step),
            len(file.tail),
            header(length - HEADER_BYTES - len(SMDEBUG_FOOTER)) + _TIME_KEY,
            file.data[step_end:start],
            end - start,
            event.value.dtype,
            event.value.size,
            event.value.shape,
        )
        if end + len(file.tail) == at + length and _content_of(file, at, known) == start:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = known


def _content_of(file: _File, at: int, known: _Known) -> int:
    """Return where the value of a record begins; -1 where it differs from the known one."""
    if known.step_bytes != len(file.step) or known.tail_bytes != len(file.tail):
        return -1
    data, middle = file.data, at + _STEP_AT + known.step_bytes
    content = middle + len(known.middle)
    same = (
        data.startswith(known.head, at)
        and data.startswith(file.step, at + _STEP_AT)
        and data.startswith(known.middle, middle)
        and data.startswith(file.tail, content + known.content_bytes)
    )
    # The most significant bits of a time that is nan or infinite are all set.
    return content if same and data[at + _STEP_AT - 1] & 0x7F != 0x7F else -1


def _file(saved: SavedStep, data: bytes) -> _File:
    plugins = (
        ("mode_step", str(saved.mode_step)),
        ("mode", str(MODE_NUMBERS[saved.mode])),
    )
    metadata = b"".join(
        bytes_field(1, bytes_field(1, name.encode()) + bytes_field(2, text.encode()))
        for name, text in plugins
    )
    return _File(data, varint_field(2, saved.step), bytes_field(9, metadata) + SMDEBUG_FOOTER)
