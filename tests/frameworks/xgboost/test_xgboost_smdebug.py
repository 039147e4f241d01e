"""smdebug's hook for XGBoost, as scripts written for smdebug use it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xgboost
from xgboost.callback import TrainingCallback

import smdebug.xgboost as smd
from smdebug import SaveConfig
from smdebug.trials import create_trial
from stepwatch.trial import Trial
from tests.support.frameworks.xgboost.xgboost_trainings import found, table, trained

pytestmark = pytest.mark.framework

GOLDEN = Path(__file__).parents[2] / "golden" / "expected.json"
PARAMETERS = {
    "objective": "binary:logistic",
    "eta": 0.3,
    "max_depth": 2,
    "eval_metric": "logloss",
}


def train(hook, rounds=5, callbacks=()):
    """Train as the script did that made the golden run; return the model."""
    rng = np.random.RandomState(0)
    x, y = rng.rand(20, 3), rng.randint(2, size=20)
    data = xgboost.DMatrix(x, label=y)
    validation = xgboost.DMatrix(rng.rand(10, 3), label=rng.randint(2, size=10))
    if isinstance(hook, dict):
        hook = smd.Hook(
            train_data=data, validation_data=validation, hyperparameters=PARAMETERS, **hook
        )
    model = xgboost.train(
        PARAMETERS,
        data,
        evals=[(data, "train"), (validation, "validation")],
        num_boost_round=rounds,
        callbacks=[hook, *callbacks] if hook else [*callbacks],
        verbose_eval=False,
    )
    if hook:
        hook.close()
    return model


def assert_same(want, seen):
    """Numbers to the last digits that differ between machines, text to the letter."""
    if seen.dtype.kind == "U":
        assert want == seen.tolist()
    else:
        np.testing.assert_allclose(seen.astype(float), np.array(want, float), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(
    not xgboost.__version__.startswith("1.7."), reason="another XGBoost grows other trees"
)
def test_the_golden_run_is_written_again(tmp_path):
    """Names, steps, dtypes, shapes and values, and what is in which collection."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["xgb_saveall"]
    save_config = SaveConfig(save_interval=2)
    train({"out_dir": tmp_path / "run", "save_config": save_config, "save_all": True})

    trial = create_trial(str(tmp_path / "run"))
    assert set(golden["tensor_names"]) == set(trial.tensor_names())
    for name, want in golden["tensors"].items():
        tensor = trial.tensor(name)
        assert want["steps"] == tensor.steps(), name
        for step, at in want["at"].items():
            one, seen = at["value"]["worker_0"], tensor.value(int(step))
            assert (one["dtype"], one["shape"]) == (str(seen.dtype), list(seen.shape)), name
            if one["value"] is not None:
                assert_same(one["value"], seen)
    for name, want in golden["collection_tensors"].items():
        assert set(want) == set(trial.collection(name).tensor_names), name


def test_only_metrics_every_tenth_round_by_default(tmp_path):
    """Without a word of what to save."""
    train(smd.Hook(out_dir=tmp_path / "run"), rounds=21)

    trial = create_trial(str(tmp_path / "run"))
    assert {"train-logloss", "validation-logloss"} == set(trial.tensor_names())
    assert [0, 10, 20] == trial.tensor("train-logloss").steps()


@pytest.mark.parametrize("collection", ["feature_importance", "trees", "average_shap", "labels"])
def test_a_collection_that_is_asked_for(tmp_path, collection):
    """And the metrics, which are always there."""
    train({"out_dir": tmp_path / "run", "include_collections": [collection]})

    trial = create_trial(str(tmp_path / "run"))
    groups = {name.partition("/")[0] for name in trial.tensor_names()}
    assert {"train-logloss", "validation-logloss", collection} == groups


def test_what_is_saved_by_hand_belongs_to_the_round_that_is_running(tmp_path):
    """A scalar always, a tensor if anything else is saved; and both to the last one at the end."""
    hook = smd.Hook(out_dir=tmp_path / "run", save_config=SaveConfig(save_interval=2))

    class Saving(TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            hook.save_scalar("round", epoch)
            hook.save_tensor("row", np.full(2, epoch))
            return False

        def after_training(self, model):
            hook.save_scalar("late", 7)
            return model

    train(hook, rounds=5, callbacks=[Saving()])

    trial = create_trial(str(tmp_path / "run"))

    def saved(name):
        tensor = trial.tensor(name)
        return {step: tensor.value(step).max() for step in tensor.steps()}

    assert {0: 0, 1: 1, 2: 2, 3: 3, 4: 4} == saved("scalar/round")
    assert {0: 0, 2: 2, 4: 4} == saved("row")
    assert {4: 7} == saved("scalar/late")
    assert [0, 2, 4] == trial.tensor("train-logloss").steps()


def test_the_model_is_the_same(tmp_path):
    """Bit for bit, whatever is saved."""
    within = train(
        {
            "out_dir": tmp_path / "run",
            "save_config": SaveConfig(save_interval=1),
            "save_all": True,
        }
    )

    assert bytes(train(None).save_raw("json")) == bytes(within.save_raw("json"))


def test_a_hook_that_a_file_configures(tmp_path, monkeypatch):
    """``get_hook`` makes it, and returns it again."""
    smd.del_hook()
    config = {
        "LocalPath": str(tmp_path / "run"),
        "HookParameters": {"save_interval": "2"},
        "CollectionConfigurations": [{"CollectionName": "feature_importance"}],
    }
    (tmp_path / "hook.json").write_text(json.dumps(config))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    hook = smd.get_hook()
    train(hook)

    assert hook is smd.get_hook()
    trial = create_trial(str(tmp_path / "run"))
    assert [0, 2, 4] == trial.tensor("feature_importance/gain/f0").steps()
    smd.del_hook()


def test_data_in_a_file(tmp_path):
    """By its path and its format."""
    rows = [f"{at % 2} 0:{at / 20} 1:{1 - at / 20}" for at in range(20)]
    (tmp_path / "data.libsvm").write_text("\n".join(rows) + "\n")
    hook = smd.Hook(
        out_dir=tmp_path / "run",
        include_collections=["labels", "predictions"],
        validation_data=(str(tmp_path / "data.libsvm"), "libsvm"),
    )
    data = xgboost.DMatrix(f"{tmp_path / 'data.libsvm'}?format=libsvm")
    xgboost.train({}, data, 1, callbacks=[hook])
    hook.close()

    labels = create_trial(str(tmp_path / "run")).tensor("labels").value(0)
    np.testing.assert_array_equal(labels, [0, 1] * 10)


def test_rules_judge_its_runs_as_those_of_our_own_hook(tmp_path):
    """A leaked feature, where a run has all that a rule asks for."""
    x = table()
    own, _ = trained(tmp_path / "own", {"objective": "binary:logistic"}, x, x[:, 0] > 0)
    data = xgboost.DMatrix(x[:200], label=x[:200, 0] > 0)
    hook = smd.Hook(
        out_dir=tmp_path / "run", train_data=data, include_collections=["feature_importance"]
    )
    xgboost.train({"objective": "binary:logistic", "seed": 1}, data, 30, callbacks=[hook])
    hook.close()

    rule = "feature_importance_overweight:columns=10"
    of_both = [found(trial, rule)[0] for trial in (own, Trial(tmp_path / "run"))]
    assert ["feature_importance/weight/f0"] * 2 == [findings[0].tensor for findings in of_both]
