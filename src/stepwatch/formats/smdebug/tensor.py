"""The tensors of event files, as messages (``TensorProto``) and as arrays."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .dtypes import DTYPES, REFERENCES, TEXT, UNSET
from .wire import BYTES, FIXED32, FIXED64, VARINT, fields, read_varint

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
    number, content = UNSET, (0, 0)
    shape: tuple[int, ...] = ()
    lists: list[tuple[int, int, int, int]] = []
    for field, kind, at, stop in fields(data, start, end):
        if field == _DTYPE and kind == VARINT:
            number = read_varint(data, at, stop)[0]
        elif field == _SHAPE and kind == BYTES:
            shape = _shape(data, at, stop)
        elif field == _CONTENT and kind == BYTES:
            content = at, stop
        elif field in (_DTYPE, _SHAPE, _CONTENT):
            raise ValueError(f"field {field} of the tensor is of wire type {kind}")
        else:
            lists.append((field, kind, at, stop))
    number = number - REFERENCES if number > REFERENCES else number
    if number in (UNSET, TEXT):
        return _text(data, lists, shape), None
    return _numbers(data, number, shape, content, lists)


def _shape(data: bytes, start: int, end: int) -> tuple[int, ...]:
    sizes: list[int] = []
    for field, kind, at, stop in fields(data, start, end):
        if field == _DIM and kind == BYTES:
            sizes.append(_size(data, at, stop))
        elif field != _UNKNOWN_RANK or kind != VARINT:
            raise ValueError(f"its shape has a field {field} of wire type {kind}")
        elif read_varint(data, at, stop)[0]:
            raise ValueError("its rank is unknown")
    if len(sizes) > _MOST_DIMS:
        raise ValueError(f"it has {len(sizes)} dimensions")
    return tuple(sizes)


def _size(data: bytes, start: int, end: int) -> int:
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


def _text(data: bytes, lists: list[tuple[int, int, int, int]], shape: tuple[int, ...]) -> Array:
    texts = [data[at:stop].decode() for field, _, at, stop in lists if field == _STRINGS]
    if len(texts) != math.prod(shape):
        raise ValueError(f"{len(texts)} texts of shape {list(shape)}, or no dtype")
    return np.array(texts, np.str_).reshape(shape)


def _numbers(
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
