"""Digests of tensors, and checksums of bytes.

The 64-bit digest of a tensor is equal for equal values, and nearly never for others. It is a sum
over the elements, so that it can be computed in any order, in parts and on an accelerator:
replicas, runs and a recorded batch are compared without their values. It protects against
accidents, not against somebody who makes two tensors of one digest on purpose.

CRC-32C (Castagnoli) is computed by the kernel, or by NumPy, some 30 times slower.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .elements import blocks, is_real, kernel
from .elements import kernel as _kernel

Words = npt.NDArray[np.uint64]

#: The constants of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
#: generators, 2014): what is added for each element, and the factors and shifts that mix.
GAMMA = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)


def digest(array: npt.NDArray[np.generic]) -> int:
    """Return the digest of an array, from 0 to 2**64 - 1.

    The sum, modulo 2**64, of ``mix(bits(x[i]) + (i + 1) * GAMMA)`` over the elements in C order,
    i from 0. ``bits`` is the element as an unsigned integer of its width, whatever its byte
    order; a complex number is two elements, the real part first. ``mix`` is that of SplitMix64:
    xor with itself shifted right by 30 and times the first factor, the same by 27 and with the
    second, xor with itself shifted right by 31.

    So 0.0 and -0.0 differ, as do nans of different bits. Neither shape nor dtype enters: a
    tensor has the digest of its ravelled view. Empty arrays have 0. Above 65536 elements the
    kernel runs without the GIL.

    Args:
        array: Any shape and strides; bool, integer, real or complex dtype, the ones of ml_dtypes
            included. It is never copied as a whole, unless it is complex with gaps.

    Raises:
        TypeError: A dtype whose elements are no numbers, or longer than 64 bits.
    """
    return _digest_of(_as_words(array))


def row_digests(array: npt.NDArray[np.generic]) -> Words:
    """Return the digest of each ``array[i]``, shape ``[len(array)]``, uint64.

    Args:
        array: At least one dimension; of a real dtype, as for ``digest``.

    Raises:
        TypeError: As ``digest``.
    """
    rows = _as_words(array)
    found = np.empty(len(rows), np.uint64)
    if _kernel is None or not _kernel.digest_rows(rows.__array_struct__, found.__array_struct__):
        found[:] = [_digest_of(words) for words in rows]
    return found


def _digest_of(words: npt.NDArray[Any]) -> int:
    whole = _in_place(words, 0)
    if whole is not None:
        return whole
    total = start = 0
    for block in blocks(words, words.dtype.newbyteorder("="), order="C"):
        found = _in_place(block, start)
        total += int(_mixed(block, start).sum(dtype=np.uint64)) if found is None else found
        start += len(block)
    return total % 2**64


def _as_words(array: npt.NDArray[np.generic]) -> npt.NDArray[Any]:
    """Return the bits of all elements as unsigned integers."""
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
    return array.view(_word(array.dtype))


@lru_cache
def _word(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if not is_real(dtype) or dtype.itemsize > 8:
        raise TypeError(f"no digest of dtype {dtype}; need numbers of at most 64 bits")
    return np.dtype(f"u{dtype.itemsize}").newbyteorder(dtype.byteorder)


def _in_place(words: npt.NDArray[Any], start: int) -> int | None:
    """Let the kernel read the words where they lie, or return ``None`` if it cannot."""
    return None if _kernel is None else _kernel.digest(words.__array_struct__, start)


def _mixed(block: npt.NDArray[Any], start: int) -> Words:
    index = np.arange(start + 1, start + 1 + len(block), dtype=np.uint64)
    words: Words = block + index * np.uint64(GAMMA)
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(SHIFTS[-1]))


CrcInput = bytes | bytearray | memoryview

_CRC_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _crc_table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_CRC_POLYNOMIAL if byte & 1 else 0)
    return byte


_CRC_TABLE = tuple(_crc_table_entry(byte) for byte in range(256))


def crc32c_in_python(data: CrcInput, start: int = 0) -> int:
    """Return the CRC-32C of some bytes.

    Args:
        data: Contiguous.
        start: The checksum of the bytes that come before.

    Example:
        >>> hex(crc32c_in_python(b"6789", crc32c_in_python(b"12345")))
        '0xe3069283'
    """
    crc = start ^ 0xFFFFFFFF
    for byte in memoryview(data).cast("B"):
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


# So many bytes of data are a lane: all lanes go through the table together.
_LANE_BYTES = 1024


def crc32c_in_numpy(data: npt.NDArray[np.uint8], start: int = 0) -> int:
    """Return the CRC-32C of bytes, shape ``[bytes]``; ``start`` as for ``crc32c_in_python``."""
    num_lanes = len(data) // _LANE_BYTES
    table = np.array(_CRC_TABLE, np.uint32)
    lanes = np.zeros(num_lanes, np.uint32)
    for column in np.ascontiguousarray(data[: num_lanes * _LANE_BYTES].reshape(-1, _LANE_BYTES).T):
        lanes = table[(lanes ^ column) & 0xFF] ^ lanes >> np.uint32(8)
    crc = start ^ 0xFFFFFFFF
    low, second, third, high = _after_a_lane()
    for lane in lanes.tolist():
        moved = low[crc & 0xFF] ^ second[crc >> 8 & 0xFF] ^ third[crc >> 16 & 0xFF]
        crc = moved ^ high[crc >> 24] ^ lane
    rest = data[num_lanes * _LANE_BYTES :]
    return crc32c_in_python(rest.tobytes(), crc ^ 0xFFFFFFFF)


@lru_cache(maxsize=1)
def _after_a_lane() -> list[list[int]]:
    """Return what each byte of a state becomes when a lane of zeros follows, for its four bytes.

    A checksum is linear: that of two pieces is that of the first, followed by zeros in place of the
    second, xor that of the second which begins with a state of 0.
    """
    table = np.array(_CRC_TABLE, np.uint32)
    states = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16], [24]], np.uint32)
    for _ in range(_LANE_BYTES):
        states = table[states & 0xFF] ^ states >> np.uint32(8)
    found: list[list[int]] = states.tolist()
    return found


def crc32c(data: CrcInput, start: int = 0) -> int:
    """Return the CRC-32C of some contiguous bytes; ``start`` as for ``crc32c_in_python``."""
    if kernel is not None:
        return kernel.crc32c(data, start)
    return crc32c_of_array(np.frombuffer(data, np.uint8), start) if len(data) else start


def crc32c_of_array(array: npt.NDArray[np.uint8], start: int = 0) -> int:
    """Return the CRC-32C of the bytes of a contiguous array, which are not copied."""
    if kernel is None:
        return crc32c_in_numpy(array.reshape(-1), start)
    return kernel.crc32c(array.__array_struct__, start)
