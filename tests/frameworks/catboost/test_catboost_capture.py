"""What the hook on CatBoost captures is what CatBoost itself says, and rules can judge it."""

from __future__ import annotations

import catboost
import numpy as np
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor, Pool

from stepwatch.hooks.catboost import CatBoostHook
from stepwatch.model.steps import Mode
from stepwatch.rules import DEFAULT_RULES, Watch, watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework

QUIET = {"thread_count": 1, "random_seed": 0, "allow_writing_files": False, "verbose": 0}


def table(rows=400, columns=6, seed=0):
    """Return normal values, shape ``[rows, columns]``."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def trained(run, model, x, y, **options):
    """Train on the first half, judged by the second; return the run."""
    half = len(x) // 2
    with CatBoostHook(run=run, say=lambda _: None, strict=True):
        model.fit(x[:half], y[:half], eval_set=(x[half:], y[half:]), **options)
    return Trial(run)


def found(trial, *rules):
    return [*watch(trial, Watch(rules))]


class TestMetrics:
    def test_each_set_of_data_in_its_mode(self, tmp_path):
        x = table()
        model = CatBoostClassifier(iterations=5, eval_metric="AUC", **QUIET)
        trial = trained(tmp_path / "run", model, x, (x[:, 0] > 0).astype(int))

        assert {"learn-Logloss", "validation-Logloss"} == set(
            trial.tensor_names(collection="losses")
        )
        assert ["validation-AUC"] == trial.tensor_names(collection="metrics")
        for data, mode in (("learn", Mode.TRAIN), ("validation", Mode.EVAL)):
            seen = trial.tensor(f"{data}-Logloss")
            assert [*range(5)] == seen.steps(mode)
            assert model.evals_result_[data]["Logloss"] == list(seen.statistics(mode=mode)["mean"])

    def test_a_metric_that_is_not_computed_at_each_round(self, tmp_path):
        x = table()
        model = CatBoostRegressor(iterations=10, metric_period=3, **QUIET)
        trial = trained(tmp_path / "run", model, x, x.sum(1))

        seen = trial.tensor("validation-RMSE")
        said = model.evals_result_["validation"]["RMSE"]
        assert said == list(seen.statistics(mode=Mode.EVAL)["mean"])
        assert len(said) == len(seen.steps(Mode.EVAL))

    def test_callbacks_of_the_script_go_on(self, tmp_path):
        class Ending:
            def after_iteration(self, info):
                return info.iteration < 4

        x = table()
        model = CatBoostRegressor(iterations=10, **QUIET)
        trial = trained(tmp_path / "run", model, x, x.sum(1), callbacks=[Ending()])

        assert 4 == model.tree_count_
        assert [0, 1, 2, 3] == trial.steps(Mode.TRAIN)

    def test_the_hook_may_be_given_as_a_callback(self, tmp_path):
        """It listens already; no round counts twice, and none loses its metrics."""
        x = table()
        model = CatBoostRegressor(iterations=5, **QUIET)
        with CatBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True) as hook:
            model.fit(x, x.sum(1), callbacks=[hook])
        seen = Trial(tmp_path / "run").tensor("learn-RMSE").statistics()

        assert model.evals_result_["learn"]["RMSE"] == list(seen["mean"])

    def test_two_trainings_are_two(self, tmp_path):
        x = table()
        with CatBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            for _ in range(2):
                catboost.train(Pool(x, x.sum(1)), {"iterations": 3, **QUIET})

        rounds = Trial(tmp_path / "run").tensor("boosting/round")
        assert [0, 1, 2, 0, 1, 2] == list(rounds.statistics()["mean"])


class TestModel:
    def test_importances_are_shares_of_catboosts_own(self, tmp_path):
        """With the last round, when the model is there."""
        x = table()
        model = CatBoostRegressor(iterations=11, **QUIET)
        trial = trained(tmp_path / "run", model, x, 3 * x[:, 0] + x[:, 2])

        shares = model.get_feature_importance() / model.get_feature_importance().sum()
        for name, share in zip(model.feature_names_, shares, strict=True):
            seen = trial.tensor(f"feature_importance/prediction_change/{name}")
            assert [10] == seen.steps(Mode.TRAIN)
            assert share == pytest.approx(float(seen.value(10, mode=Mode.TRAIN)))

    def test_what_the_script_set_is_there_once(self, tmp_path):
        x = table()
        model = CatBoostRegressor(iterations=3, learning_rate=0.25, **QUIET)
        trial = trained(tmp_path / "run", model, x, x.sum(1))

        rate = trial.tensor("hyperparameters/learning_rate")
        assert [0] == rate.steps(Mode.TRAIN)
        assert 0.25 == float(rate.value(0, mode=Mode.TRAIN))

    @pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]])
    def test_classes_are_counted_whatever_they_are_called(self, tmp_path, classes):
        x = table()
        y = np.array(classes)[np.arange(len(x)) % len(classes)]
        trial = trained(tmp_path / "run", CatBoostClassifier(iterations=3, **QUIET), x, y)

        counts = trial.tensor("class_count/learn").value(0, mode=Mode.TRAIN)
        assert [*np.bincount(np.arange(200) % len(classes))] == [*counts]

    def test_classes_have_one_number_in_all_data(self, tmp_path):
        """Though the second half lacks the first of them."""
        x = table()
        y = np.array(["a", "b", "c"])[np.arange(len(x)) % 3]
        y[200:] = np.where(y[200:] == "a", "b", y[200:])
        trial = trained(tmp_path / "run", CatBoostClassifier(iterations=3, **QUIET), x, y)

        counts = trial.tensor("class_count/validation").value(0, mode=Mode.EVAL)
        assert [0, *np.unique(y[200:], return_counts=True)[1]] == [*counts]

    @pytest.mark.parametrize("frame", [True, False])
    def test_tables_of_all_kinds_are_trained_on(self, tmp_path, frame):
        """Categories and missing numbers in a frame, or a sparse matrix: nothing is harmed."""
        import pandas as pd
        from scipy import sparse

        x = table(100, 3)
        given = sparse.csr_matrix(np.where(x > 0, x, 0))
        if frame:
            x[0, 1] = np.nan
            given = pd.DataFrame(x, columns=["a", "b", "c"]).assign(city=["x", "y"] * 50)
        options = {"cat_features": ["city"]} if frame else {}
        with CatBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            CatBoostRegressor(iterations=3, **QUIET).fit(given, x[:, 0], **options)

        assert [0, 1, 2] == Trial(tmp_path / "run").steps(Mode.TRAIN)


class TestRules:
    def test_overfitting_is_found(self, tmp_path):
        x = table()
        y = (x[:, 0] > 0) ^ (np.random.default_rng(1).random(len(x)) < 0.35)
        model = CatBoostClassifier(iterations=150, depth=8, learning_rate=0.3, **QUIET)
        trial = trained(tmp_path / "run", model, x, y.astype(int))

        assert "overfit" in {one.rule for one in found(trial, "overfit:patience=3")}

    @pytest.mark.parametrize("has_price", [True, False])
    def test_a_column_of_which_the_label_is_the_logarithm(self, tmp_path, has_price):
        x = table()
        price = np.exp(x[:, 0] + 0.3 * table(seed=1)[:, 0])
        given = np.column_stack([x, price]) if has_price else x
        trial = trained(
            tmp_path / "run", CatBoostRegressor(iterations=3, **QUIET), given, np.log1p(price)
        )

        assert ["feature"] * has_price == [one.condition for one in found(trial, "label_leak")]

    @pytest.mark.parametrize("is_own", [True, False])
    def test_categories_encoded_by_the_labels_that_are_trained_on(self, tmp_path, is_own):
        rng = np.random.default_rng(0)
        category, y = rng.integers(0, 300, 1200), rng.normal(size=1200)
        of = y if is_own else rng.permutation(y)
        means = np.bincount(category, of) / np.bincount(category).clip(1)
        x = np.column_stack([means[category], rng.normal(size=1200)])
        trial = trained(tmp_path / "run", CatBoostRegressor(iterations=5, **QUIET), x, y)

        assert ["encoded"] * is_own == [one.condition for one in found(trial, "label_leak")]

    @pytest.mark.parametrize(("first", "share"), [("drawn", 0.4), ("split", None)])
    def test_rows_that_are_drawn_again_before_the_split(self, tmp_path, first, share):
        """Of the rare class, with replacement; only those that are trained on may be."""
        x, rng = table(1200), np.random.default_rng(1)
        rare = rng.random(1200) < 0.1

        def balanced(at):
            again = rng.choice(at[rare[at]], int((~rare[at]).sum() - rare[at].sum()))
            return rng.permutation(np.concatenate([at, again]))

        rows = balanced(np.arange(1200)) if first == "drawn" else np.arange(1200)
        half = len(rows) // 2
        known = balanced(rows[:half]) if first == "split" else rows[:half]
        model = CatBoostClassifier(iterations=3, **QUIET)
        with CatBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x[known], rare[known], eval_set=(x[rows[half:]], rare[rows[half:]]))
        run = Trial(tmp_path / "run")
        leaks = [one for one in found(run, *DEFAULT_RULES) if one.rule == "label_leak"]

        assert ["overlap"] * (share is not None) == [one.condition for one in leaks]
        assert all(one.value > share for one in leaks)

    def test_a_healthy_training_is_let_be(self, tmp_path):
        x = table(2000)
        y = x[:, 0] + x[:, 1] ** 2 + 0.1 * table(2000, seed=1)[:, 0]
        trial = trained(tmp_path / "run", CatBoostRegressor(iterations=60, **QUIET), x, y)

        assert [] == [one.message for one in found(trial, *DEFAULT_RULES) if one.severity != "info"]
