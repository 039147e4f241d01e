"""Which of the default rules can judge trainings of XGBoost, as the page on parity has it."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from stepwatch.hooks.xgboost import XGBoostHook
from tests.support.frameworks import parity

pytestmark = pytest.mark.framework


def test_the_rules_that_can_judge_are_those_of_the_page(tmp_path):
    """Neither more nor fewer: what is captured and what the page says belong together."""
    x = np.random.default_rng(0).normal(size=(512, 8))
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    with XGBoostHook(run=tmp_path / "run", say=lambda _: None):
        data, held_out = xgboost.DMatrix(x[:384], y[:384]), xgboost.DMatrix(x[384:], y[384:])
        xgboost.train(
            {"objective": "multi:softprob", "num_class": 3},
            data,
            240,
            evals=[(data, "train"), (held_out, "valid")],
            verbose_eval=False,
        )

    assert parity.promised("XGBoost") == parity.judged(tmp_path / "run")
