"""Raw values as safetensors: an 8-byte length, a JSON header, the bytes.

Framed by hand, so that a value is copied once on its way out and one of many is read by range.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

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
# No header of ours comes near; a larger one is damage, not data.
_HEADER_LIMIT = 100_000_000


def can_hold(dtype: np.dtype[np.generic]) -> bool:
    """Return whether values of this dtype can be stored."""
    return dtype in _NAMES


def encode(arrays: Mapping[str, Array]) -> bytes:
    """Return one safetensors file that holds the arrays under their names."""
    header: dict[str, object] = {}
    payload: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        spot = [offset, offset + len(data)]
        header[name] = {
            "dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": spot
        }  # fmt: skip
        payload.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *payload))


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
            self._header = json.loads(read(_LENGTH_BYTES, length))
        except ValueError as error:
            raise CorruptRun(key, _LENGTH_BYTES, f"the header is no JSON ({error})") from None

    def get(self, name: str) -> Array:
        """Return one value.

        Raises:
            TensorUnavailable: The file holds no value of this name.
            CorruptRun: The bytes cannot be what was written.
        """
        entry = self._header.get(name)
        if entry is None:
            raise TensorUnavailable(f"{self._key} holds no value named {name}")
        try:
            dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
            start, stop = entry["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            reason = f"the entry of {name} is wrong ({error})"
            raise CorruptRun(self._key, _LENGTH_BYTES, reason) from None
        data = self._read(self._data_start + start, stop - start)
        wanted = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if len(data) != wanted:
            reason = f"{name} has {len(data)} of {wanted} bytes"
            raise CorruptRun(self._key, self._data_start + start, reason)
        return np.frombuffer(data, dtype).reshape(shape)
