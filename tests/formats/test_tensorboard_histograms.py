"""What TensorBoard shows as histograms."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.summary_pb2 import HistogramProto
from tensorboard.util import tensor_util

from stepwatch.formats.tensorboard import TensorBoardWriter, bucket_counts, histogram, limits
from tests.support.formats.tensorboard_steps import (
    END,
    files,
    histograms,
    seen,
    slow_histogram,
    step_of,
)

DTYPES = (
    "float64", "float32", "float16", "int8", "int64", "uint8", "uint64", "bfloat16",
    "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip


def decoded(array):
    return HistogramProto.FromString(histogram(array))


def buckets(found):
    return list(found.bucket_limit), list(found.bucket)


class TestHistogram:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_element_lies_in_its_bucket(self, dtype):
        """Whatever the dtype: the count of one by one, in as many elements as take two blocks."""
        random = np.random.default_rng(0)
        wide = random.normal(size=40_000) * 10.0 ** random.integers(-8, 2, 40_000)
        values = (np.abs(wide) if dtype.startswith("uint") else wide).astype(dtype)
        assert slow_histogram(values) == buckets(decoded(values.reshape(100, 400)))

    @given(hnp.arrays(np.float64, st.integers(1, 50), elements=st.floats(allow_nan=False)))
    def test_any_finite_numbers_lie_in_their_buckets(self, values):
        """The tiniest and the greatest too, and zeros of both signs."""
        finite = values[np.isfinite(values)]
        if finite.size:
            assert slow_histogram(finite) == buckets(decoded(values))
        else:
            assert histogram(values) is None

    def test_limits_and_their_neighbours_lie_on_the_right_side(self):
        """A bucket holds its lower limit and not its upper one; the last holds both."""
        edges = limits()
        for shifted in (edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)):
            expected = np.clip(np.searchsorted(edges, shifted, "right") - 1, 0, len(edges) - 2)
            counts = np.bincount(expected, minlength=len(edges) - 1)
            np.testing.assert_array_equal(counts, bucket_counts(shifted))

    def test_there_are_1549_limits(self):
        """As many as TensorFlow has, but for its outermost two."""
        assert (1549, 1e-12, 0.0) == (len(limits()), limits()[775], limits()[774])

    def test_the_sums_are_those_of_the_elements(self):
        """Smallest, greatest, count, sum and sum of squares."""
        found = decoded(np.array([[3, -4], [0, 1]], np.int16))
        assert (-4.0, 3.0, 4.0, 0.0, 26.0) == (
            found.min, found.max, found.num, found.sum, found.sum_squares,
        )  # fmt: skip

    def test_what_is_not_finite_is_left_out(self):
        """The rest is shown as if it were all."""
        values = np.array([1.0, np.nan, -np.inf, 2.0, np.inf], np.float32)
        assert decoded(values[[0, 3]]) == decoded(values)

    @pytest.mark.parametrize(
        "values",
        [
            np.empty((0, 3), np.float32),
            np.array([True, False]),
            np.array([np.nan, np.inf]),
            np.array([1 + 2j]),
            np.array(["text"]),
            np.array([np.nan], ml_dtypes.bfloat16),
        ],
    )
    def test_where_there_is_nothing_to_count_there_is_none(self, values):
        """Of truth values smdebug makes none either."""
        assert histogram(values) is None

    def test_the_array_stays_as_it_is(self):
        """In any memory order, also one that may not be written to."""
        values = np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, ::-1]
        values.flags.writeable = False
        assert slow_histogram(np.arange(6.0)) == buckets(decoded(values))


class TestShown:
    @pytest.fixture
    def show(self, tmp_path):
        """Return a function that writes a step with full values and returns its histograms."""

        def show_step(arrays, **options):
            writer = TensorBoardWriter(str(tmp_path), "worker_0", **options)
            writer.write(step_of(arrays, 3, raw=True))
            writer.close(END)
            return histograms(files(tmp_path)[0])

        return show_step

    def test_full_values_are_shown_under_their_kind(self, show):
        """Weights and gradients of one element too; what is a curve is not."""
        found = show(
            {"w:0": np.ones(3), "b": np.ones(1), "gradient/w": np.ones(3), "loss/a": np.ones(())}
        )
        assert ["weights/w_0", "weights/b", "gradients/gradient/w"] == list(found)

    def test_statistics_alone_make_none(self, tmp_path):
        """There is nothing to count."""
        writer = TensorBoardWriter(str(tmp_path), "worker_0")
        writer.write(step_of({"w": np.ones(3)}))
        writer.close(END)
        assert [] == seen(tmp_path).Tags()["histograms"]

    def test_collections_can_be_chosen_by_name(self, show):
        """Where a configuration says of which collections there are histograms."""
        chosen = {"w": "custom"}
        assert ["custom/w"] == list(show({"w": np.ones(3), "v": np.ones(3)}, histogram=chosen.get))

    def test_tensorboard_shows_what_was_counted(self, show, tmp_path):
        """It makes triples of lower limit, upper limit and count, from smallest to greatest."""
        show({"w": np.array([-1.0, 0.5, 0.5, 2.0])})
        loader = EventFileLoader(os.fspath(files(tmp_path)[0]))
        (tensor,) = (
            tensor_util.make_ndarray(value.tensor)
            for event in loader.Load()
            for value in event.summary.value
            if value.tag == "weights/w"
        )
        filled = tensor[tensor[:, 2] > 0]

        assert (-1.0, 2.0) == (tensor[0, 0], tensor[-1, 1])
        assert [1.0, 2.0, 1.0] == filled[:, 2].tolist()
        assert filled[1, 0] <= 0.5 < filled[1, 1]

    def test_the_accumulator_of_tensorboard_reads_them_too(self, show, tmp_path):
        """By the other of its two ways, with the step."""
        show({"w": np.array([-1.0, 0.5])})
        (found,) = seen(tmp_path).Histograms("weights/w")
        assert (3, slow_histogram(np.array([-1.0, 0.5]))) == (
            found.step, (found.histogram_value.bucket_limit, found.histogram_value.bucket),
        )  # fmt: skip
