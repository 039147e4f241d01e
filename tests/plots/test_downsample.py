"""Laws of downsampling: fewer points, no extreme lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.plots.downsample import bucket_starts, envelope, farthest

values_columns = st.lists(st.floats(), min_size=1, max_size=300)
widths = st.integers(1, 60)


class TestEnvelope:
    @pytest.mark.slow
    @given(values_columns, widths)
    def test_no_extreme_is_lost(self, values, points):
        """Lowest and highest finite value survive at any width."""
        column = envelope(range(len(values)), values, points=points)

        finite = [value for value in values if np.isfinite(value)]
        if not finite:
            assert np.isnan(column.low).all()
            return
        assert (min(finite), max(finite)) == (np.nanmin(column.low), np.nanmax(column.high))

    @given(values_columns, widths)
    def test_every_bucket_tells_of_exactly_its_own_steps(self, values, points):
        """Each value lies within the band of the one bucket that holds its step."""
        column = envelope(range(len(values)), values, points=points)

        assert len(column) <= points
        assert list(column.first[1:]) == list(column.last[:-1] + 1)
        for bucket in range(len(column)):
            held = np.array(values[column.first[bucket] : column.last[bucket] + 1])
            finite = held[np.isfinite(held)]
            assert len(held) - len(finite) == column.non_finite[bucket]
            assert (column.low[bucket] <= finite).all()
            assert (finite <= column.high[bucket]).all()

    @given(values_columns, widths)
    def test_mean_lies_in_the_band(self, values, points):
        """Rounding and overflow never draw the line outside of its own band."""
        column = envelope(range(len(values)), values, points=points)

        known = ~np.isnan(column.low)
        assert (column.low[known] <= column.mean[known]).all()
        assert (column.mean[known] <= column.high[known]).all()

    @given(values_columns)
    def test_with_enough_points_nothing_changes(self, values):
        """A short column comes back as it is, non-finite values as nan."""
        column = envelope(range(len(values)), values, points=300)

        expected = [value if np.isfinite(value) else np.nan for value in values]
        np.testing.assert_array_equal(expected, column.mean)

    def test_empty_column_has_no_buckets(self):
        """No values give no buckets, not an error."""
        assert 0 == len(envelope([], [], points=5))

    @pytest.mark.parametrize(
        ("steps", "values", "points"),
        [([0, 1], [1.0], 5), ([1, 0], [1.0, 2.0], 5), ([0], [1.0], 0)],
    )
    def test_what_cannot_be_meant_is_refused(self, steps, values, points):
        """Columns of two lengths, descending steps and no points are errors."""
        with pytest.raises(ValueError, match="must"):
            envelope(steps, values, points=points)


class TestBucketStarts:
    @given(st.integers(0, 5000), st.integers(1, 700))
    def test_buckets_are_equal_but_for_one(self, length, points):
        """Sizes of buckets differ by one at most and none is empty."""
        sizes = np.diff(np.append(bucket_starts(length, points), length))

        assert length == sizes.sum()
        assert length == 0 or (sizes.min() >= 1 and np.ptp(sizes) <= 1)


class TestFarthest:
    def test_the_unusual_survives_in_either_direction(self):
        """A spike and a drop are both kept, each in its row."""
        rows = np.array([[5.0, 5.0, 90.0, 5.0], [5.0, 5.0, 5.0, -90.0]])

        kept = farthest(rows, from_=np.array([5.0, 5.0]), points=2)

        np.testing.assert_array_equal([[5.0, 90.0], [5.0, -90.0]], kept)

    def test_rows_without_a_finite_value_stay_unknown(self):
        """Infinities and nan are never shown as a number."""
        rows = np.array([[np.nan, np.inf, -np.inf, np.nan]])

        assert np.isnan(farthest(rows, from_=np.array([np.nan]), points=2)).all()
