"""Raw values: safetensors files of ours are everybody's, and damage is named."""

from __future__ import annotations

import contextlib
import json

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stepwatch.errors import CorruptRun, TensorUnavailable
from stepwatch.formats.native.blobs import BlobFile, encode

NATIVE = [
    "float64", "float32", "float16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8", "bool",
]  # fmt: skip
OURS = [*NATIVE, "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"]
HEADER = b'{"0/w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}'
# The whole file: header length, header, two little-endian numbers.
FILE = b"\x38\0\0\0\0\0\0\0" + HEADER + b"\x01\0\xff\xff"


def blob(data: bytes) -> BlobFile:
    return BlobFile("tensors/w.safetensors", lambda start, length: data[start : start + length])


def assert_same(expected: np.ndarray, found: np.ndarray) -> None:
    assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
    assert expected.tobytes() == found.tobytes()


class TestEncode:
    def test_the_bytes_are_the_ones_of_the_specification(self):
        """Length, JSON header and values follow each other without a gap."""
        assert FILE == encode({"0/w": np.array([1, -1], np.int16)})

    @pytest.mark.parametrize("dtype", OURS)
    @pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
    def test_every_dtype_and_shape_comes_back_to_the_bit(self, dtype, shape):
        """Scalars, empty arrays and small floats included."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        values = np.frombuffer(bytes(range(1, size + 1)), np.uint8)
        array = (values & 1 if dtype == "bool" else values).view(dtype).reshape(shape)

        assert_same(array, blob(encode({"0/w": array})).get("0/w"))

    @given(hnp.arrays(st.sampled_from(NATIVE), hnp.array_shapes(min_dims=0, min_side=0)))
    @settings(max_examples=60, deadline=None)
    def test_the_real_library_reads_what_we_write(self, array):
        """Any array, between two others."""
        data = encode({"before": np.float32(1), "0/w": array, "after": np.int8(2)})

        assert_same(array, safetensors.numpy.load(data)["0/w"])

    @given(hnp.arrays(st.sampled_from(NATIVE), hnp.array_shapes(min_dims=0, min_side=0)))
    @settings(max_examples=60, deadline=None)
    def test_we_read_what_the_real_library_writes(self, array):
        """Its header may be ordered and padded in its own way."""
        data = safetensors.numpy.save({"a": np.arange(3), "0/w": array})

        assert_same(array, blob(data).get("0/w"))

    @pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
    def test_small_floats_are_those_of_torch(self, name):
        """Values agree with torch in both directions, not only bits with ourselves."""
        values = torch.tensor([[0.5, -2.0], [1.75, 0.0]]).to(getattr(torch, name))
        array = values.float().numpy().astype(np.dtype(name))

        assert torch.equal(
            values.float(), safetensors.torch.load(encode({"w": array}))["w"].float()
        )
        assert_same(array, blob(safetensors.torch.save({"w": values})).get("w"))

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(12.0).reshape(3, 4).T,
            np.arange(12.0)[::-2],
            np.broadcast_to(np.float32(3), (2, 2)),
            np.asfortranarray(np.arange(6).reshape(2, 3)),
        ],
        ids=["transposed", "reversed", "broadcast", "fortran"],
    )
    def test_elements_are_stored_in_the_order_of_the_shape(self, array):
        """Strides are of the memory, not of the value."""
        assert_same(np.array(array, order="C"), blob(encode({"w": array})).get("w"))

    def test_another_byte_order_is_stored_as_little_endian(self):
        """safetensors knows no other."""
        assert_same(np.array([1.5], "<f4"), blob(encode({"w": np.array([1.5], ">f4")})).get("w"))

    @pytest.mark.parametrize(
        ("dtype", "stored"),
        [("float8_e4m3fnuz", "float32"), ("float8_e4m3b11fnuz", "float32"), ("int4", "int8")],
    )
    def test_a_dtype_without_a_name_is_stored_as_one_that_holds_its_values(self, dtype, stored):
        """A step must not be lost for an exotic dtype."""
        array = np.array([0, 1, -2], np.float32).astype(np.dtype(getattr(ml_dtypes, dtype)))

        assert_same(array.astype(stored), blob(encode({"w": array})).get("w"))

    @pytest.mark.parametrize(
        "array",
        [
            np.array([1 + 2j, -0.0 - 1j], np.complex128),
            np.array(3j, ">c16"),
            np.array(["rmse", "", "é"]),
            np.array([["a"], ["bcd"]]),
            np.empty((0, 2), "<U4"),
        ],
        ids=["complex", "big-endian", "text", "table", "empty"],
    )
    def test_text_and_complex_numbers_come_back(self, array):
        """They are taken apart; other values in the file stay as they are."""
        data = encode({"w": array, "plain": np.float32([1, 2])})
        found = blob(data).get("w")

        assert array.dtype.newbyteorder("<") == found.dtype
        np.testing.assert_array_equal(array, found, strict=False)
        assert array.shape == found.shape
        assert (2,) == safetensors.numpy.load(data)["plain"].shape
        assert array.shape == safetensors.numpy.load(data)["w"].shape[:-1]

    @pytest.mark.parametrize("said", ["<U9", "<f4", "nonsense", 7])
    def test_metadata_that_do_not_fit_are_damage(self, said):
        """The numbers would mean something else."""
        data = encode({"w": np.array(["ab"])})
        spoiled = data.replace(b'"<U2"', json.dumps(said).encode())
        spoiled = (len(spoiled) - len(data) + int.from_bytes(data[:8], "little")).to_bytes(
            8, "little"
        ) + spoiled[8:]
        with pytest.raises(CorruptRun, match="metadata of w"):
            blob(spoiled).get("w")

    def test_values_that_nothing_holds_are_refused(self):
        """Half the precision would be a silent loss."""
        with pytest.raises(TypeError, match="no dtype that holds object"):
            encode({"w": np.zeros(2, object)})


class TestDamage:
    @pytest.mark.parametrize("size", range(len(FILE)))
    def test_a_truncated_file_is_named_with_the_offset(self, size):
        """Wherever it ends, the error says which file and where."""
        with pytest.raises(CorruptRun) as caught:
            blob(FILE[:size]).get("0/w")

        assert caught.value.key == "tensors/w.safetensors"
        assert caught.value.offset in (0, 8, 8 + len(HEADER))

    @pytest.mark.parametrize(
        "header",
        [
            b"[1, 2]",
            b"null",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"0/w": 7}',
            b'{"0/w": {"dtype": "I16", "shape": [2]}}',
            b'{"0/w": {"dtype": "I17", "shape": [2], "data_offsets": [0, 4]}}',
            b'{"0/w": {"dtype": "I16", "shape": [3], "data_offsets": [0, 4]}}',
            b'{"0/w": {"dtype": "I16", "shape": [-2], "data_offsets": [4, 0]}}',
            b'{"0/w": {"dtype": "I16", "shape": [2], "data_offsets": [-4, 0]}}',
            b'{"0/w": {"dtype": "I16", "shape": [2.0], "data_offsets": [0, 4]}}',
            b'{"0/w": {"dtype": "I16", "shape": [9999999999999], "data_offsets": [0, 4]}}',
        ],
    )
    def test_a_header_that_cannot_be_is_damage(self, header):
        """No other error, and no read that the header talks us into."""
        data = len(header).to_bytes(8, "little") + header + bytes(16)

        with pytest.raises(CorruptRun) as caught:
            blob(data).get("0/w")
        assert 8 == caught.value.offset

    @given(st.integers(0, len(FILE) - 1), st.integers(0, 255))
    @settings(max_examples=300, deadline=None)
    def test_a_wrong_byte_raises_nothing_but_our_errors(self, where, byte):
        """Bytes from disk are distrusted."""
        data = FILE[:where] + bytes([byte]) + FILE[where + 1 :]
        with contextlib.suppress(CorruptRun, TensorUnavailable):
            blob(data).get("0/w")

    def test_a_name_that_is_not_there_is_no_damage(self):
        """The file is whole; it holds another tensor."""
        with pytest.raises(TensorUnavailable, match="no value named 1/w"):
            blob(FILE).get("1/w")

    def test_the_header_is_json_that_anyone_reads(self):
        """Nothing of ours is needed to find a value."""
        assert [0, 4] == json.loads(FILE[8 : 8 + FILE[0]])["0/w"]["data_offsets"]
