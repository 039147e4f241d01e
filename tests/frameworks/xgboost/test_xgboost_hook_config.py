"""``stepwatch run --hook-config`` on a script of XGBoost that knows nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stepwatch.trial import Trial

pytestmark = pytest.mark.framework

SCRIPT = """\
import numpy as np
import xgboost
x = np.random.default_rng(0).normal(size=(80, 3))
train = xgboost.DMatrix(x[:60], label=x[:60, 0])
validation = xgboost.DMatrix(x[60:], label=x[60:, 0])
for _ in range(2):
    xgboost.train({"eta": 0.5}, train, 25, evals=[(train, "train"), (validation, "validation")])
"""
COLLECTIONS = ("hyperparameters", "labels", "predictions", "feature_importance", "average_shap")


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """The run of a script by a hook configuration that says nothing of when to save."""
    folder = tmp_path_factory.mktemp("configured")
    asked = [{"CollectionName": name} for name in COLLECTIONS]
    document = {"LocalPath": "out", "CollectionConfigurations": asked}
    (folder / "hook.json").write_text(json.dumps(document))
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "stepwatch", "run", "--hook-config", "hook.json", "train.py"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == told.returncode, told.stderr
    return Trial(folder / "out")


def test_every_tenth_round_of_the_first_training_is_saved(trial):
    """The rhythm of XGBoost, where the file says none."""
    assert [0, 10, 20] == trial.tensor("validation-rmse").steps()


def test_collections_are_filled_from_what_the_training_has(trial):
    """Its parameters, the data that it trains on, and those it is judged by."""
    names = trial.tensor_names()

    assert {"hyperparameters/eta", "labels", "predictions", "average_shap/f0"} <= set(names)
    assert "feature_importance/gain/f0" in names
    assert (20,) == trial.tensor("predictions").value(10).shape
