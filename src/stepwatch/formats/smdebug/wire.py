"""Protocol buffers and TFRecord framing, as far as event files need them.

A framed record is ``length (8 bytes) | checksum of the length (4) | payload | footer (4)``, all
little endian. Files for TensorBoard end a record with the checksum of its payload. smdebug ends
every record with one constant instead, so nothing tells whether its payload is still what was
written.

Each record is an event with one tensor (``TensorProto``) of one step; dtypes have TensorFlow's
numbers. As there is no checksum over a payload, everything in it that can be compared with anything
else is: lengths with shapes, names with sizes, and by the reader the tag and the step with the
index.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun
from ...model.steps import Mode
from ...numerics.digest import crc32c

HEADER_BYTES = 12
FRAME_BYTES = HEADER_BYTES + 4
#: What smdebug ends every record with: the checksum of the characters ``0x12345678``.
SMDEBUG_FOOTER = bytes.fromhex("b3c02d06")
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def masked_crc(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC-32C (Castagnoli) of some bytes, masked as TFRecord files have it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@lru_cache(maxsize=65_536)
def header(length: int) -> bytes:
    """Return what stands before a payload of so many bytes."""
    data = struct.pack("<Q", length)
    return data + struct.pack("<I", masked_crc(data))


def frame(payload: bytes) -> bytes:
    """Return a record with the checksum of its payload."""
    return b"".join((header(len(payload)), payload, struct.pack("<I", masked_crc(payload))))


def smdebug_frame(payload: bytes) -> bytes:
    """Return a record as smdebug frames it."""
    return b"".join((header(len(payload)), payload, SMDEBUG_FOOTER))


def varint(value: int) -> bytes:
    """Return a whole number, not negative, in seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """Return a field that holds a number; nothing for 0, which is the default."""
    return varint(number << 3 | VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """Return a field that holds bytes, text or a message."""
    return b"".join((varint(number << 3 | BYTES), varint(len(value)), value))


def double_field(number: int, value: float) -> bytes:
    """Return a field that holds a double."""
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def float_field(number: int, value: float) -> bytes:
    """Return a field that holds a float."""
    return varint(number << 3 | FIXED32) + struct.pack("<f", value)


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and the offset behind it.

    Raises:
        ValueError: It goes on beyond ``end``, or is longer than ten bytes.
    """
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise ValueError(f"a number that does not end by byte {end}")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the fields of a message: number, wire type, start and end of the value.

    For a varint start and end are those of its bytes.

    Args:
        data: The bytes that hold it.
        at: Its first byte.
        end: The byte behind its last.

    Raises:
        ValueError: It is no message.
    """
    while at < end:
        key, at = read_varint(data, at, end)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            start = at
            _, at = read_varint(data, at, end)
        elif kind == BYTES:
            length, start = read_varint(data, at, end)
            at = start + length
        elif kind in (FIXED64, FIXED32):
            start, at = at, at + (8 if kind == FIXED64 else 4)
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        if number == 0 or at > end:
            raise ValueError(f"field {number} ends at byte {at} of {end}")
        yield number, kind, start, at


def payload_range(
    key: str, data: bytes, at: int, base: int = 0, *, smdebug: bool = True
) -> tuple[int, int]:
    """Return the start and the end of the payload of a record, after a check of its frame.

    Args:
        key: Where it lies, for the error.
        data: Bytes that hold the whole record.
        at: Its first byte within them.
        base: The offset of ``data`` within the value of ``key``, for the error.
        smdebug: Whether smdebug framed it; else the checksum of the payload is tested.

    Raises:
        CorruptRun: It is no record, or not a whole one.
    """
    start = at + HEADER_BYTES
    if start > len(data):
        raise CorruptRun(key, base + at, "the record is cut off")
    (length,) = struct.unpack_from("<Q", data, at)
    if data[at:start] != header(length):
        raise CorruptRun(key, base + at, "the length of the record is damaged")
    end = start + length
    if end + 4 > len(data):
        raise CorruptRun(key, base + at, "the record is cut off")
    footer = SMDEBUG_FOOTER if smdebug else struct.pack("<I", masked_crc(data[start:end]))
    if data[end : end + 4] != footer:
        raise CorruptRun(key, base + end, "the end of the record is damaged")
    return start, end


#: What the numbers of TensorFlow's ``DataType`` are in numpy. Quantised ones are what they are
#: stored as.
DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.int8),
    8: np.dtype(np.complex64),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    11: np.dtype(np.int8),
    12: np.dtype(np.uint8),
    13: np.dtype(np.int32),
    14: np.dtype(ml_dtypes.bfloat16),
    15: np.dtype(np.int16),
    16: np.dtype(np.uint16),
    17: np.dtype(np.uint16),
    18: np.dtype(np.complex128),
    19: np.dtype(np.float16),
    22: np.dtype(np.uint32),
    23: np.dtype(np.uint64),
    24: np.dtype(ml_dtypes.float8_e5m2),
    25: np.dtype(ml_dtypes.float8_e4m3fn),
}
#: smdebug leaves the dtype of text unset.
UNSET_DTYPE, TEXT_DTYPE = 0, 7
#: Numbers from here on are references to the dtypes below them.
REFERENCE_DTYPES = 100


