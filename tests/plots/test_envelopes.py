"""Envelopes hold few numbers of many values, and every extreme of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.plots.downsample import Envelopes, envelope


def of_one(steps, values, points, *, pieces=1):
    """Return the envelope of one row that was given in so many pieces."""
    found = Envelopes(1, points)
    for part in np.array_split(np.arange(len(steps)), pieces):
        rows = np.zeros(len(part), np.int64)
        found.add(rows, np.asarray(steps)[part], np.asarray(values, np.float64)[part])
    return found.of_row(0)


class TestEnvelopes:
    def test_few_values_stay_as_they_are(self):
        """With a bucket for each step, nothing is joined."""
        found = of_one(np.arange(5), [3.0, 1.0, 4.0, 1.0, 5.0], points=5)

        assert [3.0, 1.0, 4.0, 1.0, 5.0] == found.mean.tolist()
        assert [0, 1, 2, 3, 4] == found.first.tolist() == found.last.tolist()

    def test_a_spike_among_a_million_survives(self):
        """It is the highest value of its bucket, as it is."""
        values = np.ones(1_000_000)
        values[612_345] = 77.0
        found = of_one(np.arange(1_000_000), values, points=300)

        assert len(found) <= 300
        (bucket,) = np.flatnonzero(found.high == 77.0)
        assert found.first[bucket] <= 612_345 <= found.last[bucket]

    @settings(max_examples=25)
    @given(
        st.lists(
            st.tuples(st.integers(0, 5000), st.floats(-1e6, 1e6) | st.just(float("nan"))),
            min_size=1,
            max_size=60,
            unique_by=lambda one: one[0],
        ),
        st.integers(1, 9),
        st.integers(1, 7),
    )
    def test_it_does_not_matter_how_values_come(self, pairs, points, pieces):
        """In any order and any pieces they give the same, with no more buckets than asked for."""
        ordered = sorted(pairs)
        here = of_one(*map(list, zip(*ordered, strict=True)), points)
        there = of_one(*map(list, zip(*pairs, strict=True)), points, pieces=pieces)

        assert len(here) <= points
        for what in ("first", "last", "low", "high", "non_finite"):
            np.testing.assert_array_equal(getattr(here, what), getattr(there, what))
        np.testing.assert_allclose(here.mean, there.mean, rtol=1e-9, atol=1e-6)

    def test_extremes_are_those_of_all_values(self):
        """Lowest and highest over all buckets are those that went in, as ``envelope`` has them."""
        values = np.random.default_rng(0).normal(size=10_000)
        found = of_one(np.arange(10_000), values, points=64)
        known = envelope(np.arange(10_000), values, points=64)

        assert known.low.min() == found.low.min()
        assert known.high.max() == found.high.max()

    def test_the_farthest_value_of_a_bucket_is_shown(self):
        """Where no value is negative, far away means a large factor."""
        factors, differences = Envelopes(1, 2), Envelopes(1, 2)
        row = np.zeros(4, np.int64)
        factors.add(row, np.arange(4), np.array([1.0, 1.0, 1.6, 0.001]))
        differences.add(row, np.arange(4), np.array([-1.0, 1.0, 1.6, 0.001]))

        assert [0, 2] == factors.farthest()[0].tolist()
        assert [[1.0, 0.001]] == factors.farthest()[1].tolist()
        assert [[1.0, 1.6]] == differences.farthest()[1].tolist()

    def test_what_is_told_as_not_finite_may_still_have_a_value(self):
        """A tensor with one nan has a mean of the others; both are known."""
        found = Envelopes(1, 4)
        unfit = np.array([True, False])
        found.add(np.zeros(2, np.int64), np.array([0, 1]), np.array([2.0, 3.0]), unfit)

        assert [2.0, 3.0] == found.of_row(0).mean.tolist()
        assert [[True, False]] == found.unfit().tolist()

    def test_nothing_gives_nothing(self):
        """Without a value there is no bucket."""
        assert 0 == len(Envelopes(1, 5).of_row(0))
        assert (1, 0) == Envelopes(1, 5).farthest()[1].shape
