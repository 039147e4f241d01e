"""Histograms of exponents, against a slow and obvious computation, with kernel and without."""

from __future__ import annotations

import math
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stepwatch.numerics import exponents
from stepwatch.numerics.elements import BLOCK
from stepwatch.numerics.exponents import (
    HIGHEST,
    LOWEST,
    NUM_BINS,
    count_exponents,
    overflow_fraction,
    underflow_fraction,
)
from tests.support.numeric_arrays import FLOATS, REAL, SWAPPED, array_of_bits, arrays

for_all = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FORMATS = ["float16", "float8_e4m3fn", "float8_e5m2"]


@pytest.fixture(params=["kernel", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Run each test both ways."""
    if request.param == "numpy":
        monkeypatch.setattr(exponents, "_kernel", None)
    elif exponents._kernel is None:
        pytest.skip("built without the kernel")
    return request.param


def as_floats(array):
    with np.errstate(invalid="ignore"):  # signalling nans
        return array.astype(np.float64).ravel().tolist()


def expected_counts(array):
    """Element by element: the exponent is what stands after the p, as Python writes it."""
    counts = [0] * NUM_BINS
    for value in as_floats(array):
        if math.isfinite(value) and value:
            exponent = int(value.hex().rpartition("p")[2])
            counts[min(max(exponent - LOWEST, 0), NUM_BINS - 1)] += 1
    return counts


def random_array(dtype, *shape):
    return array_of_bits(np.dtype(dtype), shape, np.random.default_rng(0).bytes(4099))


def counts_of(*values):
    return count_exponents(np.array(values, np.float64))


class TestCountExponents:
    @pytest.mark.slow
    @for_all
    @given(arrays(REAL + SWAPPED))
    def test_every_element_is_in_the_bin_of_its_exponent(self, array):
        """Any dtype, byte order, shape and strides, and any bits."""
        assert expected_counts(array) == count_exponents(array).tolist()

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=str)
    def test_every_value_of_16_bits_is_right(self, dtype):
        """Subnormals of float16 have the exponents of their numbers."""
        array = np.arange(2**16).astype(np.uint16).view(dtype)

        assert expected_counts(array) == count_exponents(array).tolist()

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", REAL, ids=str)
    def test_many_elements_add_up(self, dtype):
        """Blocks, the rest after them, and gaps between the elements."""
        array = random_array(dtype, BLOCK + 4_099)

        assert expected_counts(array) == count_exponents(array).tolist()
        assert expected_counts(array[::2]) == count_exponents(array[::2]).tolist()

    def test_zeros_and_what_is_not_finite_are_in_no_bin(self):
        """The statistics count them."""
        assert not counts_of(0.0, -0.0, math.nan, math.inf, -math.inf).any()

    def test_what_lies_beyond_the_bins_is_in_the_first_and_the_last(self):
        """Nothing finite is lost."""
        counts = counts_of(5e-324, 2.0**LOWEST, -(2.0**HIGHEST), 1e308)

        assert [2, 2] == counts[[0, -1]].tolist()
        assert 4 == counts.sum()

    def test_parts_add_up_to_the_whole(self):
        """Micro-batches and shards."""
        array = random_array(np.float32, 500)
        parts = count_exponents(array[:123]) + count_exponents(array[123:])

        assert (count_exponents(array) == parts).all()

    @pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
    def test_scalars_and_nothing_have_a_histogram(self, shape):
        """Of one element, or of none."""
        array = np.ones(shape, np.float32)
        assert array.size == count_exponents(array).sum() == count_exponents(array)[-LOWEST]

    @pytest.mark.parametrize("dtype", FLOATS, ids=str)
    def test_the_whole_is_never_widened(self, dtype):
        """Also where there are gaps between the elements."""
        array = np.zeros((2**21, 2), dtype)[:, 0]
        tracemalloc.start()
        try:
            count_exponents(array)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak_bytes < 2**21

    @pytest.mark.parametrize("dtype", [np.complex64, object])
    def test_what_has_no_order_is_refused(self, dtype):
        """As for the statistics."""
        with pytest.raises(TypeError, match="no exponents of dtype"):
            count_exponents(np.zeros(2, dtype))


def spread(low, high, count=4_000):
    """Return numbers of both signs and of all magnitudes between two powers of two."""
    random = np.random.default_rng(0)
    return np.exp2(random.uniform(low, high, count)) * random.choice([-1, 1], count)


class TestUnderflow:
    @pytest.mark.parametrize("dtype", FORMATS)
    def test_is_the_part_that_the_format_rounds_to_zero(self, dtype):
        """To the element."""
        values = spread(-40, 0)
        lost = values.astype(dtype).astype(np.float64) == 0

        assert 0 < lost.mean() == underflow_fraction(count_exponents(values), dtype)

    def test_half_of_the_smallest_subnormal_is_the_edge(self):
        """Rounding to nearest makes a subnormal of what is above it."""
        counts = counts_of(2.0**-26, 2.0**-25, 2.0**-24, 1.0)
        assert 0.25 == underflow_fraction(counts, "float16")

    def test_zeros_do_not_underflow(self):
        """They are what they were."""
        assert 0.5 == underflow_fraction(counts_of(0.0, 0.0, 1e-10, 1.0), "float16")


class TestOverflow:
    @pytest.mark.parametrize("dtype", FORMATS)
    def test_is_the_part_that_the_format_cannot_hold(self, dtype):
        """To the element, but for what lies between its largest and the next power of two."""
        values = spread(0, 22)
        largest = float(ml_dtypes.finfo(dtype).max)
        power = 2.0 ** math.ceil(math.log2(largest))
        values = values[(abs(values) <= largest) | (abs(values) >= power)]
        with np.errstate(over="ignore"):
            lost = ~np.isfinite(values.astype(dtype).astype(np.float64))

        assert 0 < lost.mean() == overflow_fraction(count_exponents(values), dtype)

    def test_what_shares_a_bin_with_what_fits_is_not_counted(self):
        """65520 is too large for float16, but in the bin of 32768."""
        assert 0.0 == overflow_fraction(counts_of(65520.0, 32768.0), "float16")


@pytest.mark.parametrize("fraction", [underflow_fraction, overflow_fraction])
class TestFractions:
    def test_many_histograms_give_many_fractions(self, fraction):
        """Steps on the first axes."""
        rows = np.stack([counts_of(1e-12, 1e6), counts_of(1.0, 1.0), counts_of()])

        np.testing.assert_array_equal([0.5, 0.0, np.nan], fraction(rows, "float16"))

    def test_bfloat16_is_told_only_where_the_bins_can_tell(self, fraction):
        """Its range is that of float32, and reaches beyond both ends."""
        assert 0.0 == fraction(counts_of(1e-6, 1e6), "bfloat16")
        assert math.isnan(fraction(counts_of(1e-30, 1e30), "bfloat16"))
