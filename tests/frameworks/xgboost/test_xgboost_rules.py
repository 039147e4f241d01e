"""Rules find what is wrong with trainings of XGBoost, and nothing in healthy ones."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import xgboost

from stepwatch.hooks.xgboost import XGBoostHook
from stepwatch.rules import DEFAULT_RULES
from stepwatch.trial import Trial
from tests.support.frameworks.xgboost.xgboost_trainings import found, parts, table, trained

pytestmark = pytest.mark.framework

BINARY = {"objective": "binary:logistic"}
UNSEEN = "unseen_class class_count/validation"
OVERFIT = next(spec for spec in DEFAULT_RULES if spec.startswith("overfit"))
NOT_DECREASING = next(spec for spec in DEFAULT_RULES if spec.startswith("loss_not_decreasing"))


def noise(rows=400, seed=7):
    """Return normal values that nothing tells, shape ``[rows]``."""
    return np.random.default_rng(seed).normal(size=rows)


class TestFeatureImportance:
    rule = "feature_importance_overweight"

    def test_a_feature_that_tells_the_label(self, tmp_path):
        """Holds all importance of ten columns."""
        x = table()
        trial, _ = trained(tmp_path / "run", BINARY, x, x[:, 0] > 0)

        (finding,) = found(trial, self.rule)[0]
        assert (1.0, "feature_importance/weight/f0") == (finding.value, finding.tensor)

    @pytest.mark.parametrize("max_depth", [1, 2, 6])
    def test_ten_features_that_all_count(self, tmp_path, max_depth):
        """However small its trees are: the first ones can use but few features."""
        x = table()
        trial, _ = trained(tmp_path / "run", {"max_depth": max_depth}, x, x.sum(1), 41)

        assert ([], {self.rule: "NoIssuesFound"}) == found(trial, self.rule)

    def test_three_columns_hold_everything(self, tmp_path):
        """How many columns there are is known without a word."""
        x = table(columns=3)
        trial, _ = trained(tmp_path / "run", {}, x, x.sum(1))

        assert ([], {self.rule: "NotEvaluated"}) == found(trial, self.rule)


class TestTreeDepth:
    @pytest.mark.parametrize(("max_depth", "depths"), [(8, [8.0]), (4, [])])
    def test_deeper_than_four(self, tmp_path, max_depth, depths):
        """Parity of eight features needs trees of depth eight."""
        x = np.random.default_rng(0).uniform(size=(2000, 8))
        y = (x > 0.5).sum(1) % 2
        parameters = {**BINARY, "max_depth": max_depth, "min_child_weight": 0}
        trial, _ = trained(tmp_path / "run", parameters, x, y, 2, policy=["trees:raw"])

        assert depths == [finding.value for finding in found(trial, "tree_depth")[0]][:1]


def f1(truth, said):
    """Return F1 of what is more likely than not."""
    truth, said = truth > 0.5, said > 0.5
    return float(2 * (truth & said).sum() / max(1, truth.sum() + said.sum()))


def f1_of(predictions, data):
    """Return F1 as ``xgboost.train`` takes it."""
    return "f1", f1(data.get_label(), predictions)


class TestSetup:
    @pytest.mark.parametrize(
        ("parameters", "conditions"),
        [
            ({"min_child_weight": 1e9}, ["unsplit"]),
            ({"gamma": 20.0}, []),  # late trees have no split
            ({}, []),
        ],
    )
    def test_trees_without_a_split(self, tmp_path, parameters, conditions):
        """Are found where none had one."""
        x = table()
        trial, _ = trained(tmp_path / "run", {**BINARY, **parameters}, x, x[:, 0] > 0)

        assert conditions == [one.condition for one in found(trial, "setup")[0]]

    @pytest.mark.parametrize("by", ["train", "estimator"])
    @pytest.mark.parametrize(("sign", "conditions"), [(1, []), (-1, ["uphill"])])
    def test_an_objective_of_the_wrong_sign(self, tmp_path, by, sign, conditions):
        """However it is given; of XGBoost it is a derivative that comes down the loss."""
        x = table()
        y = np.random.default_rng(3).poisson(np.exp(x[:, 0]))

        def poisson(labels, margins):
            rate = np.exp(np.clip(margins, -10, 10))
            return sign * (rate - labels), rate

        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if by == "train":
                data = xgboost.DMatrix(x, label=y)
                xgboost.train(
                    {"base_score": 0.0}, data, 15, obj=lambda m, d: poisson(d.get_label(), m)
                )
            else:
                xgboost.XGBRegressor(objective=poisson, n_estimators=15, base_score=0.0).fit(x, y)
        found_of = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]
        assert conditions == [one for one in found_of if one == "uphill"]

    @pytest.mark.parametrize("takes", ["margins", "probabilities"])
    def test_an_objective_that_forgets_the_sigmoid(self, tmp_path, takes):
        x = table()

        def logistic(margins, data):
            chances = 1 / (1 + np.exp(-margins)) if takes == "probabilities" else margins
            return chances - data.get_label(), chances * (1 - chances)

        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            data = xgboost.DMatrix(x, label=x[:, 0] > 0)
            xgboost.train({"base_score": 0.5}, data, 15, obj=logistic)
        found_of = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]
        assert ["without_sigmoid"] * (takes == "margins") == found_of

    @pytest.mark.parametrize(
        ("rate", "rounds", "conditions"),
        [(0.001, 150, ["few_rounds"]), (0.01, 60, ["few_rounds"]), (0.3, 20, []), (0.02, 100, [])],
    )
    def test_a_learning_rate_too_small_for_its_rounds(self, tmp_path, rate, rounds, conditions):
        """By the factor that all trees together take the predictions to the labels."""
        x = table()
        trial, _ = trained(tmp_path / "run", {"eta": rate}, x, x.sum(1), rounds)

        assert conditions == [one.condition for one in found(trial, "setup")[0]]

    @pytest.mark.parametrize(
        ("gamma", "scale", "conditions"),
        [(0.3, 0.05, ["idle_rounds"]), (0.0, 0.05, []), (9.0, 0.05, ["unsplit"]), (0.3, 3.0, [])],
    )
    def test_a_gain_that_targets_of_a_small_range_cannot_reach(
        self, tmp_path, gamma, scale, conditions
    ):
        """The gain of a split grows with the square of the targets."""
        x = table()
        parameters = {"gamma": gamma, "base_score": 0.0}  # older versions start from 0.5
        trial, _ = trained(tmp_path / "run", parameters, x, scale * x.sum(1), 200)

        assert conditions == [one.condition for one in found(trial, "setup")[0]]

    @pytest.mark.parametrize("objective", ["survival:aft", "survival:cox"])
    @pytest.mark.parametrize(("until", "found_of"), [(5.0, []), (np.inf, [("uncensored", "info")])])
    def test_times_of_which_none_is_censored(self, tmp_path, objective, until, found_of):
        """Each counts as that of an event, also where the study was closed before it."""
        x = table()
        times = np.exp(x[:, 0] + 0.3 * noise())
        is_seen, times = times <= until, np.minimum(times, until)
        data = xgboost.DMatrix(x, label=np.where(is_seen, times, -times))
        data.set_float_info("label_lower_bound", times)
        data.set_float_info("label_upper_bound", np.where(is_seen, times, np.inf))
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            xgboost.train({"objective": objective, "nthread": 1}, data, 12)
        findings = found(Trial(tmp_path / "run"), "setup")[0]

        assert found_of == [(one.condition, one.severity) for one in findings]

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_rows_apart_from_their_groups(self, tmp_path, is_shuffled):
        """Shuffled before the sizes of groups are set, which are those of before."""
        rng, data = np.random.default_rng(0), {}
        for name, queries in (("train", 200), ("val", 100)):
            sizes = rng.integers(5, 15, queries)
            levels = np.repeat(rng.normal(0, 2, queries), sizes)
            x = rng.normal(size=(sizes.sum(), 4))
            y = np.digitize(x[:, 0] + levels, [-1, 1, 3])
            if is_shuffled and name == "train":
                order = rng.permutation(len(x))
                x, y = x[order], y[order]
            data[name] = xgboost.DMatrix(x, label=y)
            data[name].set_group(sizes)
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            evals = [(data["val"], "val")]
            xgboost.train({"objective": "rank:ndcg", "nthread": 1}, data["train"], 12, evals=evals)
        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]

        assert ["ungrouped train"] * is_shuffled == conditions

    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_rows_apart_from_their_groups_by_a_column_that_has_one_value_for_each(
        self, tmp_path, is_shuffled
    ):
        """As what is known of a query; no other set of data is needed."""
        rng = np.random.default_rng(0)
        sizes = rng.integers(5, 15, 60)
        budget = np.repeat(rng.normal(size=60), sizes)
        x = np.stack([budget, rng.normal(size=len(budget))], axis=1)
        y = np.digitize(x[:, 1] - np.abs(budget), [-1, 0, 1])
        if is_shuffled:
            order = rng.permutation(len(x))
            x, y = x[order], y[order]
        data = xgboost.DMatrix(x, label=y)
        data.set_group(sizes)
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            xgboost.train({"objective": "rank:ndcg", "nthread": 1}, data, 12)
        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]

        assert ["ungrouped train"] * is_shuffled == conditions

    @pytest.mark.parametrize("is_apart", [False, True])
    @pytest.mark.parametrize("by", ["train", "estimator"])
    def test_categories_numbered_apart(self, tmp_path, by, is_apart):
        """The estimator keeps quantiles of what it trains on."""
        rng = np.random.default_rng(0)
        cities, sizes = rng.integers(0, 25, 1500), rng.normal(size=1500)
        y = (cities % 3 + sizes).astype(np.float32)
        parts = [slice(0, 1000), slice(1000, None)]
        if is_apart:
            codes = np.concatenate([pandas.factorize(cities[part])[0] for part in parts])
        else:
            codes = pandas.factorize(cities)[0]
        x = np.stack([codes, sizes], axis=1)
        train, test = parts
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if by == "train":
                data = [xgboost.DMatrix(x[part], label=y[part]) for part in parts]
                xgboost.train({"nthread": 1}, data[0], 12, evals=[(data[1], "test")])
            else:
                model = xgboost.XGBRegressor(n_estimators=12, n_jobs=1)
                model.fit(x[train], y[train], eval_set=[(x[test], y[test])], verbose=False)
        findings = found(Trial(tmp_path / "run"), "setup")[0]

        name = "test" if by == "train" else "validation_0"
        assert [f"recoded {name}"] * is_apart == [one.condition for one in findings]

    @pytest.mark.parametrize("by", ["train", "estimator"])
    @pytest.mark.parametrize("encoded", ["its own rows", "other rows"])
    def test_categories_encoded_by_the_labels_that_are_trained_on(self, tmp_path, by, encoded):
        """Of a part of the rows that were encoded, the other of which is evaluated."""
        rng = np.random.default_rng(0)
        category, y = rng.integers(0, 900, 2400), rng.integers(0, 2, 2400)
        rows = slice(None, 1200) if encoded == "other rows" else slice(None)
        counts = np.bincount(category[rows], minlength=900)
        sums = np.bincount(category[rows], y[rows], minlength=900)
        rates = (sums + 2 * y[rows].mean()) / (counts + 2)
        x = np.column_stack([rates[category], rng.normal(size=2400)])
        train, test = slice(1200 if encoded == "other rows" else 0, 2000), slice(2000, None)
        parts = train, test
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if by == "train":
                data = [xgboost.DMatrix(x[part], label=y[part]) for part in parts]
                xgboost.train({"nthread": 1}, data[0], 12, evals=[(data[1], "test")])
            else:
                model = xgboost.XGBClassifier(n_estimators=12, n_jobs=1)
                model.fit(x[train], y[train], eval_set=[(x[test], y[test])], verbose=False)
        findings = found(Trial(tmp_path / "run"), "label_leak")[0]

        assert ["encoded"] * (encoded == "its own rows") == [one.condition for one in findings]

    @pytest.mark.parametrize("has_price", [True, False])
    def test_a_column_of_which_the_label_is_the_logarithm(self, tmp_path, has_price):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 5))
        price = np.exp(x[:, 0] + 0.3 * rng.normal(size=300))
        table = np.column_stack([x, price]) if has_price else x
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            data = xgboost.DMatrix(table, label=np.log1p(price))
            xgboost.train({"nthread": 1}, data, 5)

        findings = found(Trial(tmp_path / "run"), "label_leak")[0]
        assert ["feature"] * has_price == [one.condition for one in findings]

    @pytest.mark.parametrize(("maximize", "is_found"), [(None, True), (True, False)])
    @pytest.mark.parametrize("by", ["train", "estimator"])
    def test_early_stopping_of_a_metric_that_rises(self, tmp_path, by, maximize, is_found):
        """It takes less for better unless it is told otherwise."""
        x = table()
        y = (x[:, 0] + x[:, 1] + x[:, 2] > 0.8).astype(float)
        stop = xgboost.callback.EarlyStopping(rounds=20, maximize=maximize)
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if by == "train":
                data, validation = parts(x, y)
                evals = [(data, "train"), (validation, "validation_0")]
                parameters = {**BINARY, "eta": 0.05, "nthread": 1, "base_score": 0.25}
                xgboost.train(
                    {**parameters, "disable_default_eval_metric": 1}, data, 30, evals=evals,
                    custom_metric=f1_of, callbacks=[stop], verbose_eval=False,
                )  # fmt: skip
            else:
                model = xgboost.XGBClassifier(
                    n_estimators=30, learning_rate=0.05, n_jobs=1, base_score=0.25,
                    eval_metric=f1, callbacks=[stop],
                )  # fmt: skip
                model.fit(x[:200], y[:200], eval_set=[(x[200:], y[200:])], verbose=False)
        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]

        assert (["early_stopping validation_0-f1"] if is_found else []) == conditions

    @pytest.mark.parametrize(
        ("order", "is_found"),
        [(("validation", "train"), True), (("train", "validation"), False), (("train",), False)],
    )
    def test_early_stopping_by_the_data_that_are_trained_on(self, tmp_path, order, is_found):
        """It stops by the last that is evaluated."""
        x = table()
        y = (x[:, 0] + x[:, 1] + x[:, 2] > 0.8).astype(float)
        data, validation = parts(x, y)
        named = {"train": data, "validation": validation}
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            xgboost.train(
                {**BINARY, "nthread": 1}, data, 12, evals=[(named[one], one) for one in order],
                early_stopping_rounds=5, verbose_eval=False,
            )  # fmt: skip
        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]

        assert ["stops_on_trained train-logloss"] * is_found == conditions


class TestClasses:
    @pytest.mark.parametrize(("threshold", "conditions"), [(1.6, ["train imbalance"]), (0, [])])
    def test_a_rare_class(self, tmp_path, threshold, conditions):
        """One in eighteen has the label 1, or every second."""
        x = table(1200)
        trial, _ = trained(tmp_path / "run", BINARY, x, x[:, 0] > threshold, 11)

        assert conditions == [one.condition for one in found(trial, "class_imbalance")[0]]

    @pytest.mark.parametrize(("is_sorted", "conditions"), [(True, [UNSEEN]), (False, [])])
    def test_a_class_that_is_evaluated_and_not_trained(self, tmp_path, is_sorted, conditions):
        """As of rows class by class, of which the last are split off."""
        x = table()
        y = (x[:, 0] > 0) + 2.0 * (x[:, 1] > 0)
        order = np.argsort(y) if is_sorted else np.arange(len(y))
        parameters = {"objective": "multi:softprob", "num_class": 4}
        trial, _ = trained(tmp_path / "run", parameters, x[order], y[order], 21)
        findings = found(trial, "repeated_data")[0]

        assert conditions == [one.condition for one in findings]
        assert all("none of 200 labels was in training" in one.message for one in findings)

    def test_a_model_that_is_trained_on_with_other_classes(self, tmp_path):
        """What was trained before counts, too."""
        x = table()
        y = (x[:, 0] > 0) + 2.0 * (x[:, 1] > 0)
        everything, model = xgboost.DMatrix(x, label=y), None
        parameters = {"objective": "multi:softprob", "num_class": 4, "nthread": 1}
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            for part in (y < 2, y >= 2):
                data = xgboost.DMatrix(x[part], label=y[part])
                evals = [(everything, "validation")]
                model = xgboost.train(
                    parameters, data, 20, evals=evals, xgb_model=model, verbose_eval=False
                )

        assert [] == found(Trial(tmp_path / "run"), "repeated_data")[0]

    def test_labels_that_nothing_tells(self, tmp_path):
        """Are confused in the validation data, whatever the training data say."""
        x = table()
        trial, _ = trained(tmp_path / "run", BINARY, x, noise() > 0, 11)

        assert "validation" in {one.tensor for one in found(trial, "confusion")[0]}

    def test_labels_that_are_plain(self, tmp_path):
        """Are told apart."""
        x = table()
        trial, _ = trained(tmp_path / "run", BINARY, x, x[:, 0] > 0, 11)

        assert [] == found(trial, "confusion:min_diag=0.9,max_off_diag=0.1")[0]


class TestLosses:
    def test_noise_that_is_learnt_by_heart(self, tmp_path):
        """The validation loss rises while the training loss falls."""
        trial, _ = trained(tmp_path / "run", BINARY, table(), noise() > 0, 60)

        assert ["validation-logloss"] == [one.tensor for one in found(trial, OVERFIT)[0]]

    def test_a_step_size_of_nothing(self, tmp_path):
        """The training loss stays where it is."""
        x = table()
        trial, _ = trained(tmp_path / "run", {"eta": 1e-9}, x, x.sum(1), 160)

        assert ["train-rmse"] == [one.tensor for one in found(trial, NOT_DECREASING)[0]]

    def test_another_training_begins_anew(self, tmp_path):
        """Its loss is no rise of the one before."""
        x = table()
        data = xgboost.DMatrix(x, label=x.sum(1))
        with XGBoostHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            for _ in range(3):
                parameters = {"max_depth": 2, "eta": 0.05}
                evals = [(data, "train")]
                xgboost.train(parameters, data, 130, evals=evals, verbose_eval=False)

        assert [] == found(Trial(tmp_path / "run"), NOT_DECREASING, "loss_spike:over_window=3")[0]


class TestHealthy:
    @pytest.mark.parametrize("what", ["regression", "two classes", "four classes", "ranking"])
    def test_the_default_rules_are_silent(self, tmp_path, what):
        """Of a training that learns, and is stopped in time."""
        x = table(1000)
        score = x[:, :4].sum(1) + 0.1 * noise(1000)
        parameters, y = {
            "regression": ({}, score),
            "two classes": (BINARY, score > 0),
            "four classes": (
                {"objective": "multi:softprob", "num_class": 4},
                np.digitize(score, [-1.5, 0, 1.5]),
            ),
            "ranking": ({"objective": "rank:pairwise"}, np.digitize(score, [-1.5, 0, 1.5])),
        }[what]
        settings = {"max_depth": 3, "eta": 0.1, **parameters}
        trial, _ = trained(tmp_path / "run", settings, x, y, 150)

        findings, statuses = found(
            trial, *DEFAULT_RULES, "feature_importance_overweight:nfeatures=2"
        )
        assert [] == [finding.message for finding in findings]
        assert "Error" not in statuses.values()
