"""A budget for LightGBM: most rounds are observed by their losses and metrics only."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from stepwatch.capture import budget
from stepwatch.hooks.lightgbm import LightGBMHook
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework


def test_rounds_between_full_ones_have_losses_only(tmp_path, monkeypatch):
    """Our own time is measured, so that by the smallest budget a thousandth of rounds is full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 10)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "LEAST_S", 0.0)
    x = np.random.default_rng(0).normal(size=(200, 10))
    with LightGBMHook(run=tmp_path / "run", say=str, strict=True, budget=1e-9):
        data = lightgbm.Dataset(x, label=x.sum(1))
        quiet = {"num_threads": 1, "verbosity": -1}
        lightgbm.train(quiet, data, 15, valid_sets=[data], valid_names=["train"])

    trial = Trial(tmp_path / "run")
    assert [*range(15)] == trial.tensor("train-l2").steps(Mode.TRAIN)
    assert [*range(10)] == trial.tensor("boosting/round").steps(Mode.TRAIN)


def test_rounds_of_which_nothing_is_observed_are_steps(tmp_path, monkeypatch):
    """As where the training data are not evaluated: each tenth round evaluates them for us."""
    monkeypatch.setattr(budget, "FULL_STEPS", 3)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "LEAST_S", 0.0)
    x = np.random.default_rng(0).normal(size=(200, 10))
    with LightGBMHook(run=tmp_path / "run", say=str, strict=True, budget=1e-9):
        data = lightgbm.Dataset(x, label=x.sum(1))
        quiet = {"num_threads": 1, "verbosity": -1}
        lightgbm.train(quiet, data, 31, valid_sets=[data.create_valid(x, x.sum(1))])

    assert Trial(tmp_path / "run").tensor("training-l2").steps(Mode.TRAIN)[-1] == 30
