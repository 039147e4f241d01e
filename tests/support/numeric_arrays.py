"""Arrays of any dtype, bits and strides, for tests of what reads their elements."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
NARROW_FLOATS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
REAL = [np.dtype(dtype) for dtype in (*FLOATS, *NARROW_FLOATS, *INTEGERS, np.bool_)]
COMPLEX = [np.dtype(dtype) for dtype in (np.complex64, np.complex128)]
SWAPPED = [np.dtype(dtype).newbyteorder() for dtype in ("f4", "f8", "f2", "i2", "u8")]


def array_of_bits(dtype: np.dtype, shape: tuple[int, ...], data: bytes) -> np.ndarray:
    """Return an array whose bits are ``data``, over and over; bools are 0 or 1."""
    size = int(np.prod(shape)) * dtype.itemsize
    whole = np.frombuffer((data * (size // len(data) + 1))[:size], np.uint8)
    return (whole & 1 if dtype.kind == "b" else whole).view(dtype).reshape(shape)


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[np.dtype]) -> np.ndarray:
    """Any bits, up to three axes, reversed, with gaps, in any order and anywhere; read-only."""
    shape = tuple(draw(st.lists(st.integers(0, 6), max_size=3)))
    array = array_of_bits(draw(st.sampled_from(dtypes)), shape, draw(st.binary(min_size=1)))
    if draw(st.booleans()):  # not where the processor would like it
        array = np.frombuffer(b" " + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(shape)
    steps = draw(st.tuples(*(st.sampled_from([1, 1, 2, -1, -3]) for _ in shape)))
    array = array[tuple(slice(None, None, step) for step in steps)]
    return array.transpose(draw(st.permutations(range(array.ndim))))
