"""Statistics that are computed in a graph are those that are computed of the array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from stepwatch.hooks.jax.packed_stats import pack_stats, unpack_stats
from stepwatch.model.record import TensorInfo
from stepwatch.numerics.statistics import summarize

pytestmark = pytest.mark.framework
RANDOM = np.random.default_rng(0)


def rows(*arrays):
    """Return the statistics of arrays as a compiled function computes them."""
    infos = [TensorInfo("x", "weights", one.dtype.name, one.shape) for one in arrays]
    sent = jax.jit(pack_stats)([jnp.asarray(one) for one in arrays])
    return unpack_stats(np.asarray(sent), infos)


class TestPackStats:
    @pytest.mark.parametrize(
        "array",
        [
            RANDOM.normal(size=(7, 33)).astype(np.float32),
            RANDOM.normal(size=(5, 3)).astype(ml_dtypes.bfloat16),
            RANDOM.normal(size=100).astype(np.float16),
            RANDOM.normal(size=9).astype(ml_dtypes.float8_e4m3fn),
            RANDOM.integers(-9, 9, size=(3, 4)).astype(np.int32),
            RANDOM.integers(0, 2, size=11).astype(bool),
            np.array([1.5, np.nan, np.inf, -np.inf, np.inf, 0.0, -0.0, -3.0], np.float32),
            np.full(4, np.nan, np.float32),
            np.zeros((0, 3), np.float32),
            np.float32(2.5) * np.ones(()),
        ],
        ids=lambda array: f"{array.dtype.name}{array.shape}",
    )
    def test_rows_are_those_of_the_array(self, array):
        """Of every dtype, and of what is not finite, empty or a scalar."""
        array = np.asarray(array, jnp.asarray(array).dtype)
        np.testing.assert_allclose(summarize(array), rows(array)[0], rtol=1e-5)

    @pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 3e38])
    def test_squares_of_float32_neither_vanish_nor_overflow(self, scale):
        """A norm of 1e-25 is not zero, and one of 1e30 is not infinite."""
        array = (np.array([0.5, -0.25, 0.125]) * scale).astype(np.float32)

        np.testing.assert_allclose(summarize(array), rows(array)[0], rtol=1e-5)

    def test_float64_is_summed_in_float64(self):
        """Where it is switched on."""
        with jax.enable_x64(True):
            array = np.array([1.0, 1e-12, 1e200])
            small = np.float32([1, 2])
            expected = [summarize(array), summarize(small)]
            with np.errstate(over="ignore"):
                np.testing.assert_array_equal(expected, rows(array, small))