Array = npt.NDArray[np.generic]

# The fields of the messages.
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_DIM, _UNKNOWN_RANK = 2, 3
_SIZE, _SIZE_NAME = 1, 2
_MOST_DIMS = 32


def read_tensor(data: bytes, start: int, end: int) -> tuple[Array, tuple[int, int] | None]:
    """Return a tensor, and where its bytes lie if they lie in one piece.

    Args:
        data: Bytes that hold the message.
        start: Its first byte within them.
        end: The byte behind its last.

    Raises:
        ValueError: It is no tensor, or its bytes are not as many as its shape asks for.
    """
    number, content = UNSET_DTYPE, (0, 0)
    shape: tuple[int, ...] = ()
    lists: list[tuple[int, int, int, int]] = []
    for field, kind, at, stop in fields(data, start, end):
        if field == _DTYPE and kind == VARINT:
            number = read_varint(data, at, stop)[0]
        elif field == _SHAPE and kind == BYTES:
            shape = _read_shape(data, at, stop)
        elif field == _CONTENT and kind == BYTES:
            content = at, stop
        elif field in (_DTYPE, _SHAPE, _CONTENT):
            raise ValueError(f"field {field} of the tensor is of wire type {kind}")
        else:
            lists.append((field, kind, at, stop))
    number = number - REFERENCE_DTYPES if number > REFERENCE_DTYPES else number
    if number in (UNSET_DTYPE, TEXT_DTYPE):
        return _read_text(data, lists, shape), None
    return _read_numbers(data, number, shape, content, lists)


def _read_shape(data: bytes, start: int, end: int) -> tuple[int, ...]:
    sizes: list[int] = []
    for field, kind, at, stop in fields(data, start, end):
        if field == _DIM and kind == BYTES:
            sizes.append(_read_size(data, at, stop))
        elif field != _UNKNOWN_RANK or kind != VARINT:
            raise ValueError(f"its shape has a field {field} of wire type {kind}")
        elif read_varint(data, at, stop)[0]:
            raise ValueError("its rank is unknown")
    if len(sizes) > _MOST_DIMS:
        raise ValueError(f"it has {len(sizes)} dimensions")
    return tuple(sizes)


def _read_size(data: bytes, start: int, end: int) -> int:
    size, name = 0, ""
    for field, kind, at, stop in fields(data, start, end):
        if field == _SIZE and kind == VARINT:
            size = read_varint(data, at, stop)[0]
        elif field == _SIZE_NAME and kind == BYTES:
            name = data[at:stop].decode()
        else:
            raise ValueError(f"a dimension has a field {field} of wire type {kind}")
    if size >= 1 << 63:
        raise ValueError("a size is negative")
    if name and not name.endswith(f"_{size}"):
        raise ValueError(f"a dimension of size {size} is called {name!r}")
    return size


def _read_text(
    data: bytes, lists: list[tuple[int, int, int, int]], shape: tuple[int, ...]
) -> Array:
    texts = [data[at:stop].decode() for field, _, at, stop in lists if field == _STRINGS]
    if len(texts) != math.prod(shape):
        raise ValueError(f"{len(texts)} texts of shape {list(shape)}, or no dtype")
    return np.array(texts, np.str_).reshape(shape)


def _read_numbers(
    data: bytes,
    number: int,
    shape: tuple[int, ...],
    content: tuple[int, int],
    lists: list[tuple[int, int, int, int]],
) -> tuple[Array, tuple[int, int] | None]:
    if number not in DTYPES:
        raise ValueError(f"there is no dtype {number}")
    dtype, count, (start, end) = DTYPES[number], math.prod(shape), content
    if start == end and count:
        values = _listed(data, dtype, lists)
        if len(values) != count:
            raise ValueError(f"{len(values)} elements of shape {list(shape)}")
        return values.reshape(shape), None
    if end - start != count * dtype.itemsize:
        raise ValueError(f"{end - start} bytes for {dtype} of shape {list(shape)}")
    if dtype == np.bool_ and data[start:end].strip(b"\0\1"):
        raise ValueError("a truth value is neither 0 nor 1")
    if not count:
        return np.empty(shape, dtype), None
    # A copy: it must not keep the whole file, and users may write to it.
    return np.frombuffer(data, dtype, count, start).reshape(shape).copy(), content


