"""CRC-32C (Castagnoli): by the kernel, or in Python, which is correct and slow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..elements import kernel

Bytes = bytes | bytearray | memoryview

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c_in_python(data: Bytes, start: int = 0) -> int:
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
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


crc32c = crc32c_in_python if kernel is None else kernel.crc32c


def crc32c_of_array(array: npt.NDArray[np.uint8], start: int = 0) -> int:
    """Return the CRC-32C of the bytes of a contiguous array, which are not copied."""
    if kernel is None:
        return crc32c_in_python(array.data, start)
    return kernel.crc32c(array.__array_struct__, start)
