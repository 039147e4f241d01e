"""Tests of the statistics, each against a slow and obvious computation, with kernel and without."""

from __future__ import annotations

import math
import pickle
import threading
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwatch.numerics import statistics
from stepwatch.numerics.statistics import (
    ABS_MIN,
    BLOCK,
    COUNT,
    DERIVED,
    FIELDS,
    MAX,
    MIN,
    NAN,
    NUM_FIELDS,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
    Statistics,
    merge,
    quantity,
    summarize,
    summarize_into,
    summarize_numbers,
)

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
FLOATS_OF_ONE_BYTE = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = [np.dtype(dtype) for dtype in (*FLOATS, *FLOATS_OF_ONE_BYTE, *INTEGERS, np.bool_)]

# The fixture below is the same for every example.
for_all = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=["kernel", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Run each test both ways."""
    if request.param == "numpy":
        monkeypatch.setattr(statistics, "_kernel", None)
    elif not statistics.has_kernel():
        pytest.skip("built without the kernel")
    return request.param


def as_float64(array):
    with np.errstate(invalid="ignore"):  # signalling nans
        return array.astype(np.float64)


def expected_statistics(array):
    values = as_float64(array).ravel().tolist()
    finite = [value for value in values if math.isfinite(value)]
    return np.array(
        [
            len(values),
            sum(math.isnan(value) for value in values),
            values.count(math.inf),
            values.count(-math.inf),
            values.count(0.0),
            min(finite, default=math.nan),
            max(finite, default=math.nan),
            math.fsum(finite),
            math.fsum(abs(value) for value in finite),
            math.fsum(value * value for value in finite),
            min((abs(value) for value in finite), default=math.nan),
        ]
    )


def assert_statistics(expected, actual):
    """Counts and extremes are exact; sums are as good as float64 makes them."""
    rounding = 1e-13 * np.ones(NUM_FIELDS)
    rounding[:SUM] = rounding[ABS_MIN] = 0.0
    scale = np.abs(expected)
    scale[SUM] = expected[SUM_ABS]
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
    with np.errstate(invalid="ignore"):
        close = np.abs(expected - actual) <= rounding * scale
    wrong = [field for field, good in zip(FIELDS, same | close, strict=True) if not good]
    assert [] == wrong, f"expected {expected}, got {actual}"


def random_array(dtype, shape, seed=0):
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return random.normal(size=shape).astype(np.float32).astype(dtype)


def every_bit_pattern(dtype):
    """Return every number that the dtype has, normal, subnormal, nan or infinite."""
    bits = np.dtype(dtype).itemsize * 8
    return np.arange(2**bits, dtype=f"uint{bits}").view(dtype)


class TestElements:
    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    @pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000, BLOCK + 1])
    def test_every_dtype_agrees_with_plain_float64(self, dtype, size):
        """Whatever the dtype, the numbers are those of its elements as float64."""
        array = random_array(dtype, size)

        assert_statistics(expected_statistics(array), summarize(array))

    @pytest.mark.parametrize(
        "dtype", [np.float16, ml_dtypes.bfloat16, *FLOATS_OF_ONE_BYTE, np.int8, np.uint8]
    )
    def test_every_number_of_a_small_dtype_is_read_right(self, dtype):
        """Each bit pattern alone, in its lane, and all of them together."""
        numbers = every_bit_pattern(dtype)

        assert_statistics(expected_statistics(numbers), summarize(numbers))
        sums = [summarize(numbers[i : i + 16])[SUM] for i in range(0, numbers.size, 16)]
        groups = as_float64(numbers).reshape(-1, 16)
        np.testing.assert_allclose(
            sums, np.where(np.isfinite(groups), groups, 0.0).sum(axis=1), rtol=1e-13, atol=1e-300
        )

    @for_all
    @given(
        size=st.integers(0, 5000),
        seed=st.integers(0, 2**32 - 1),
        dtype=st.sampled_from(FLOATS),
        specials=st.lists(
            st.tuples(
                st.integers(0, 4999),
                st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -3e38, 1e300]),
            ),
            max_size=20,
        ),
    )
    @pytest.mark.filterwarnings("ignore:overflow")
    def test_any_size_with_specials_anywhere(self, size, seed, dtype, specials):
        """No size, lane or block edge is special, wherever the odd elements stand."""
        array = random_array(dtype, size, seed)
        for index, value in specials:
            array[index : index + 1] = np.float64(value).astype(dtype)

        assert_statistics(expected_statistics(array), summarize(array))

    @for_all
    @given(st.lists(st.floats(width=32), max_size=70))
    def test_any_float32_values(self, values):
        """Every float32 is counted right; none of their squares leaves float64."""
        array = np.array(values, np.float32)

        assert_statistics(expected_statistics(array), summarize(array))

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_all_nan_leaves_counts_only(self, dtype):
        """Without a finite element the extremes are nan and the sums zero."""
        row = summarize(np.full(5000, np.nan, dtype))

        assert [5000, 5000, 0, 0, 0] == row[: ZEROS + 1].tolist()
        assert np.isnan(row[[MIN, MAX, ABS_MIN]]).all()
        assert [0, 0, 0] == row[[SUM, SUM_ABS, SUM_SQ]].tolist()

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_empty_has_zero_counts_and_nan_extremes(self, dtype):
        """An empty tensor is no error."""
        assert_statistics(expected_statistics(np.empty(0)), summarize(np.empty((3, 0), dtype)))

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_no_axes_is_one_element(self, dtype):
        """A scalar is a tensor with one element."""
        assert_statistics(expected_statistics(np.ones(1)), summarize(np.ones((), dtype)))

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_minus_zero_is_zero(self, dtype):
        """Zeros of either sign are counted, and no extreme is minus zero."""
        row = summarize(np.full(20, -0.0, dtype))

        assert 20 == row[ZEROS]
        assert not np.signbit(row[[MIN, MAX, ABS_MIN]]).any()

    def test_squares_beyond_float32_are_finite(self):
        """3e38 is a float32; its square is not, but it is a float64."""
        array = np.full(100, -3e38, np.float32)

        assert_statistics(expected_statistics(array), summarize(array))

    def test_squares_below_float32_are_not_lost(self):
        """The square of a subnormal float32 is a float64."""
        array = np.full(100, 1e-40, np.float32)

        row = summarize(array)

        assert_statistics(expected_statistics(array), row)
        assert 0 == row[ZEROS] < row[SUM_SQ]

    def test_squares_beyond_float64_are_infinite(self):
        """What float64 cannot hold is inf, without a warning; the rest stays right."""
        row = summarize(np.array([1e300, -1e300, 1e-300, np.nan]))

        assert (math.inf, 2e300) == (row[SUM_SQ], row[SUM_ABS])
        assert (-1e300, 1e300, 1e-300) == (row[MIN], row[MAX], row[ABS_MIN])

    def test_sums_beyond_float64_are_no_non_finite_elements(self):
        """A float64 sum that overflows does not turn its elements into infinities."""
        row = summarize(np.full(5000, 1e308))

        assert [5000, 0, 0, 0, 0] == row[: ZEROS + 1].tolist()
        assert (1e308, 1e308, 1e308) == (row[MIN], row[MAX], row[ABS_MIN])
        assert (math.inf, math.inf) == (row[SUM], row[SUM_ABS])

    def test_large_integers_are_rounded_as_float64(self):
        """2**64 - 1 is 2**64 as float64."""
        row = summarize(np.full(3, 2**64 - 1, np.uint64))

        assert (2.0**64, 3 * 2.0**64) == (row[MAX], row[SUM])

    @pytest.mark.parametrize(
        "dtype", ["complex64", object, "U3", "S3", "M8[s]", "m8[s]", [("x", "f4")]]
    )
    def test_a_dtype_without_order_is_refused(self, dtype):
        """The message names the dtype."""
        array = np.zeros(3, dtype)

        with pytest.raises(TypeError, match=r"no statistics of dtype .*; need bool, integers or"):
            summarize(array)


LAYOUTS = {
    "transposed": lambda array: array.transpose(2, 0, 1),
    "fortran": lambda array: np.asfortranarray(array),
    "reversed": lambda array: array[::-1, :, ::-1],
    "reversed and transposed": lambda array: array[:, ::-1].T,
    "strided": lambda array: array[::2, 1::3],
    "column": lambda array: array[:, :, 3],
    "windowed": lambda array: array[1:-1, 1:-1, 1:-1],
    "broadcast": lambda array: np.broadcast_to(array[:, :1], array.shape),
    "one element repeated": lambda array: np.broadcast_to(array[3, 3, 3], (200, 300)),
    "axes of length one": lambda array: array[3:4, :, 4:5],
    "unaligned": lambda array: unaligned(array),
    "read-only": lambda array: read_only(array),
}


def unaligned(array):
    memory = np.empty(array.nbytes + 1, np.uint8)
    moved = memory[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array):
    array.flags.writeable = False
    return array


class TestLayouts:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("dtype", [*FLOATS, ml_dtypes.float8_e5m2, np.int16])
    def test_only_the_elements_matter(self, dtype, layout):
        """Strides, order, alignment and overlap change nothing."""
        array = random_array(dtype, (40, 37, 30))
        array[3, 3, 3] = 0 if array.dtype.kind == "i" else np.nan
        array = LAYOUTS[layout](array)

        assert_statistics(expected_statistics(array), summarize(array))

    @pytest.mark.parametrize("dtype", [">f4", ">f8", ">f2", ">i4"])
    def test_the_byte_order_does_not_matter(self, dtype):
        """An array of the other byte order is read right."""
        array = random_array(np.dtype(dtype).newbyteorder("="), 3000).astype(dtype)

        assert_statistics(expected_statistics(array), summarize(array))

    @for_all
    @given(st.data())
    def test_any_slices(self, data):
        """Any basic slice of a tensor has the statistics of its copy."""
        array = random_array(np.float32, (9, 10, 11))
        slices = [data.draw(st.slices(length)) for length in array.shape]
        part = array[tuple(slices)].transpose(data.draw(st.permutations(range(3))))

        assert_statistics(expected_statistics(part), summarize(part))

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.float8_e5m2, np.uint8])
    @pytest.mark.parametrize("stride", [1, 2])
    def test_no_copy_of_the_whole(self, dtype, stride):
        """A small dtype with holes is widened block by block."""
        array = np.zeros(8 * 2**20 // np.dtype(dtype).itemsize, dtype)[::stride]
        tracemalloc.start()
        try:
            summarize(array)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak_bytes < 2 * 2**20


class TestSummarizeInto:
    def test_fills_its_row_and_no_other(self):
        """A row of a matrix is written in place."""
        matrix = np.full((3, NUM_FIELDS), -1.0)
        array = random_array(np.float32, 100)

        summarize_into(array, matrix[1])

        assert_statistics(expected_statistics(array), matrix[1])
        assert (matrix[[0, 2]] == -1.0).all()

    @pytest.mark.parametrize(
        "row", [np.zeros(NUM_FIELDS - 1), read_only(np.zeros(NUM_FIELDS))], ids=["short", "locked"]
    )
    def test_refuses_what_is_no_row(self, row):
        """Memory that is not ours is never written."""
        with pytest.raises(ValueError, match=r"row|shape|read-only"):
            summarize_into(np.ones(3, np.float32), row)

        assert not row.any()

    def test_threads_do_not_disturb_each_other(self):
        """Large arrays are read without the GIL, each into its own row."""
        array = random_array(np.float32, 2**20)
        matrix = np.empty((4, NUM_FIELDS))
        threads = [threading.Thread(target=summarize_into, args=(array, row)) for row in matrix]

        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert (matrix == summarize(array)).all()


class TestSummarizeNumbers:
    def test_each_is_a_tensor_of_one_element(self):
        """The same bits as of an array; other rows are left alone."""
        numbers = (0.0, -0.0, 1e200, -2.5, math.nan, math.inf, -math.inf, 3)
        rows = np.zeros((len(numbers) + 2, NUM_FIELDS))
        summarize_numbers(numbers, rows, 1)

        for row, number in zip(rows[1:-1], numbers, strict=True):
            assert summarize(np.asarray(number, np.float64)).tobytes() == row.tobytes()
        assert not rows[[0, -1]].any()


class TestMerge:
    @for_all
    @given(
        st.lists(
            st.lists(st.floats(width=32) | st.sampled_from([0.0, math.nan, math.inf]), max_size=40),
            max_size=5,
        )
    )
    def test_is_the_summary_of_the_concatenation(self, parts):
        """Parts merge to the whole, empty and non-finite parts included."""
        arrays = [np.array(part, np.float32) for part in parts]
        rows = np.array([summarize(array) for array in arrays]).reshape(-1, NUM_FIELDS)

        expected = summarize(np.concatenate([np.empty(0, np.float32), *arrays]))

        assert_statistics(expected, merge(rows))

    def test_merges_many_tensors_at_once(self):
        """Only the first axis is merged."""
        whole = random_array(np.float32, (6, 5, 20))
        rows = np.array([[summarize(tensor) for tensor in part] for part in whole])

        merged = merge(rows)

        assert (5, NUM_FIELDS) == merged.shape
        for tensor in range(5):
            assert_statistics(expected_statistics(whole[:, tensor]), merged[tensor])

    def test_leaves_its_input_alone(self):
        """Rows are read only."""
        rows = np.array([summarize(np.ones(3)), summarize(np.zeros(2))])
        before = rows.copy()

        merge(rows)

        assert (before == rows).all()


class TestStatistics:
    ARRAY = np.array([3.0, -4.0, 0.0, 12.0, np.nan, -np.inf])

    def test_derived_quantities_are_those_of_the_finite_elements(self):
        """Everything follows from the eleven fields."""
        finite = self.ARRAY[np.isfinite(self.ARRAY)]
        expected = {
            "finite": 4,
            "non_finite": 2,
            "mean": finite.mean(),
            "variance": finite.var(),
            "std": finite.std(),
            "l1": 19.0,
            "l2": 13.0,
            "rms": 6.5,
            "abs_mean": 4.75,
            "abs_max": 12.0,
            "zero_fraction": 1 / 6,
        }
        statistics_of_array = Statistics(summarize(self.ARRAY))

        actual = {name: getattr(statistics_of_array, name) for name in DERIVED}

        assert expected == pytest.approx(actual)

    def test_counts_are_ints(self):
        """A count prints as a count."""
        row = Statistics(summarize(self.ARRAY))

        assert "6 1 4 2.75" == f"{row.count} {row.nan} {row.finite} {row.mean}"

    def test_quantities_of_an_empty_tensor_are_nan_without_a_warning(self):
        """What is not defined is nan."""
        rows = summarize(np.empty(0))

        assert np.isnan([quantity(rows, name) for name in ("mean", "std", "abs_max")]).all()

    def test_quantities_of_many_rows_come_at_once(self):
        """One look gives a column."""
        rows = np.array([summarize(np.full(2, value)) for value in (1.0, 2.0, 3.0)])

        assert [1.0, 2.0, 3.0] == quantity(rows, "mean").tolist()
        assert [2.0, 2.0, 2.0] == quantity(rows, "count").tolist()

    def test_an_unknown_name_is_told_with_the_known_ones(self):
        """The way out stands in the message."""
        row = summarize(self.ARRAY)

        with pytest.raises(KeyError, match="no statistic 'median'; there are count, nan"):
            quantity(row, "median")
        with pytest.raises(AttributeError, match="no statistic 'median'"):
            _ = Statistics(row).median

    def test_travels_between_processes(self):
        """It can be pickled."""
        there_and_back = pickle.loads(pickle.dumps(Statistics(summarize(self.ARRAY))))

        assert (6, 1) == (there_and_back.row[COUNT], there_and_back.row[NAN])
