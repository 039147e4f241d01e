"""Records of event files are read as the real runtime of protocol buffers writes them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from stepwatch.errors import CorruptRun
from stepwatch.formats.smdebug.wire import Event, read_event
from stepwatch.model.steps import Mode
from tests.support.formats.smdebug.event_messages import Event as Message
from tests.support.formats.smdebug.smdebug_runs import MODE_NUMBERS, NUMBERS, event

NATIVE = [dtype for dtype in NUMBERS if dtype.type.__module__ == "numpy"]
INF = complex(3, np.inf)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def read(payload: bytes) -> Event:
    return read_event("events/one", payload, 0, len(payload))


def message(**fields: Any) -> bytes:
    """Return an event with a tensor of these fields."""
    shape = fields.pop("shape", ())
    made = Message(wall_time=1.0)
    tensor = made.summary.value.add(tag="t").tensor
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(tensor, name).extend(value)
        else:
            setattr(tensor, name, value)
    return bytes(made.SerializeToString())


class TestReadEvent:
    @given(
        name=NAMES,
        value=st_numpy.arrays(
            st.sampled_from(NATIVE), st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0)
        ),
        step=st.integers(0, 2**62),
        mode=st.sampled_from(sorted(MODE_NUMBERS)),
        mode_step=st.integers(-1, 10**9),
        wall_time=st.floats(0, 1e11),
    )
    def test_what_was_serialised_is_read(
        self, name: str, value: Any, step: int, mode: str, mode_step: int, wall_time: float
    ):
        """Every field, and every dtype of numpy's own, in every shape, empty ones included."""
        payload = event(name, value, step, mode=mode, mode_step=mode_step, wall_time=wall_time)

        found = read(payload)
        assert (name, step, Mode(mode), mode_step, wall_time) == (
            found.tag, found.step, found.mode, found.mode_step, found.wall_time,
        )  # fmt: skip
        assert (value.dtype, value.shape) == (found.value.dtype, found.value.shape)
        assert value.tobytes() == found.value.tobytes()

    @pytest.mark.parametrize(
        "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn]
    )
    def test_narrow_floats_keep_their_dtype(self, dtype: type):
        """bfloat16 and both float8 come back as what ml_dtypes calls them."""
        value = np.array([[0.5, -2.0, 3.0]]).astype(dtype)

        found = read(event("t", value, 0)).value
        assert (np.dtype(dtype), value.tolist()) == (found.dtype, found.tolist())

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
    def test_text_is_read(self, texts: list[str]):
        """smdebug leaves the dtype of text unset; it has one dimension."""
        found = read(event("t", np.array(texts, np.str_), 0)).value

        assert (texts, "U", 1) == (found.tolist(), found.dtype.kind, found.ndim)

    @pytest.mark.parametrize(
        ("fields", "wanted"),
        [
            ({"dtype": 1, "float_val": [1.5, -2.0]}, np.array([1.5, -2.0], np.float32)),
            ({"dtype": 2, "double_val": [1.5, -2.0]}, np.array([1.5, -2.0])),
            ({"dtype": 3, "int_val": [7, -1]}, np.array([7, -1], np.int32)),
            ({"dtype": 6, "int_val": [7, -1]}, np.array([7, -1], np.int8)),
            ({"dtype": 4, "int_val": [7, 255]}, np.array([7, 255], np.uint8)),
            ({"dtype": 9, "int64_val": [-(2**63), 5]}, np.array([-(2**63), 5])),
            ({"dtype": 10, "bool_val": [True, False]}, np.array([True, False])),
            ({"dtype": 8, "scomplex_val": [1, 2, 3, np.inf]}, np.array([1 + 2j, INF], "c8")),
            ({"dtype": 18, "dcomplex_val": [1.0, 2.0, 3.0, 4.0]}, np.array([1 + 2j, 3 + 4j])),
            ({"dtype": 19, "half_val": [0x3C00, 0xC000]}, np.array([1.0, -2.0], np.float16)),
            ({"dtype": 14, "half_val": [0x3F80, 0xC000]}, np.array([1, -2], ml_dtypes.bfloat16)),
            ({"dtype": 7, "string_val": [b"a", "é".encode()]}, np.array(["a", "é"])),
            ({"dtype": 103, "int_val": [7, -1]}, np.array([7, -1], np.int32)),
        ],
    )  # fmt: skip
    def test_listed_elements_are_read(self, fields: dict[str, Any], wanted: Any):
        """Elements may stand in a field for their dtype, where the bytes are left out."""
        found = read(message(shape=(2,), **fields)).value

        assert (wanted.dtype, wanted.tolist()) == (found.dtype, found.tolist())

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"dtype": 1, "tensor_content": b"abc"}, "3 bytes for float32"),
            ({"dtype": 1, "tensor_content": b"12345678", "shape": (3,)}, "8 bytes for float32"),
            ({"dtype": 1, "shape": (2**40, 2**40)}, "0 elements"),
            ({"dtype": 1, "float_val": [1.0], "shape": (2**62,)}, "1 elements"),
            ({"dtype": 1, "shape": (0, 2**62, 2**62)}, "not a tensor"),
            ({"dtype": 1, "shape": (-1,)}, "negative"),
            ({"dtype": 1, "shape": (1,) * 40, "tensor_content": b"1234"}, "40 dimensions"),
            ({"dtype": 21, "tensor_content": b"1234"}, "no dtype 21"),
            ({"tensor_content": b"1234"}, "no dtype"),
            ({"dtype": 7, "string_val": [b"\xff"], "shape": (1,)}, "decode"),
            ({"dtype": 10, "tensor_content": b"\1\2\0", "shape": (3,)}, "neither 0 nor 1"),
        ],
    )
    def test_what_contradicts_itself_is_damage(self, fields: dict[str, Any], why: str):
        """Sizes, lengths and dtypes must fit; nothing is allocated before they do."""
        with pytest.raises(CorruptRun, match=why):
            read(message(**fields))

    def test_events_of_other_kinds_are_damage(self):
        """A file version, a scalar without a tensor, or two values are not what smdebug writes."""
        scalar = Message()
        scalar.summary.value.add(tag="t", simple_value=1.0)
        double = Message.FromString(event("t", np.zeros(1), 0))
        double.summary.value.add(tag="u")

        for other in (Message(file_version="brain.Event:2"), scalar, double):
            with pytest.raises(CorruptRun, match="events/one is damaged at byte 0"):
                read(bytes(other.SerializeToString()))

    @pytest.mark.parametrize("wall_time", [float("nan"), float("inf")])
    def test_a_time_that_is_none_is_damage(self, wall_time: float):
        """Nothing was saved at no time."""
        with pytest.raises(CorruptRun, match="time"):
            read(event("t", np.zeros(1), 0, wall_time=wall_time))

    def test_values_may_be_written_to(self):
        """A value is a copy, so that it does not keep a whole file in memory."""
        found = read(event("t", np.zeros(3), 0)).value

        assert found.flags.owndata or found.base.nbytes == found.nbytes
        assert found.flags.writeable
