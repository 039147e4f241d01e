"""One record of an event file: a tensor of one step.

The format has no checksum over a payload, so everything in it that can be compared with anything
else is: lengths with shapes, names with sizes, and by the reader the tag and the step with the
index.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun
from ...steps import Mode
from .tensor import read_tensor
from .wire import BYTES, FIXED64, VARINT, fields, read_varint

#: What smdebug calls the modes in event files.
MODE_NUMBERS = {Mode.TRAIN: 1, Mode.EVAL: 2, Mode.PREDICT: 3, Mode.GLOBAL: 4}
_MODES = {str(number): mode for mode, number in MODE_NUMBERS.items()}
# The fields of the messages.
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _TENSOR, _METADATA = 1, 8, 9
_PLUGIN = 1
_PLUGIN_NAME, _PLUGIN_CONTENT = 1, 2


@dataclass(frozen=True, slots=True)
class Event:
    """A tensor of one step.

    Args:
        tag: Its name.
        wall_time: When it was saved, seconds since the Unix epoch.
        step: The global step.
        mode: The mode at the time of writing; ``None`` if it does not say. What the index says
            counts more: scalars that wait for the end of a step are stamped with what comes next.
        mode_step: The step within ``mode``; ``None`` if it does not say.
        value: Its value, in its own shape and dtype.
        content: First byte of the value, and the byte behind its last, where they lie in one
            piece.
    """

    tag: str
    wall_time: float
    step: int
    mode: Mode | None
    mode_step: int | None
    value: npt.NDArray[np.generic]
    content: tuple[int, int] | None


def read_event(key: str, data: bytes, start: int, end: int, base: int = 0) -> Event:
    """Return the event of a payload.

    Args:
        key: Where it lies, for the error.
        data: Bytes that hold it.
        start: Its first byte within them.
        end: The byte behind its last.
        base: The offset of ``data`` within the value of ``key``, for the error.

    Raises:
        CorruptRun: It is no event that holds one tensor.
    """
    try:
        return _read(data, start, end)
    except ValueError as error:
        raise CorruptRun(key, base + start, f"not a tensor ({error})") from None


def _read(data: bytes, start: int, end: int) -> Event:
    wall_time, step, value = 0.0, 0, None
    for number, kind, at, stop in fields(data, start, end):
        if number == _WALL_TIME:
            _check(kind, FIXED64, "wall_time")
            (wall_time,) = struct.unpack_from("<d", data, at)
        elif number == _STEP:
            _check(kind, VARINT, "step")
            step = signed(read_varint(data, at, stop)[0])
        elif number == _SUMMARY:
            _check(kind, BYTES, "summary")
            value = _only_value(data, at, stop, value)
    if value is None:
        raise ValueError("it has no value")
    if not math.isfinite(wall_time):
        raise ValueError(f"its time is {wall_time}")
    return _read_value(data, *value, wall_time, step)


def _only_value(
    data: bytes, start: int, end: int, found: tuple[int, int] | None
) -> tuple[int, int] | None:
    for number, kind, at, stop in fields(data, start, end):
        if number == _VALUE:
            _check(kind, BYTES, "value")
            if found is not None:
                raise ValueError("it has several values")
            found = at, stop
    return found


def _read_value(data: bytes, start: int, end: int, wall_time: float, step: int) -> Event:
    parts: dict[int, tuple[int, int]] = {}
    plugins: dict[str, str] = {}
    for number, kind, at, stop in fields(data, start, end):
        if number in (_TAG, _TENSOR, _METADATA):
            _check(kind, BYTES, f"field {number}")
            parts[number] = at, stop
            if number == _METADATA:
                plugins |= _plugins(data, at, stop)
    if _TENSOR not in parts:
        raise ValueError("it has no tensor")
    tag_at, tag_end = parts.get(_TAG, (0, 0))
    tag = data[tag_at:tag_end].decode()
    value, content = read_tensor(data, *parts[_TENSOR])
    mode_step = plugins.get("mode_step")
    return Event(
        tag,
        wall_time,
        step,
        _mode(plugins.get("mode")),
        None if mode_step is None else int(mode_step),
        value,
        content,
    )


def _plugins(data: bytes, start: int, end: int) -> dict[str, str]:
    found = {}
    for number, kind, at, stop in fields(data, start, end):
        if number == _PLUGIN:
            _check(kind, BYTES, "plugin_data")
            texts = {
                which: data[first:last].decode()
                for which, _, first, last in fields(data, at, stop)
                if which in (_PLUGIN_NAME, _PLUGIN_CONTENT)
            }
            found[texts.get(_PLUGIN_NAME, "")] = texts.get(_PLUGIN_CONTENT, "")
    return found


def _mode(number: str | None) -> Mode | None:
    if number is not None and number not in _MODES:
        raise ValueError(f"its mode is {number!r}")
    return None if number is None else _MODES[number]


def _check(kind: int, wanted: int, what: str) -> None:
    if kind != wanted:
        raise ValueError(f"{what} is of wire type {kind}")


def signed(number: int) -> int:
    """Return the number that 64 bits mean in two's complement."""
    return number - (1 << 64) if number >> 63 else number
