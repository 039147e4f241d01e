"""Reads the values of an event file."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy.typing as npt

from stepwatch.formats.smdebug.wire import FRAME_BYTES, HEADER_BYTES, Event, payload_range
from stepwatch.formats.smdebug.wire import read_event as read_payload
from stepwatch.store import open_store

from ..modes import ModeKeys, from_mode

Tensor = tuple[str, int, npt.NDArray[Any], ModeKeys, int]


def read_records(data: bytes, name: str, check: str | bool = "minimal") -> Iterator[Event]:
    """Yield the values of a file, in order.

    Args:
        data: The file, or a part of it that begins and ends with records.
        name: Of the file, for errors.
        check: ``minimal`` tests what smdebug ends a record with, ``full`` the checksum of the
            record, which only files for TensorBoard have; anything else tests neither.

    Raises:
        CorruptRun: It is no such file, or damaged.
    """
    at = 0
    while at < len(data):
        if check in ("minimal", "full", True):
            start, end = payload_range(name, data, at, smdebug=check != "full")
        else:
            (length,) = struct.unpack_from("<Q", data.ljust(at + 8, b"\0"), at)
            start = at + HEADER_BYTES
            end = min(start + length, len(data))
        yield read_payload(name, data, start, end)
        at = end + FRAME_BYTES - HEADER_BYTES


def as_tensor(event: Event) -> Tensor:
    """Return name, global step, value, mode and step as the mode counts it."""
    mode = ModeKeys.GLOBAL if event.mode is None else from_mode(event.mode)
    mode_step = event.step if event.mode_step is None else event.mode_step
    return event.tag, event.step, event.value, mode, mode_step


class EventFileReader:
    """Reads the values of an event file.

    Args:
        fname: Its path or URL.
    """

    def __init__(self, fname: str | os.PathLike[str]) -> None:
        self._folder, self._name = os.path.split(os.fspath(fname))

    def __enter__(self) -> EventFileReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def read_values(self, check: str | bool = "minimal") -> Iterator[Event]:
        """Yield the values with their times; see ``read_records``."""
        data = open_store(self._folder or ".").get(self._name)
        return read_records(data, self._name, check)

    def read_tensors(self, check: str | bool = "minimal") -> Iterator[Tensor]:
        """Yield name, global step, value, mode and step as the mode counts it, of each value."""
        return map(as_tensor, self.read_values(check))
