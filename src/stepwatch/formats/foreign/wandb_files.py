"""Runs of Weights & Biases that lie on disk: ``run-ID.wandb``, written offline and online.

Such a file is a log as LevelDB has it: blocks of 32 KiB with records that may be parted, each a
protocol buffer.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

from ...store.local import tail
from ..smdebug.wire import BYTES, FIXED64, VARINT, fields, read_varint, signed
from .series import Logged

_SUFFIX, _HEAD = ".wandb", b":W&B"
_BLOCK, _HEADER = 32768, 7
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
#: Where only the last values matter, so many records are read.
_LATEST = 32
# The fields of the messages.
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18


def find(folder: Path, names: frozenset[str]) -> dict[str, Path]:
    for name in sorted(names):
        if name.endswith(_SUFFIX) and _begins(folder / name):
            return {"": folder / name}
    return {}


def read(path: Path, name: str, *, brief: bool = False) -> Logged:
    del name
    logged = Logged()
    payloads = list(_latest(path) if brief else _payloads(path.read_bytes(), _HEADER))
    for payload in payloads:
        try:
            for number, kind, start, end in fields(payload, 0, len(payload)):
                if kind == BYTES:
                    _read_record(payload, number, start, end, logged)
        except (ValueError, struct.error):
            continue
    return logged


def _begins(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(4) == _HEAD
    except OSError:
        return False


def _latest(path: Path) -> list[bytes]:
    """Return the last records of a log: a block begins with a record, or with a part of one."""
    data, begin = tail(path, 2 * _BLOCK)
    skipped = -begin % _BLOCK if begin else _HEADER
    return list(_payloads(data[skipped:] if begin else data, 0 if begin else _HEADER))[-_LATEST:]


def _payloads(data: bytes, at: int) -> Iterator[bytes]:
    """Yield the records of a log from a place on, up to what is cut off."""
    parts = list[bytes]()
    is_whole = False
    while at + _HEADER <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:  # the rest of the block is nothing
            at += left
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        start = at + _HEADER
        if start + length > len(data) or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            return
        at = start + length
        if kind in (_FULL, _FIRST):
            parts, is_whole = [], True
        parts.append(data[start:at])
        if kind in (_FULL, _LAST):
            if is_whole:
                yield b"".join(parts)
            parts = []


def _read_record(data: bytes, number: int, start: int, end: int, logged: Logged) -> None:
    if number == _HISTORY:
        _read_history(data, start, end, logged)
    elif number == _RUN:
        for field, _, begin, stop in fields(data, start, end):
            if field == 17:  # a timestamp: seconds and nanoseconds
                seconds = [
                    read_varint(data, low, high)[0]
                    for one, kind, low, high in fields(data, begin, stop)
                    if one == 1 and kind == VARINT
                ]
                logged.started_s = float(seconds[0]) if seconds else 0.0
            elif field == 4:
                _read_config(data, begin, stop, logged)
    elif number == _CONFIG:
        _read_config(data, start, end, logged)
    elif number == _EXIT:
        codes = [
            signed(read_varint(data, begin, stop)[0])
            for field, kind, begin, stop in fields(data, start, end)
            if field == 1 and kind == VARINT
        ]
        code = codes[0] if codes else 0
        logged.state = "failed" if code else "finished"
        logged.error = f"exit status {code}" if code else ""


def _read_config(data: bytes, start: int, end: int, logged: Logged) -> None:
    for field, _, begin, stop in fields(data, start, end):
        if field == 1:
            key, value = _item(data, begin, stop)
            if key and not key.startswith("_"):
                logged.settings = {**logged.settings, key: value}


def _read_history(data: bytes, start: int, end: int, logged: Logged) -> None:
    values: dict[str, object] = {}
    step: object = None
    for field, kind, begin, stop in fields(data, start, end):
        if field == 1 and kind == BYTES:
            key, value = _item(data, begin, stop)
            values[key] = value
        elif field == 2 and kind == BYTES:
            numbers = [
                signed(read_varint(data, low, high)[0])
                for one, _, low, high in fields(data, begin, stop)
                if one == 1
            ]
            step = numbers[0] if numbers else 0
    step = values.get("_step", step)
    when = values.get("_timestamp", 0.0)
    if isinstance(step, (int, float)):
        time_s = float(when) if isinstance(when, (int, float)) else 0.0
        for key, value in values.items():
            if key and not key.startswith("_") and not isinstance(value, bool):
                logged.add(key, int(step), value, time_s)


def _item(data: bytes, start: int, end: int) -> tuple[str, object]:
    """Return name and value of an item; what is nested has a name with points."""
    key, nested = "", list[str]()
    value: object = None
    for field, kind, begin, stop in fields(data, start, end):
        if field == 1:
            key = data[begin:stop].decode("utf-8", "replace")
        elif field == 2:
            nested.append(data[begin:stop].decode("utf-8", "replace"))
        elif field == 5 and kind == VARINT:
            value = signed(read_varint(data, begin, stop)[0])
        elif field == 6 and kind == FIXED64:
            (value,) = struct.unpack_from("<d", data, begin)
        elif field == 16:
            value = _json(data[begin:stop])
    return ".".join(nested) or key, value


def _json(data: bytes) -> object:
    try:
        found: object = json.loads(data)  # it may be NaN and Infinity, which are numbers here
    except (ValueError, RecursionError):
        return None
    return float(str(found)) if found in ("NaN", "Infinity", "-Infinity") else found
