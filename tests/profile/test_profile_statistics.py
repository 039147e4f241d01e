"""The arithmetic that rules, tables and reports of a profile share."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.profile.statistics import quantiles, spread

WANTED = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


class TestQuantiles:
    @pytest.mark.parametrize("seed", range(20))
    def test_weights_stand_for_repeated_values(self, seed):
        """Bit for bit what NumPy gives for the values, each as often as it counts."""
        random = np.random.default_rng(seed)
        values, weights = random.normal(50, 30, 1 + seed), random.integers(0, 9, 1 + seed)
        weights[0] = 1

        expected = np.quantile(np.repeat(values, weights), WANTED)

        assert tuple(expected.tolist()) == quantiles(values, WANTED, weights)

    def test_without_weights_each_counts_once(self):
        """As for the readings that a rule keeps."""
        values = np.arange(1000.0)

        assert tuple(np.quantile(values, WANTED).tolist()) == quantiles(values, WANTED)
        assert 949.05 == spread(values)["p95"]

    def test_what_is_not_finite_is_left_out(self):
        """With its weight."""
        assert (2.0,) == quantiles([np.nan, 2.0, np.inf], (0.5,), [9, 1, 9])

    def test_nothing_has_no_quantile(self):
        """No values, or values that stand for nothing."""
        for values, weights in (([], []), ([1.0], [0]), ([np.nan], [3])):
            assert all(np.isnan(quantiles(values, (0.0, 0.5), weights)))
