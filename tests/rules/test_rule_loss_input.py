"""What ``loss_input`` cannot judge is no pass."""

from __future__ import annotations

import pytest

from stepwatch.rules import Watch
from tests.support.rules.rule_records import step_of


def status_of(prediction):
    """Return how the rule stands after 20 steps with a prediction of this name."""
    watch = Watch(["loss_input"])
    for number in range(20):
        watch.evaluate(step_of({"predictions": {prediction: [[0.1, 0.9], [-2.0, 3.0]]}}, number))
    watch.finish()
    return watch.statuses()[0]


class TestUnknownLosses:
    @pytest.mark.parametrize("name", ["predictions", "prediction/CategoricalCrossentropy"])
    def test_they_are_not_judged(self, name):
        """Which numbers they take is known of the losses of torch only."""
        status = status_of(name)
        assert ("NotEvaluated", True) == (status.status, status.idle)
        assert "no loss was computed whose input it knows" in status.details

    def test_known_ones_are(self):
        """By the names of functions and of modules."""
        for name in ("prediction/cross_entropy", "prediction/MSELoss_2"):
            assert "NoIssuesFound" == status_of(name).status
