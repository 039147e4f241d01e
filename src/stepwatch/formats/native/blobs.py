"""Raw values as safetensors: an 8-byte length, a JSON header, the bytes.

Framed by hand, so that a value is copied once on its way out and one of many is read by range.
A dtype that safetensors has no name for is stored as the narrowest one that holds all its values;
text and complex128, for which there is none, as the numbers that they consist of, along one more
axis, and the metadata of the file say so. The full values of a run have checksums, which are
verified when one is read; those without, of older releases and of others, are read as they are.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun, TensorUnavailable
from ...model.json_text import parse_json
from ...numerics.digest import crc32c, crc32c_of_array

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
# How a header with checksums begins. The first, which follows, is of all of the header behind it;
# the others are of the values. Each has eight hexadecimal digits.
_CHECKED = '{"__metadata__":{"crc32c":"'
_DIGITS = 8
_CHECKSUM = re.compile(r"[0-9a-f]{8}")
# What the values of a run are called begins with their step.
_NAME = re.compile(r"\d+/")


def encode(arrays: Mapping[str, Array]) -> bytes:
    """Return one safetensors file that holds the arrays under their names.

    Raises:
        TypeError: A dtype that cannot be stored, such as object.
    """
    return b"".join(encode_parts(arrays))


def encode_parts(arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """Return the same in pieces, which are views of the arrays wherever they can be."""
    entries, split, values = _lay_out(arrays)
    return [*_head(entries, split), *values]


def encode_checked(arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """Return the same with a checksum of the header and of each value."""
    entries, split, values = _lay_out(arrays)
    return [*_with_length(_checked_header(_header(entries), dict(split), values)), *values]


#: The name, dtype and shape of each value, as they are stored.
_Entries = tuple[tuple[str, np.dtype[np.generic], tuple[int, ...]], ...]
#: The names of those of which each element is stored apart, and the dtype of each.
_Split = tuple[tuple[str, str], ...]


def _lay_out(arrays: Mapping[str, Array]) -> tuple[_Entries, _Split, list[bytes | memoryview]]:
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
    return entries, tuple(split), values


@lru_cache(maxsize=256)
def _head(entries: _Entries, split: _Split) -> tuple[bytes, bytes]:
    """Return what comes before the values: the length of the header, and it."""
    header = _header(entries)
    if split:
        header["__metadata__"] = dict(split)
    return _with_length(_json(header))


def _header(entries: _Entries) -> dict[str, object]:
    header: dict[str, object] = {}
    start = 0
    for name, dtype, shape in entries:
        spot = [start, start + math.prod(shape) * dtype.itemsize]
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": spot}
        start = spot[1]
    return header


def _checked_header(
    header: Mapping[str, object], split: Mapping[str, str], values: Sequence[bytes | memoryview]
) -> bytes:
    checksums = "".join(f" {_checksum(value):08x}" for value in values)
    metadata = {"crc32c": "0" * _DIGITS + checksums, **split}
    text = _json({"__metadata__": metadata, **header})
    behind = len(_CHECKED) + _DIGITS
    return b"%s%08x%s" % (_CHECKED.encode(), crc32c(text[behind:]), text[behind:])


def _checksum(value: bytes | memoryview) -> int:
    if isinstance(value, bytes):
        return crc32c(value)
    return crc32c_of_array(np.frombuffer(value, np.uint8))


def _json(header: Mapping[str, object]) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def _with_length(header: bytes) -> tuple[bytes, bytes]:
    return len(header).to_bytes(_LENGTH_BYTES, "little"), header


#: What the elements of text, and of complex numbers, consist of.
_PARTS: dict[str, np.dtype[np.generic]] = {"U": np.dtype("<u4"), "c": np.dtype("<f8")}


def _apart(array: Array, part: np.dtype[np.generic]) -> Array:
    """Return an array with one more axis, along which lies what each element consists of."""
    width = array.dtype.itemsize // part.itemsize
    whole = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return whole.reshape(-1).view(part).reshape(*array.shape, width)


def _together(array: Array, dtype: object) -> Array:
    """Return what ``_apart`` was given; raise ValueError if it cannot be of this dtype."""
    whole: np.dtype[Any] = np.dtype(dtype)  # type: ignore[call-overload]  # raises TypeError
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
        self.key = key
        self._read = read
        length = int.from_bytes(read(0, _LENGTH_BYTES), "little")
        if not 2 <= length <= _HEADER_LIMIT:
            raise CorruptRun(key, 0, f"a header of {length} bytes")
        #: The first byte of the values.
        self.data_start = _LENGTH_BYTES + length
        text = read(_LENGTH_BYTES, length)
        try:
            self._header: dict[str, object] = dict(parse_json(text))
            self._metadata: dict[str, object] = dict(
                self._header.pop("__metadata__", {})  # type: ignore[call-overload]
            )
        except (TypeError, ValueError, RecursionError) as error:
            reason = f"the header is no JSON object ({error})"
            raise CorruptRun(key, _LENGTH_BYTES, reason) from None
        self._verify_header(text)

    @property
    def names(self) -> list[str]:
        """The names of the values, in order."""
        return list(self._header)

    @property
    def size(self) -> int:
        """How many bytes the whole file has.

        Raises:
            CorruptRun: The header cannot be what was written.
        """
        try:
            spots = [_parse_entry(self._header[name])[2:] for name in self.names]
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(self.key, _LENGTH_BYTES, f"a wrong entry ({error!r})") from None
        return self.data_start + max((start + size for start, size in spots), default=0)

    def get(self, name: str) -> Array:
        """Return one value.

        Raises:
            TensorUnavailable: The file holds no value of this name.
            CorruptRun: The bytes are not those that were written, or cannot be.
        """
        entry = self._header.get(name)
        if entry is None:
            raise TensorUnavailable(f"{self.key} holds no value named {name}")
        try:
            dtype, shape, start, size = _parse_entry(entry)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"the entry of {name} is wrong ({error!r})"
            raise CorruptRun(self.key, _LENGTH_BYTES, reason) from None
        data = self._read(self.data_start + start, size)
        if len(data) != size:
            reason = f"{name} has {len(data)} of {size} bytes"
            raise CorruptRun(self.key, self.data_start + start, reason)
        self._verify_value(name, data, self.data_start + start)
        found: Array = np.frombuffer(data, dtype).reshape(shape)
        try:
            together = self._metadata.get(name)
            return found if together is None else _together(found, together)
        except (TypeError, ValueError) as error:
            reason = f"the metadata of {name} are wrong ({error})"
            raise CorruptRun(self.key, _LENGTH_BYTES, reason) from None

    def _verify_header(self, text: bytes) -> None:
        """Take a header as it is; anybody may have written it."""

    def _verify_value(self, name: str, data: bytes, offset: int) -> None:
        """Take a value as it is."""


class RunBlobFile(BlobFile):
    """A file of full values of a run: what it holds is verified, unless it has no checksums.

    Args:
        key: Its name, for errors.
        read: As for ``BlobFile``.

    Raises:
        CorruptRun: The header is not the one that was written, or cannot be.
    """

    @property
    def is_checked(self) -> bool:
        """Whether it has checksums; those of older releases have none."""
        return bool(self._checksums) or not self._header

    def _verify_header(self, text: bytes) -> None:
        self._checksums: dict[str, str] = {}
        if text.startswith(_CHECKED.encode()):
            first, *others = str(self._metadata.get("crc32c")).split(" ")
            behind = text[len(_CHECKED) + _DIGITS :]
            is_whole = _CHECKSUM.fullmatch(first) and int(first, 16) == crc32c(behind)
            if is_whole and len(others) == len(self._header):
                self._checksums = dict(zip(self._header, others, strict=True))
                return
        elif all(map(_NAME.match, self._header)) and self._metadata.keys() <= self._header.keys():
            return
        reason = "the header is not what was written: its checksum differs"
        raise CorruptRun(self.key, _LENGTH_BYTES, reason)

    def _verify_value(self, name: str, data: bytes, offset: int) -> None:
        if self._checksums and f"{crc32c(data):08x}" != self._checksums[name]:
            reason = f"the value of {name} is not what was written: its checksum differs"
            raise CorruptRun(self.key, offset, reason)


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
