"""Rules of a run that is taken up again at an earlier step."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.judge.engine import Watch
from stepwatch.judge.step_view import StepView
from stepwatch.testing.made_runs import make_record


def look(watch, step, value):
    record = make_record(step, {"gradient/w": np.full(4, value), "w": np.ones(4)})
    return [(finding.rule, finding.step) for finding in watch.evaluate(StepView([record]))]


def test_what_is_met_again_is_news_again():
    """The steps that come once more are another training."""
    watch = Watch("exploding_tensor")
    first = [found for step in range(4) for found in look(watch, step, np.nan)]
    again = [found for step in range(2, 5) for found in look(watch, step, np.nan)]

    assert [("exploding_tensor", 0)] == first
    assert [("exploding_tensor", 2)] == again


@pytest.mark.parametrize(("goes_on_at", "found"), [(20, ["grad_norm_spike"]), (10, [])])
def test_what_is_remembered_of_the_model_is_forgotten(goes_on_at, found):
    """Norms from before are no measure for those of another training."""
    watch = Watch("grad_norm_spike:warmup_steps=5")
    for step in range(20):
        look(watch, step, 1e-3)

    assert found == [rule for rule, _ in look(watch, goes_on_at, 1.0)]
