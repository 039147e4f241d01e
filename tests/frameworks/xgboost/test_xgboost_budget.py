"""A budget for XGBoost: most rounds are observed by their losses and metrics only."""

from __future__ import annotations

import pytest

from stepwatch.capture import budget
from stepwatch.model.steps import Mode
from tests.support.frameworks.xgboost.xgboost_trainings import table, trained

pytestmark = pytest.mark.framework


def test_rounds_between_full_ones_have_losses_only_and_the_model_is_the_same(tmp_path, monkeypatch):
    """Our own time is measured, so that by the smallest budget a thousandth of rounds is full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 10)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "LEAST_S", 0.0)
    x = table()
    _, plain = trained(tmp_path / "plain", {}, x, x.sum(1), 15)
    trial, model = trained(tmp_path / "run", {}, x, x.sum(1), 15, budget=1e-9)

    assert [*range(15)] == trial.tensor("train-rmse").steps(Mode.TRAIN)
    assert [*range(15)] == trial.tensor("validation-rmse").steps(Mode.EVAL)
    # The first evaluation comes with round 0, and what it may change shows in those after it.
    assert [*range(11)] == trial.tensor("boosting/round").steps(Mode.TRAIN)
    assert plain.get_dump() == model.get_dump()
