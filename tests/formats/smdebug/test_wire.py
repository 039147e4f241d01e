"""Fields and frames, to the byte."""

from __future__ import annotations

import struct

import pytest
from google.protobuf.internal.decoder import _DecodeVarint
from google.protobuf.internal.encoder import _VarintBytes
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import CorruptRun
from stepwatch.formats.smdebug import wire


class TestFields:
    @given(st.integers(0, 2**64 - 1))
    def test_numbers_are_written_and_read_as_protobuf_does(self, number):
        """Seven bits a byte, low ones first."""
        data = wire.varint(number)
        assert _VarintBytes(number) == data
        assert _DecodeVarint(data, 0) == wire.read_varint(data, 0, len(data))

    def test_a_message_gives_its_fields_in_order(self):
        """With where the value of each begins and ends."""
        data = b"".join(
            (
                wire.varint_field(2, 300),
                wire.double_field(1, 1.5),
                wire.bytes_field(15, b"abc"),
                wire.float_field(3, 2.0),
            )
        )
        found = list(wire.fields(data, 0, len(data)))

        assert [(2, 0), (1, 1), (15, 2), (3, 5)] == [field[:2] for field in found]
        assert b"abc" == data[slice(*found[2][2:])]
        assert (1.5,) == struct.unpack("<d", data[slice(*found[1][2:])])

    def test_zero_is_not_written(self):
        """It is what a field without a value means."""
        assert b"" == wire.varint_field(2, 0)

    @given(st.binary(max_size=40))
    def test_what_is_no_message_is_refused_with_a_value_error(self, data):
        """Or it is one, and its fields lie inside of it."""
        try:
            found = list(wire.fields(data, 0, len(data)))
        except ValueError:
            return
        assert all(0 <= start <= end <= len(data) for _, _, start, end in found)


class TestFrames:
    def test_the_footer_of_smdebug_is_the_checksum_of_a_text(self):
        """Not of the payload."""
        checksum = wire.masked_crc(b"0x12345678")
        assert wire.SMDEBUG_FOOTER == struct.pack("<I", checksum)

    @pytest.mark.parametrize("smdebug", [True, False])
    def test_a_record_is_found_again(self, smdebug):
        """Wherever it begins."""
        framed = (wire.smdebug_frame if smdebug else wire.frame)(b"payload")
        start, end = wire.payload_range("key", b"..." + framed, 3, smdebug=smdebug)

        assert b"payload" == (b"..." + framed)[start:end]
        assert wire.FRAME_BYTES + 7 == len(framed)

    @pytest.mark.parametrize("byte", range(23))
    def test_a_flipped_bit_is_noticed_wherever_there_is_a_checksum(self, byte):
        """In TensorBoard's files, that is everywhere."""
        framed = bytearray(wire.frame(b"payload"))
        framed[byte] ^= 1
        with pytest.raises(CorruptRun) as caught:
            wire.payload_range("key", bytes(framed), 0, base=100, smdebug=False)
        assert "key" == caught.value.key
        assert caught.value.offset >= 100

    @pytest.mark.parametrize("size", range(23))
    def test_a_record_that_is_cut_off_is_noticed(self, size):
        """At every length."""
        with pytest.raises(CorruptRun, match="cut off"):
            wire.payload_range("key", wire.smdebug_frame(b"payload")[:size], 0)
