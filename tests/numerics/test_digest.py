"""The digest of a tensor, against a slow and obvious computation, with kernel and without."""

from __future__ import annotations

import math
import sys
import threading
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stepwatch.numerics import digest as of_digest
from stepwatch.numerics.digest import digest, row_digests
from stepwatch.numerics.elements import BLOCK
from tests.support.numeric_arrays import COMPLEX, REAL, SWAPPED, array_of_bits, arrays

# What SplitMix64 gives from seed 0, as published with it.
SPLITMIX = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]

for_all = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=["kernel", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Run each test both ways."""
    if request.param == "numpy":
        monkeypatch.setattr(of_digest, "_kernel", None)
    elif of_digest._kernel is None:
        pytest.skip("built without the kernel")
    return request.param


def splitmix(state):
    """Return what SplitMix64 makes of its state."""
    word = state % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def expected_digest(array):
    """The law, element by element, in whole numbers of Python."""
    elements = [array[index] for index in np.ndindex(array.shape)]
    if array.dtype.kind == "c":
        elements = [part for element in elements for part in (element.real, element.imag)]
    words = [int.from_bytes(element.tobytes(), sys.byteorder) for element in elements]
    return (
        sum(splitmix(word + (i + 1) * 0x9E3779B97F4A7C15) for i, word in enumerate(words)) % 2**64
    )


def random_array(dtype, *shape, seed=0):
    return array_of_bits(np.dtype(dtype), shape, np.random.default_rng(seed).bytes(4099))


class TestDigest:
    @pytest.mark.slow
    @for_all
    @given(arrays(REAL + COMPLEX + SWAPPED))
    def test_is_the_sum_over_the_elements_that_is_promised(self, array):
        """Any dtype, byte order, shape and strides, and any bits."""
        assert expected_digest(array) == digest(array)

    def test_zeros_have_the_sum_of_what_splitmix64_gives_from_seed_0(self):
        """The published sequence: others can compute the same."""
        assert sum(SPLITMIX) % 2**64 == digest(np.zeros(4, np.float32))

    @pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
    def test_many_elements_are_as_few_in_one_piece_or_not(self, dtype):
        """Blocks join without a seam, in the order of indices and not of memory."""
        array = random_array(dtype, 3, BLOCK // 2 + 5)
        parts = np.ascontiguousarray(array).reshape(-1)
        transposed = array.T.copy().T

        assert digest(parts) == digest(array) == digest(transposed)
        assert digest(parts[::2].copy()) == digest(parts[::2])

    @pytest.mark.parametrize("count", [7, 8, 2047, 2048, 2049, 100_000])
    @pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64], ids=str)
    def test_the_kernel_and_numpy_agree_at_every_length(self, dtype, count, monkeypatch):
        """Rests after whole vectors and whole blocks count as well."""
        array = random_array(dtype, count + 3)[3:]
        found = digest(array)
        monkeypatch.setattr(of_digest, "_kernel", None)

        assert digest(array) == found

    def test_the_bits_count(self):
        """What compares equal, or with nothing, differs where its bits do."""
        nans = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
        assert digest(np.array(0.0)) != digest(np.array(-0.0))
        assert digest(nans[:1]) != digest(nans[1:])

    def test_order_and_place_count(self):
        """An exchange of two elements, or a zero more, is seen."""
        one = np.array([1.0, 2.0, 0.0], np.float32)
        assert 4 == len({digest(one), digest(one[[1, 0, 2]]), digest(one[:2]), digest(one[::-1])})

    def test_shape_does_not_enter(self):
        """A flattened parameter is the same parameter."""
        array = random_array(np.float32, 4, 6)
        assert digest(array) == digest(array.reshape(2, 12)) == digest(array.ravel())

    @pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
    def test_nothing_has_the_digest_zero(self, shape):
        """The empty sum."""
        assert 0 == digest(np.zeros(shape, ml_dtypes.bfloat16)) == digest(np.zeros(shape, "c8"))

    def test_flipped_bits_are_seen_wherever_they_are(self):
        """Of 64 thousand elements, one bit of one at a time."""
        array = random_array(np.float32, 65_536).copy()
        seen = {digest(array)}
        for place in range(0, 65_536, 4_111):
            for bit in (0, 13, 31):
                array.view(np.uint32)[place] ^= np.uint32(1 << bit)
                seen.add(digest(array))
                array.view(np.uint32)[place] ^= np.uint32(1 << bit)

        assert 1 + 3 * math.ceil(65_536 / 4_111) == len(seen)

    def test_gaps_cost_no_copy_of_the_whole(self):
        """Elements are gathered block by block."""
        array = np.zeros((2**20, 2), np.float32)[:, 0]
        tracemalloc.start()
        try:
            digest(array)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak_bytes < array.nbytes / 2

    def test_threads_do_not_disturb_each_other(self):
        """Large arrays are read without the GIL."""
        array = random_array(np.float32, 2**20)
        found = []
        threads = [threading.Thread(target=lambda: found.append(digest(array))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [digest(array)] * 4 == found

    @pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(2, "V4")])
    def test_what_is_no_number_is_refused(self, array):
        """Text, objects and bytes that mean nothing to us."""
        with pytest.raises(TypeError, match="no digest of dtype"):
            digest(array)


class TestRows:
    @for_all
    @given(arrays(REAL + SWAPPED))
    def test_each_has_the_digest_that_it_has_alone(self, array):
        rows = np.atleast_1d(array)

        assert [digest(row) for row in rows] == row_digests(rows).tolist()

    def test_rows_with_gaps(self):
        array = np.arange(60.0).reshape(6, 10)

        for rows in (array[::2], array[:, ::3], array.T, array[:0], array[:, :0]):
            assert [digest(row) for row in rows] == row_digests(rows).tolist()

    def test_a_target_that_does_not_fit_is_refused(self, way):
        if way == "kernel":
            rows, target = np.zeros((3, 2), np.uint32), np.zeros(2, np.uint64)
            with pytest.raises(ValueError, match="as many elements"):
                of_digest._kernel.digest_rows(rows.__array_struct__, target.__array_struct__)
