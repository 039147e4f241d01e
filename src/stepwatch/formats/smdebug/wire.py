"""Protocol buffers and TFRecord framing, as far as event files need them.

A framed record is ``length (8 bytes) | checksum of the length (4) | payload | footer (4)``, all
little endian. Files for TensorBoard end a record with the checksum of its payload. smdebug ends
every record with one constant instead, so nothing tells whether its payload is still what was
written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

from ...errors import CorruptRun
from ..crc32c import crc32c

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
        data: Where it lies.
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
    """Return the start and the end of the payload of a record, after a look at its frame.

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
