"""TensorBoard's event files, whoever wrote them: PyTorch, TensorFlow, Keras, JAX, tensorboardX."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...store.local import tail
from ..smdebug.wire import BYTES, FIXED32, FIXED64, VARINT, fields, read_varint, signed
from .series import Histogram, Logged, Point

_MARK = ".tfevents."
#: Of these names, the folders of one training hold what it logs of each mode.
_MODES = {"train": "", "validation": "val/", "eval": "eval/", "TRAIN": "", "EVAL": "eval/"}
_TRAINS = {"train", "TRAIN"}
_HEADER, _FRAME, _LENGTH = 12, 16, struct.Struct("<Q")
#: Where only the last values matter, so many records are read.
_LAST = 8
#: In so many bytes at the end of a file; in all of it where these hold fewer.
_TAIL = 4096


def find(folder: Path, names: frozenset[str]) -> dict[str, Path]:
    if any(_MARK in name and _is_events(folder / name) for name in names):
        return {"": folder}
    modes = names & _MODES.keys()
    if modes & _TRAINS and any(_event_files(folder / mode) for mode in modes):
        return {"": folder}
    return {}


def read(path: Path, name: str, *, brief: bool = False) -> Logged:
    del name
    logged = Logged()
    for file in _event_files(path)[-1 if brief else 0 :]:
        _read_file(file, "", logged, brief=brief)
    for mode, prefix in _MODES.items():
        for file in _event_files(path / mode):
            _read_file(file, prefix, logged, brief=brief)
    times = [point.time_s for points in logged.series.values() for point in points[:1]]
    logged.started_s = min(times, default=0.0)
    return logged


def _is_events(file: Path) -> bool:
    """Return whether a file begins as an event file does: a record with the version of the file."""
    try:
        with file.open("rb") as stream:
            head = stream.read(64)
    except OSError:
        return False
    return (
        len(head) < _HEADER or b"brain.Event:" in head or struct.unpack("<Q", head[:8])[0] < 1 << 20
    )


def _event_files(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if _MARK in one.name and one.is_file())
    except OSError:
        return []


def _read_file(file: Path, prefix: str, logged: Logged, *, brief: bool) -> None:
    """Read the records of a file up to the first that is cut off or damaged."""
    data, ranges = _last_records(file) if brief else (b"", [])
    if not ranges:
        data = file.read_bytes()
        ranges = list(_record_ranges(data))
    for start, end in ranges[-_LAST:] if brief else ranges:
        try:
            _read_event(data, start, end, prefix, logged)
        except (ValueError, struct.error, IndexError):
            return


def _last_records(file: Path) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the end of a file, and where its records are; none where that cannot be told.

    Nothing marks where a record begins but that lengths lead from it to the very end of the file,
    through several others.
    """
    data, begin = tail(file, _TAIL)
    for at in range(len(data) if begin else 0):
        ranges = list(_record_ranges(data, at))
        if len(ranges) >= _LAST and ranges[-1][1] + 4 == len(data):
            return data, ranges
    return b"", []


def _record_ranges(data: bytes, at: int = 0) -> Iterator[tuple[int, int]]:
    end, length_at = len(data), _LENGTH.unpack_from
    while at + _FRAME <= end:
        start = at + _HEADER
        at = start + length_at(data, at)[0] + 4
        if at > end:
            return  # still being written, or cut off
        yield start, at - 4


def _read_event(data: bytes, start: int, end: int, prefix: str, logged: Logged) -> None:
    time_s, step = 0.0, 0
    for number, kind, begin, stop in fields(data, start, end):
        if number == 1 and kind == FIXED64:
            (time_s,) = struct.unpack_from("<d", data, begin)
        elif number == 2 and kind == VARINT:
            step = signed(read_varint(data, begin, stop)[0])
        elif number == 5 and kind == BYTES:
            for field, _, value, value_end in fields(data, begin, stop):
                if field == 1:
                    _read_value(data, value, value_end, (step, time_s, prefix), logged)


def _read_value(
    data: bytes, start: int, end: int, at: tuple[int, float, str], logged: Logged
) -> None:
    tag, value = "", None
    for number, kind, begin, stop in fields(data, start, end):
        if number == 1:
            tag = data[begin:stop].decode("utf-8", "replace")
        elif number == 2 and kind == FIXED32:
            (value,) = struct.unpack_from("<f", data, begin)
        elif number == 5 and kind == BYTES:
            value = _histogram(data, begin, stop)
        elif number == 8 and kind == BYTES:
            value = _tensor(data, begin, stop)
    if tag and value is not None:
        step, time_s, prefix = at
        logged.series[prefix + tag].append(Point(step, value, time_s))


def _histogram(data: bytes, start: int, end: int) -> Histogram | None:
    """Return a ``HistogramProto``: min, max, num, sum, sum_squares, and buckets."""
    found = {
        number: struct.unpack_from("<d", data, begin)[0]
        for number, kind, begin, _ in fields(data, start, end)
        if kind == FIXED64 and number <= 5
    }
    least, most, count, total, squares = (found.get(number, 0.0) for number in range(1, 6))
    return Histogram(count, least, most, total, squares) if count > 0 else None


_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}


def _tensor(data: bytes, start: int, end: int) -> float | Histogram | None:
    """Return a ``TensorProto``: one number, or the buckets of a histogram, left, right, count."""
    dtype, content, sizes = 0, b"", []
    for number, kind, begin, stop in fields(data, start, end):
        if number == 1:
            dtype = read_varint(data, begin, stop)[0]
        elif number == 2:
            sizes = [
                signed(read_varint(data, low, high)[0])
                for size, _, inner, inner_end in fields(data, begin, stop)
                if size == 2
                for one, _, low, high in fields(data, inner, inner_end)
                if one == 1
            ]
        elif number == 4 or (number in (5, 6) and kind in (BYTES, FIXED32, FIXED64)):
            content += data[begin:stop]
    if dtype not in _TYPES or not content or len(content) % np.dtype(_TYPES[dtype]).itemsize:
        return None
    values = np.frombuffer(content, _TYPES[dtype]).astype(np.float64)
    if len(values) == 1 and not sizes:
        return float(values[0])
    if len(sizes) == 2 and sizes[1] == 3 and len(values) == 3 * sizes[0] and len(values):
        left, right, counts = values.reshape(-1, 3).T
        held = counts > 0
        if held.any():
            return Histogram(counts.sum(), left[held].min(), right[held].max())
    return float(values[0]) if len(values) == 1 else None
