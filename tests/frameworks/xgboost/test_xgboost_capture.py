"""What the hook on XGBoost captures is what XGBoost itself says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import xgboost

from stepwatch.hooks.xgboost import XGBoostHook
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from tests.support.frameworks.xgboost.xgboost_trainings import parts, table, trained

pytestmark = pytest.mark.framework

EVERYTHING = ["average_shap:raw", "full_shap:raw", "trees:raw", "labels:raw", "predictions:raw"]
COLUMNS = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover")
BINARY = {"objective": "binary:logistic", "max_depth": 3}


def last(trial, name, mode=Mode.TRAIN):
    """Return the last full value of a tensor."""
    tensor = trial.tensor(name)
    return tensor.value(tensor.steps(mode)[-1], mode=mode)


def scalars(trial, name, mode=Mode.TRAIN):
    """Return all values of a scalar."""
    return trial.tensor(name).statistics(mode=mode)["mean"]


class TestMetrics:
    def test_each_set_of_data_in_its_mode(self, tmp_path):
        """What is trained on at TRAIN steps, all else at the EVAL steps after them."""
        trial, _ = trained(tmp_path / "run", {}, (x := table()), x.sum(1), 5)

        assert [0, 1, 2, 3, 4] == trial.tensor("train-rmse").steps(Mode.TRAIN)
        assert [0, 1, 2, 3, 4] == trial.tensor("validation-rmse").steps(Mode.EVAL)
        assert {"train-rmse", "validation-rmse"} == set(trial.tensor_names(collection="losses"))

    def test_metrics_that_rise_are_no_losses(self, tmp_path):
        """Nor are shares of errors, which stand still while a model improves."""
        x = table()
        parameters = {**BINARY, "eval_metric": ["auc", "error", "logloss"]}
        trial, _ = trained(tmp_path / "run", parameters, x, x[:, 0] > 0, 3)

        metrics = {
            f"{data}-{metric}" for data in ("train", "validation") for metric in ("auc", "error")
        }
        assert metrics == set(trial.tensor_names(collection="metrics"))
        assert {"train-logloss", "validation-logloss"} == set(
            trial.tensor_names(collection="losses")
        )

    def test_the_training_loss_that_nobody_asked_for(self, tmp_path):
        """Every tenth round, as XGBoost gives it to who asks for it."""
        x, result = table(), {}
        data = xgboost.DMatrix(x, label=x.sum(1))
        options = {"evals": [(data, "train")], "evals_result": result, "verbose_eval": False}
        xgboost.train({"seed": 1}, data, 11, **options)
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            xgboost.train({"seed": 1}, data, 11)

        seen = Trial(tmp_path / "run").tensor("train-rmse")
        assert [0, 10] == seen.steps(Mode.TRAIN)
        assert result["train"]["rmse"][::10] == list(seen.statistics()["mean"])

    def test_a_cross_validation(self, tmp_path):
        """The means over its folds, and how far the folds are apart."""
        x = table()
        data = xgboost.DMatrix(x, label=x.sum(1))
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            result = xgboost.cv({"seed": 1}, data, 4, nfold=3, as_pandas=False)

        trial = Trial(tmp_path / "run")
        for data_name, mode in (("train", Mode.TRAIN), ("test", Mode.EVAL)):
            assert result[f"{data_name}-rmse-mean"] == list(
                scalars(trial, f"{data_name}-rmse", mode)
            )
            assert result[f"{data_name}-rmse-std"] == list(
                scalars(trial, f"{data_name}-rmse-std", mode)
            )


class TestModel:
    def test_importances_are_shares_of_xgboosts_own(self, tmp_path):
        """Every tenth round, of the features that are used."""
        trial, model = trained(tmp_path / "run", BINARY, (x := table()), x[:, :3].sum(1) > 0, 21)

        for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
            scores = model.get_score(importance_type=kind)
            total = sum(scores.values())
            for name, score in scores.items():
                seen = trial.tensor(f"feature_importance/{kind}/{name}")
                assert 20 == seen.steps(Mode.TRAIN)[-1]
                assert score / total == pytest.approx(seen.statistics()["mean"][-1])

    def test_hyperparameters_are_there_once(self, tmp_path):
        """Numbers as numbers, the rest as text, defaults included."""
        parameters = {**BINARY, "eta": 0.25}
        trial, _ = trained(tmp_path / "run", parameters, (x := table()), x[:, 0] > 0, 3)

        assert [0] == trial.tensor("hyperparameters/eta").steps(Mode.TRAIN)
        assert 0.25 == pytest.approx(last(trial, "hyperparameters/eta"))
        assert "binary:logistic" == last(trial, "hyperparameters/objective")
        assert 1.0 == last(trial, "hyperparameters/subsample")

    @pytest.mark.parametrize("num_class", [0, 3])
    def test_trees_of_each_round(self, tmp_path, num_class):
        """Node by node what XGBoost says of the whole model in the end."""
        x = table()
        parameters = {"objective": "multi:softprob", "num_class": 3} if num_class else {}
        y = np.digitize(x[:, 0], [-0.5, 0.5])
        trial, model = trained(tmp_path / "run", parameters, x, y, 4, policy=["trees:raw"])

        whole = model.trees_to_dataframe()
        for name in COLUMNS:
            column = trial.tensor(f"trees/{name}")
            seen = np.concatenate([column.value(at, mode=Mode.TRAIN) for at in range(4)])
            want = whole[name].fillna({"Split": 0.0}.get(name, "nan")).to_numpy()
            if seen.dtype.kind == "U":
                assert [str(one) for one in want] == seen.tolist()
            else:
                np.testing.assert_allclose(seen.astype(float), want.astype(float), rtol=1e-6)

    def test_shap_adds_up_to_the_prediction(self, tmp_path):
        """The contributions of all features and the bias; their average is their mean."""
        x = table()
        trial, model = trained(tmp_path / "run", BINARY, x, x[:, 0] > 0, 3, policy=EVERYTHING)

        names = [f"f{at}" for at in range(10)] + ["bias"]
        full = {name: last(trial, f"full_shap/{name}") for name in names}
        margin = model.predict(xgboost.DMatrix(x[:200]), output_margin=True)
        np.testing.assert_allclose(sum(full.values()), margin, rtol=1e-4, atol=1e-5)
        for name in names:
            average = last(trial, f"average_shap/{name}")
            np.testing.assert_allclose(average, full[name].mean(), rtol=1e-4, atol=1e-6)

    def test_no_trees_no_importances(self, tmp_path):
        """Of a linear model there are metrics and hyperparameters."""
        policy = ["trees:raw"]
        parameters = {"booster": "gblinear"}
        trial, _ = trained(tmp_path / "run", parameters, (x := table()), x.sum(1), 3, policy=policy)

        assert [] == trial.tensor_names(collection="feature_importance")
        assert [] == trial.tensor_names(collection="trees")
        assert 3 == len(scalars(trial, "train-rmse"))


class TestLabelsAndPredictions:
    def test_confusions_of_both_data(self, tmp_path):
        """Are those of the labels with what the model says."""
        x = table()
        trial, model = trained(tmp_path / "run", BINARY, x, x[:, 0] > 0, 1, policy=EVERYTHING)

        train, validation = parts(x, x[:, 0] > 0)
        for name, mode, data in (
            ("train", Mode.TRAIN, train),
            ("validation", Mode.EVAL, validation),
        ):
            labels, said = data.get_label(), model.predict(data)
            np.testing.assert_array_equal(labels, last(trial, f"label/{name}", mode))
            np.testing.assert_allclose(said, last(trial, f"prediction/{name}", mode), rtol=1e-5)
            counts = [[((labels == a) & ((said > 0.5) == b)).sum() for b in (0, 1)] for a in (0, 1)]
            np.testing.assert_array_equal(counts, last(trial, f"confusion/{name}", mode))

    @pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
    def test_several_classes(self, tmp_path, objective):
        """Whether the model says scores or classes."""
        x = table()
        y = np.digitize(x[:, 0], [-0.5, 0.5])
        parameters = {"objective": objective, "num_class": 3}
        trial, _ = trained(tmp_path / "run", parameters, x, y, 11)

        counts = last(trial, "confusion/train")
        np.testing.assert_array_equal(np.bincount(y[:200]), counts.sum(1))
        np.testing.assert_array_equal(np.bincount(y[:200]), last(trial, "class_count/train"))
        assert counts.trace() > 0.95 * 200

    def test_regressions_have_no_classes(self, tmp_path):
        """And no full values unless they are asked for."""
        trial, _ = trained(tmp_path / "run", {}, (x := table()), x.sum(1), 11)

        assert [] == trial.tensor_names(collection="classes")
        assert [0, 10] == trial.tensor("prediction/validation").steps(Mode.EVAL)


class TestTheModelIsTheSame:
    @pytest.mark.parametrize(
        "parameters",
        [
            {"subsample": 0.5, "colsample_bytree": 0.5},
            {"booster": "dart", "rate_drop": 0.3},
            {"booster": "gblinear"},
            {"objective": "multi:softprob", "num_class": 3, "subsample": 0.5},
            {"tree_method": "approx", "subsample": 0.5},
        ],
        ids=["gbtree", "dart", "gblinear", "classes", "approx"],
    )
    @pytest.mark.parametrize("is_evaluated", [True, False], ids=["evaluated", "plain"])
    def test_bit_for_bit(self, tmp_path, parameters, is_evaluated):
        """Whatever is saved, and although the hook asks for predictions and metrics itself."""

        def train():
            x = table()
            data, validation = parts(x, np.digitize(x[:, 0], [-0.5, 0.5]))
            evals = [(validation, "validation")] if is_evaluated else []
            parameters_ = {"nthread": 1, "seed": 1, **parameters}
            model = xgboost.train(parameters_, data, 8, evals=evals, verbose_eval=False)
            return bytes(model.save_raw("json"))

        without = train()
        with XGBoostHook(run=tmp_path / "run", policy=EVERYTHING, say=lambda _: None, strict=True):
            within = train()

        assert without == within

    def test_early_stopping_stops_where_it_would(self, tmp_path):
        """The round that it stops after was captured."""
        x = table()
        train, validation = parts(x, np.random.default_rng(5).normal(size=400))
        options = {
            "evals": [(validation, "validation")],
            "early_stopping_rounds": 3,
            "verbose_eval": False,
        }
        plain = xgboost.train({"seed": 1}, train, 50, **options)
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            watched = xgboost.train({"seed": 1}, train, 50, **options)

        assert plain.best_iteration == watched.best_iteration
        steps = Trial(tmp_path / "run").steps(Mode.TRAIN)
        assert plain.best_iteration + 4 == len(steps)


class TestInTheMannerOfSklearn:
    @pytest.mark.parametrize("kind", ["classifier", "regressor", "ranker"])
    def test_fit_is_seen(self, tmp_path, kind):
        """With the names that XGBoost gives the data; the training data are known by themselves."""
        x = table()
        y = (x[:, 0] > 0).astype(int)
        options = {"eval_set": [(x, y), (x[:100], y[:100])], "verbose": False}
        if kind == "ranker":
            groups = np.repeat(np.arange(40), 10)
            options |= {"qid": groups, "eval_qid": [groups, groups[:100]]}
        estimators = {
            "classifier": xgboost.XGBClassifier,
            "regressor": xgboost.XGBRegressor,
            "ranker": xgboost.XGBRanker,
        }
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            estimators[kind](n_estimators=4).fit(x, y, **options)

        trial = Trial(tmp_path / "run")
        assert 4 == len(trial.steps(Mode.EVAL))
        modes = {
            name: "TRAIN" if trial.tensor(name).steps(Mode.TRAIN) else "EVAL"
            for collection in ("losses", "metrics")
            for name in trial.tensor_names(collection=collection)
        }
        in_modes = {(name.partition("-")[0], mode) for name, mode in modes.items()}
        assert {("validation_0", "TRAIN"), ("validation_1", "EVAL")} == in_modes

    def test_an_estimator_that_holds_the_hook(self, tmp_path):
        """It can be copied, and pickled without the hook."""
        x = table()
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True) as hook:
            model = xgboost.XGBRegressor(n_estimators=3, callbacks=[hook])
            assert copy.deepcopy(model).callbacks[0] is hook
            model.fit(x, x.sum(1))
            again = pickle.loads(pickle.dumps(model))

        assert 3 == len(Trial(tmp_path / "run").steps(Mode.TRAIN))
        np.testing.assert_array_equal(model.predict(x), again.predict(x))

    def test_two_trainings_are_two_models(self, tmp_path):
        """Rounds are counted anew, unless the model is trained on."""
        x = table()
        data = xgboost.DMatrix(x, label=x.sum(1))
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model = xgboost.train({}, data, 2)
            xgboost.train({}, data, 2)
            xgboost.train({}, data, 2, xgb_model=model)

        rounds = scalars(Trial(tmp_path / "run"), "boosting/round")
        assert [0, 1, 0, 1, 2, 3] == list(rounds)