def _listed(
    data: bytes, dtype: np.dtype[np.generic], lists: list[tuple[int, int, int, int]]
) -> Array:
    """Return the elements of a tensor that lists them in a field for their dtype."""
    if dtype.name not in _LISTS:
        raise ValueError(f"elements of {dtype} cannot be listed")
    field, make = _LISTS[dtype.name]
    found: list[float] = []
    for number, kind, at, stop in lists:
        if number == field:
            found += make(data, kind, at, stop)
    if dtype.kind == "c":
        return np.array(found, np.float64).view(np.complex128).astype(dtype)
    if dtype.name in ("float16", "bfloat16"):
        return np.array([bits & 0xFFFF for bits in found], np.uint16).view(dtype)  # type: ignore[operator]
    # Integers wrap as in two's complement; what was listed fits.
    return np.array(found, np.uint64 if dtype.kind in "iub" else np.float64).astype(dtype)


def _varints(data: bytes, kind: int, start: int, end: int) -> list[float]:
    if kind not in (VARINT, BYTES):
        raise ValueError(f"listed elements are of wire type {kind}")
    found: list[float] = []
    while start < end:
        value, start = read_varint(data, start, end)
        found.append(value)
    return found


def _fixed(letter: str, wanted: int) -> Callable[[bytes, int, int, int], list[float]]:
    size = struct.calcsize(letter)

    def read(data: bytes, kind: int, start: int, end: int) -> list[float]:
        if kind not in (wanted, BYTES) or (end - start) % size:
            raise ValueError(f"listed elements are {end - start} bytes of wire type {kind}")
        return list(struct.unpack_from(f"<{(end - start) // size}{letter}", data, start))

    return read


_FLOATS, _DOUBLES = _fixed("f", FIXED32), _fixed("d", FIXED64)
_LISTS: dict[str, tuple[int, Callable[[bytes, int, int, int], list[float]]]] = {
    "float32": (5, _FLOATS),
    "float64": (6, _DOUBLES),
    **dict.fromkeys(("int32", "int16", "int8", "uint16", "uint8"), (7, _varints)),
    "complex64": (9, _FLOATS),
    "int64": (10, _varints),
    "bool": (11, _varints),
    "complex128": (12, _DOUBLES),
    "float16": (13, _varints),
    "bfloat16": (13, _varints),
    "uint32": (16, _varints),
    "uint64": (17, _varints),
}


#: What smdebug calls the modes in event files.
MODE_NUMBERS = {Mode.TRAIN: 1, Mode.EVAL: 2, Mode.PREDICT: 3, Mode.GLOBAL: 4}
_MODES = {str(number): mode for mode, number in MODE_NUMBERS.items()}
# The fields of the messages.
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _TENSOR, _METADATA = 1, 8, 9
_PLUGIN = 1
_PLUGIN_NAME_FIELD, _PLUGIN_CONTENT = 1, 2


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
        return _read_event_fields(data, start, end)
    except ValueError as error:
        raise CorruptRun(key, base + start, f"not a tensor ({error})") from None


def _read_event_fields(data: bytes, start: int, end: int) -> Event:
    wall_time, step, value = 0.0, 0, None
    for number, kind, at, stop in fields(data, start, end):
        if number == _WALL_TIME:
            _check_event(kind, FIXED64, "wall_time")
            (wall_time,) = struct.unpack_from("<d", data, at)
        elif number == _STEP:
            _check_event(kind, VARINT, "step")
            step = signed(read_varint(data, at, stop)[0])
        elif number == _SUMMARY:
            _check_event(kind, BYTES, "summary")
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
            _check_event(kind, BYTES, "value")
            if found is not None:
                raise ValueError("it has several values")
            found = at, stop
    return found


def _read_value(data: bytes, start: int, end: int, wall_time: float, step: int) -> Event:
    parts: dict[int, tuple[int, int]] = {}
    plugins: dict[str, str] = {}
    for number, kind, at, stop in fields(data, start, end):
        if number in (_TAG, _TENSOR, _METADATA):
            _check_event(kind, BYTES, f"field {number}")
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
        _event_mode(plugins.get("mode")),
        None if mode_step is None else int(mode_step),
        value,
        content,
    )


def _plugins(data: bytes, start: int, end: int) -> dict[str, str]:
    found = {}
    for number, kind, at, stop in fields(data, start, end):
        if number == _PLUGIN:
            _check_event(kind, BYTES, "plugin_data")
            texts = {
                which: data[first:last].decode()
                for which, _, first, last in fields(data, at, stop)
                if which in (_PLUGIN_NAME_FIELD, _PLUGIN_CONTENT)
            }
            found[texts.get(_PLUGIN_NAME_FIELD, "")] = texts.get(_PLUGIN_CONTENT, "")
    return found


def _event_mode(number: str | None) -> Mode | None:
    if number is not None and number not in _MODES:
        raise ValueError(f"its mode is {number!r}")
    return None if number is None else _MODES[number]


def _check_event(kind: int, wanted: int, what: str) -> None:
    if kind != wanted:
        raise ValueError(f"{what} is of wire type {kind}")


def signed(number: int) -> int:
    """Return the number that 64 bits mean in two's complement."""
    return number - (1 << 64) if number >> 63 else number
