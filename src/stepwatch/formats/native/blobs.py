"""Raw values as safetensors: an 8-byte length, a JSON header, the bytes.

Framed by hand, so that a value is copied once on its way out and one of many is read by range.
A dtype that safetensors has no name for is stored as the narrowest one that holds all its values;
text and complex128, for which there is none, as the numbers that they consist of, along one more
axis, and the metadata of the file say so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun, TensorUnavailable

Array = npt.NDArray[np.generic]

_NAMES: dict[np.dtype[np.generic], str] = {
    np.dtype(np.float64): "F64",
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16",
    np.dtype(ml_dtypes.float8_e4m3fn): "F8_E4M3",
    np.dtype(ml_dtypes.float8_e5m2): "F8_E5M2",
    np.dtype(np.int64): "I64",
    np.dtype(np.int32): "I32",
    np.dtype(np.int16): "I16",
    np.dtype(np.int8): "I8",
    np.dtype(np.uint64): "U64",
    np.dtype(np.uint32): "U32",
    np.dtype(np.uint16): "U16",
    np.dtype(np.uint8): "U8",
    np.dtype(np.bool_): "BOOL",
    np.dtype(np.complex64): "C64",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_LENGTH_BYTES = 8
_SMALL_BYTES = 8192
# No header of ours comes near; a larger one is damage, not data.
_HEADER_LIMIT = 100_000_000


def encode(arrays: Mapping[str, Array]) -> bytes:
    """Return one safetensors file that holds the arrays under their names.

    Raises:
        TypeError: A dtype that cannot be stored, such as object.
    """
    return b"".join(encode_parts(arrays))


def encode_parts(arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """Return the same in pieces, which are views of the arrays wherever they can be."""
    stored: dict[str, Array] = {}
    split: list[tuple[str, str]] = []
    for name, array in arrays.items():
        if array.dtype not in _NAMES or not array.dtype.isnative:
            part = _PARTS.get(array.dtype.kind) if array.dtype not in _NAMES else None
            if part is not None:
                split.append((name, array.dtype.newbyteorder("<").str))
                array = _apart(array, part)
            array = np.ascontiguousarray(array, _stored_dtype(array.dtype))
        stored[name] = array
    entries = tuple([(name, array.dtype, array.shape) for name, array in stored.items()])
    # To copy what is small takes less than to make a view of it.
    values = [
        array.tobytes()
        if array.nbytes <= _SMALL_BYTES
        else np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for array in stored.values()
    ]
    return [*_head(entries, tuple(split)), *values]


@lru_cache(maxsize=256)
def _head(
    entries: tuple[tuple[str, np.dtype[np.generic], tuple[int, ...]], ...],
    split: tuple[tuple[str, str], ...],
) -> tuple[bytes, bytes]:
    """Return what comes before the values: the length of the header, and it.

    Args:
        entries: The name, dtype and shape of each, as they are stored.
        split: The names of those of which each element is stored apart, and the dtype of each.
    """
    header: dict[str, object] = {}
    start = 0
    for name, dtype, shape in entries:
        spot = [start, start + math.prod(shape) * dtype.itemsize]
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": spot}
        start = spot[1]
    if split:
        header["__metadata__"] = dict(split)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(_LENGTH_BYTES, "little"), text


#: What the elements of text, and of complex numbers, consist of.
_PARTS: dict[str, np.dtype[np.generic]] = {"U": np.dtype("<u4"), "c": np.dtype("<f8")}


def _apart(array: Array, part: np.dtype[np.generic]) -> Array:
    """Return an array with one more axis, along which lies what each element consists of."""
    width = array.dtype.itemsize // part.itemsize
    whole = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return whole.reshape(-1).view(part).reshape(*array.shape, width)


def _together(array: Array, dtype: str) -> Array:
    """Return what ``_apart`` was given; raise ValueError if it cannot be of this dtype."""
    whole = np.dtype(dtype)
    part = _PARTS.get(whole.kind)
    width = whole.itemsize // part.itemsize if part else 0
    if array.dtype != part or width == 0 or array.shape[-1:] != (width,):
        raise ValueError(f"{dtype} of {array.dtype} and shape {array.shape}")
    return np.ascontiguousarray(array).reshape(-1).view(whole).reshape(array.shape[:-1])


def _stored_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return the dtype itself, or the narrowest that holds its values and has a name."""
    native = dtype.newbyteorder("=")
    if native in _NAMES:
        return native
    for wider in (np.int8, np.uint8, np.float32, np.float64):
        if np.can_cast(dtype, wider, casting="safe"):
            return np.dtype(wider)
    raise TypeError(f"safetensors has no dtype that holds {dtype}")


class BlobFile:
    """One safetensors file, read by range.

    Args:
        key: Its name, for errors.
        read: ``read(start, length)`` returns bytes of it.
    """

    def __init__(self, key: str, read: Callable[[int, int], bytes]) -> None:
        self._key = key
        self._read = read
        length = int.from_bytes(read(0, _LENGTH_BYTES), "little")
        if not 2 <= length <= _HEADER_LIMIT:
            raise CorruptRun(key, 0, f"a header of {length} bytes")
        self._data_start = _LENGTH_BYTES + length
        try:
            self._header: dict[str, object] = dict(json.loads(read(_LENGTH_BYTES, length)))
        except (TypeError, ValueError, RecursionError) as error:
            reason = f"the header is no JSON object ({error})"
            raise CorruptRun(key, _LENGTH_BYTES, reason) from None

    @property
    def names(self) -> list[str]:
        """The names of the values, in order."""
        return [name for name in self._header if name != "__metadata__"]

    def get(self, name: str) -> Array:
        """Return one value.

        Raises:
            TensorUnavailable: The file holds no value of this name.
            CorruptRun: The bytes cannot be what was written.
        """
        entry = self._header.get(name)
        if entry is None or name == "__metadata__":
            raise TensorUnavailable(f"{self._key} holds no value named {name}")
        try:
            dtype, shape, start, size = _parse_entry(entry)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"the entry of {name} is wrong ({error!r})"
            raise CorruptRun(self._key, _LENGTH_BYTES, reason) from None
        data = self._read(self._data_start + start, size)
        if len(data) != size:
            reason = f"{name} has {len(data)} of {size} bytes"
            raise CorruptRun(self._key, self._data_start + start, reason)
        found: Array = np.frombuffer(data, dtype).reshape(shape)
        try:
            together = dict(self._header.get("__metadata__", {})).get(name)  # type: ignore[call-overload]
            return found if together is None else _together(found, together)
        except (TypeError, ValueError) as error:
            reason = f"the metadata of {name} are wrong ({error})"
            raise CorruptRun(self._key, _LENGTH_BYTES, reason) from None


def _parse_entry(entry: object) -> tuple[np.dtype[np.generic], tuple[int, ...], int, int]:
    """Return dtype, shape, first byte and number of bytes of a value; raise for what cannot be."""
    fields: dict[str, Any] = dict(entry)  # type: ignore[call-overload]  # raises TypeError
    dtype, shape = _DTYPES[fields["dtype"]], tuple(fields["shape"])
    start, stop = fields["data_offsets"]
    if not all(isinstance(number, int) and number >= 0 for number in (*shape, start, stop)):
        raise ValueError(f"{shape} at {start}-{stop}")
    size = math.prod(shape) * dtype.itemsize
    if stop - start != size:
        raise ValueError(f"{stop - start} bytes for {size} bytes of values")
    return dtype, shape, start, size
