"""CRC-32C in Python, for where there is no compiled kernel: correct, and slow."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC-32C of some bytes.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in memoryview(data).cast("B"):
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
