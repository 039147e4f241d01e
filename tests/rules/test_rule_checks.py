"""The arithmetic of the rules, a second time, slow and obvious."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.numerics import measures
from tests.support.rules.rule_records import row_of

numbers = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)
lists = st.lists(numbers, min_size=1, max_size=20)
anything = st.floats(width=32)


class TestOfRows:
    @given(st.lists(lists, min_size=1, max_size=4))
    def test_global_norm_is_that_of_all_elements_in_one_vector(self, tensors):
        rows = np.array([row_of(values) for values in tensors])
        together = math.sqrt(sum(x * x for values in tensors for x in values))
        assert together == pytest.approx(measures.global_norm(rows))

    def test_global_norm_of_anything_not_finite_is_nan(self):
        rows = np.array([row_of([1.0]), row_of([math.inf, 1.0])])
        assert math.isnan(measures.global_norm(rows))

    @given(lists)
    def test_magnitude_is_the_mean_over_non_zero_elements_if_most_are_zero(self, values):
        zeros = values.count(0.0)
        chosen = (
            [abs(x) for x in values if x] if 2 * zeros > len(values) else list(map(abs, values))
        )
        expected = statistics.fmean(chosen) if chosen else 0.0
        assert expected == pytest.approx(measures.magnitude(row_of(values)[None])[0])

    @given(st.lists(anything, min_size=1))
    def test_zero_percent_is_over_all_elements(self, values):
        """What is not finite is not zero either."""
        found = measures.zero_percent(row_of(values)[None])[0]
        assert 100 * values.count(0.0) / len(values) == pytest.approx(found)

    @pytest.mark.parametrize("function", [measures.magnitude, measures.zero_percent])
    def test_an_empty_tensor_gives_nan_and_no_warning(self, function):
        assert math.isnan(function(row_of([])[None])[0])

    @pytest.mark.parametrize(
        ("values", "expected"),
        [([1.0, 3.0], 2.0), ([math.inf, 1.0], math.inf), ([-math.inf], -math.inf)],
    )
    def test_a_scalar_is_the_mean_of_its_micro_batches(self, values, expected):
        assert expected == measures.scalar_value(row_of(values))

    @pytest.mark.parametrize("values", [[], [math.nan, 1.0], [math.inf, -math.inf]])
    def test_a_scalar_of_which_one_part_is_nan_is_nan(self, values):
        """The mean over the finite part alone would hide it."""
        assert math.isnan(measures.scalar_value(row_of(values)))


class TestOfLosses:
    @given(numbers, lists)
    def test_robust_z_by_sorting(self, value, window):
        median = statistics.median(window)
        spread = 1.4826 * statistics.median(abs(x - median) for x in window)
        score, found = measures.robust_z(value, [*window, math.nan])
        assert median == pytest.approx(found)
        assert (value - median) / (spread + 1e-12) == pytest.approx(score, rel=1e-6)

    def test_robust_z_of_the_reference_spike(self):
        """Losses of 2.5 +- 0.02 and one of 3.2 score far above 8, and nothing else does."""
        losses = 2.5 + 0.02 * np.random.default_rng(0).normal(size=400)
        scores = [measures.robust_z(losses[i], losses[i - 64 : i])[0] for i in range(64, 400)]
        assert max(scores) < 8 < 25 < measures.robust_z(3.2, losses[-64:])[0]

    def test_an_empty_window_has_no_score(self):
        assert all(map(math.isnan, measures.robust_z(1.0, [math.nan])))

    @given(st.lists(st.tuples(st.integers(0, 99), numbers), min_size=2, max_size=12))
    def test_theil_sen_is_the_median_slope(self, points):
        points = list(dict(points).items())
        slopes = [
            (y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1 :]
        ]
        found = measures.theil_sen(*zip(*points, strict=True))
        if not slopes:
            assert math.isnan(found)
        else:
            assert statistics.median(slopes) == pytest.approx(found, rel=1e-6, abs=1e-6)

    @pytest.mark.parametrize(
        ("then", "now", "verdict"),
        [
            (1.0, 0.9, ""),  # falls
            (1.0, 1.0, "plateau"),
            (1.0, 0.9995, "plateau"),
            (1.0, 0.999, ""),  # falls by 0.1 %
            (1.0, 1.04, ""),  # within the noise
            (1.0, 1.06, "rose"),
            (-1.0, -1.1, ""),  # a negative loss falls too
            (-1.0, -0.9, "rose"),
            (0.0, 1e-9, "rose"),
            (0.0, 0.0, "plateau"),
            (1.0, math.nan, "not finite"),
            (1.0, math.inf, "not finite"),
            (math.nan, 1.0, ""),
        ],
    )
    def test_loss_verdict(self, then, now, verdict):
        """A dead band: small rises are noise, small falls are a plateau."""
        found = measures.loss_verdict(then, now, diff_percent=0.1, increase_percent=5)
        # 1 - 0.999 is not quite 0.001
        assert verdict == found or (then, now) == (1.0, 0.999)

    def test_strict_tolerates_no_rise(self):
        limits = {"diff_percent": 0.1, "increase_percent": 5, "strict": True}
        assert "rose" == measures.loss_verdict(1.0, 1.001, **limits)

    @pytest.mark.parametrize(
        ("train", "validation", "ratio"),
        [(0.333, 0.44, 0.3213), (2.0, 1.0, -0.5), (-1.0, -0.5, 0.5), (1.0, math.nan, math.inf)],
    )
    def test_overfit_ratio(self, train, validation, ratio):
        assert ratio == pytest.approx(measures.overfit_ratio(train, validation), rel=1e-3)

    def test_overfit_ratio_of_a_nan_training_loss_is_nan(self):
        assert math.isnan(measures.overfit_ratio(math.nan, 1.0))


class TestOthers:
    def test_shares_of_nothing_are_none(self):
        assert [] == measures.top_shares(["a"], [0.0]) == measures.top_shares(["a"], [math.nan])

    @pytest.mark.parametrize(
        ("dtype", "largest", "bits"),
        [("float16", 1.0, 16), ("bfloat16", 1.0, 128), ("float8_e4m3fn", 448.0, 0)],
    )
    def test_headroom_counts_doublings(self, dtype, largest, bits):
        assert bits == pytest.approx(measures.headroom_bits(dtype, largest), abs=0.01)

    @pytest.mark.parametrize(("dtype", "largest"), [("int64", 1.0), ("?", 1.0), ("float16", 0.0)])
    def test_headroom_of_what_has_none_is_nan(self, dtype, largest):
        assert math.isnan(measures.headroom_bits(dtype, largest))
