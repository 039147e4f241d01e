"""What the hook on LightGBM captures is what LightGBM itself says, and rules can judge it."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from stepwatch.hooks.lightgbm import LightGBMHook
from stepwatch.model.steps import Mode
from stepwatch.rules import DEFAULT_RULES, Watch, watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework

QUIET = {"num_threads": 1, "verbosity": -1, "seed": 1, "deterministic": True}
BINARY = {"objective": "binary"}
EVERYTHING = ["average_shap:raw", "full_shap:raw", "trees:raw", "labels:raw", "predictions:raw"]
OVERFIT = next(spec for spec in DEFAULT_RULES if spec.startswith("overfit"))


def table(rows=400, columns=10, seed=0):
    """Return normal values, shape ``[rows, columns]``."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def train(parameters, x, y, rounds=21, *, is_evaluated=True, keeps_data=False):
    """Train on the first half, judged by both or by none; return the model."""
    half = len(x) // 2
    data = lightgbm.Dataset(x[:half], label=y[:half], free_raw_data=not keeps_data)
    sets = {"train": data, "validation": data.create_valid(x[half:], label=y[half:])}
    if not is_evaluated:
        sets = {}
    return lightgbm.train(
        {**QUIET, **parameters},
        data,
        rounds,
        valid_sets=list(sets.values()),
        valid_names=list(sets),
        keep_training_booster=True,
    )


def trained(run, parameters, x, y, rounds=21, policy=None, **options):
    """Train under a hook that is not handed over; return the run and the model."""
    with LightGBMHook(run=run, say=lambda _: None, strict=True, policy=policy):
        model = train(parameters, x, y, rounds, **options)
    return Trial(run), model


def last(trial, name, mode=Mode.TRAIN):
    """Return the last full value of a tensor."""
    tensor = trial.tensor(name)
    return tensor.value(tensor.steps(mode)[-1], mode=mode)


def found(trial, *rules):
    """Return the findings of rules, and the status of each by its name."""
    engine = Watch(rules)
    findings = list(watch(trial, engine))
    return findings, {one.rule: one.status for one in engine.statuses()}


class TestMetrics:
    def test_each_set_of_data_in_its_mode(self, tmp_path):
        """What is trained on at TRAIN steps, all else at the EVAL steps after them."""
        parameters = {**BINARY, "metric": ["auc", "binary_logloss"]}
        trial, model = trained(tmp_path / "run", parameters, (x := table()), x[:, 0] > 0, 5)

        losses = {"train-binary_logloss", "validation-binary_logloss"}
        assert losses == set(trial.tensor_names(collection="losses"))
        assert {"train-auc", "validation-auc"} == set(trial.tensor_names(collection="metrics"))
        assert [0, 1, 2, 3, 4] == trial.tensor("validation-auc").steps(Mode.EVAL)
        for name, mode in (("train", Mode.TRAIN), ("validation", Mode.EVAL)):
            said = model.best_score[name]["binary_logloss"]
            assert said == last(trial, f"{name}-binary_logloss", mode)

    def test_the_training_loss_that_nobody_asked_for(self, tmp_path):
        """Every tenth round, as LightGBM gives it to who asks for it."""
        x = table()
        asked, _ = trained(tmp_path / "asked", {}, x, x.sum(1), 11)
        trial, _ = trained(tmp_path / "run", {}, x, x.sum(1), 11, is_evaluated=False)

        want = asked.tensor("train-l2").statistics(mode=Mode.TRAIN)["mean"]
        seen = trial.tensor("training-l2")
        assert [0, 10] == seen.steps(Mode.TRAIN)
        np.testing.assert_array_equal(want[::10], seen.statistics()["mean"])

    def test_a_cross_validation(self, tmp_path):
        """The means over its folds, and how far the folds are apart."""
        x = table()
        data = lightgbm.Dataset(x, label=x.sum(1))
        with LightGBMHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            result = lightgbm.cv(QUIET, data, 4, nfold=3, stratified=False, eval_train_metric=True)

        trial = Trial(tmp_path / "run")
        for name, mode in (("train", Mode.TRAIN), ("valid", Mode.EVAL)):
            for suffix, key in (("", "mean"), ("-std", "stdv")):
                seen = trial.tensor(f"{name}-l2{suffix}").statistics(mode=mode)["mean"]
                assert result[f"{name} l2-{key}"] == list(seen)


class TestModel:
    def test_importances_are_shares_of_lightgbms_own(self, tmp_path):
        """Every tenth round: how often features split, and what that gains."""
        trial, model = trained(tmp_path / "run", BINARY, (x := table()), x[:, :3].sum(1) > 0)

        splits = model.feature_importance("split", iteration=21)
        gains = model.feature_importance("gain", iteration=21)
        for name, split, gain in zip(model.feature_name(), splits, gains, strict=True):
            if split:
                weight = last(trial, f"feature_importance/weight/{name}")
                total_gain = last(trial, f"feature_importance/total_gain/{name}")
                assert split / splits.sum() == pytest.approx(float(weight))
                assert gain / gains.sum() == pytest.approx(float(total_gain))

    def test_hyperparameters_are_there_once(self, tmp_path):
        """Numbers as numbers, the rest as text, defaults included."""
        parameters = {**BINARY, "learning_rate": 0.25}
        trial, _ = trained(tmp_path / "run", parameters, (x := table()), x[:, 0] > 0, 3)

        assert [0] == trial.tensor("hyperparameters/learning_rate").steps(Mode.TRAIN)
        assert 0.25 == last(trial, "hyperparameters/learning_rate")
        assert "binary" == last(trial, "hyperparameters/objective")
        assert 31.0 == last(trial, "hyperparameters/num_leaves")

    def test_trees_lead_each_row_to_what_the_model_says(self, tmp_path):
        """From the root along the children."""
        x = table()
        policy = ["trees:raw"]
        trial, model = trained(tmp_path / "run", {}, x, x.sum(1), 3, policy)

        total = np.zeros(len(x))
        for step in range(3):
            column = {
                name.removeprefix("trees/"): trial.tensor(name).value(step, mode=Mode.TRAIN)
                for name in trial.tensor_names(collection="trees")
            }
            place = {one: at for at, one in enumerate(column["ID"].tolist())}
            for row, values in enumerate(x):
                at = 0
                while column["Feature"][at] != "Leaf":
                    feature = int(str(column["Feature"][at]).removeprefix("Column_"))
                    below = values[feature] <= column["Split"][at]
                    at = place[str(column["Yes" if below else "No"][at])]
                total[row] += column["Gain"][at]
        np.testing.assert_allclose(model.predict(x), total, rtol=1e-6)

    @pytest.mark.parametrize("objective", ["regression", "multiclass"])
    def test_shap_adds_up_to_the_prediction(self, tmp_path, objective):
        """Where LightGBM still has the data; else it is said that it has not."""
        x = table()
        parameters = {"objective": objective, "num_class": 3 if objective == "multiclass" else 1}
        y = np.digitize(x[:, 0], [-0.5, 0.5])
        trial, model = trained(tmp_path / "run", parameters, x, y, 3, EVERYTHING, keeps_data=True)

        names = trial.tensor_names(collection="full_shap")
        margin = model.predict(x[:200], raw_score=True)
        assert 11 == len(names)
        np.testing.assert_allclose(sum(last(trial, name) for name in names), margin, rtol=1e-6)

    def test_data_that_is_gone_has_no_shap(self, tmp_path, caplog):
        """Which is said once, and the rest is captured."""
        x = table()
        trial, _ = trained(tmp_path / "run", {}, x, x.sum(1), 3, EVERYTHING)

        assert [] == trial.tensor_names(collection="full_shap")
        assert 3 == len(trial.steps(Mode.TRAIN))
        assert 1 == caplog.text.count("no SHAP values of this model are captured")


class TestLabelsAndPredictions:
    @pytest.mark.parametrize("num_class", [2, 3])
    def test_confusions_of_both_data(self, tmp_path, num_class):
        """Are those of the labels with what the model says."""
        x = table()
        y = np.digitize(x[:, 0], [-0.5, 0.5][: num_class - 1])
        several = {"objective": "multiclass", "num_class": 3}
        parameters = several if num_class == 3 else BINARY
        trial, model = trained(tmp_path / "run", parameters, x, y, 1, EVERYTHING)

        said = model.predict(x)
        guesses = said.argmax(1) if num_class == 3 else said > 0.5
        for name, mode, half in (
            ("train", Mode.TRAIN, slice(200)),
            ("validation", Mode.EVAL, slice(200, 400)),
        ):
            np.testing.assert_allclose(said[half], last(trial, f"prediction/{name}", mode))
            counts = np.zeros((num_class, num_class), int)
            np.add.at(counts, (y[half], guesses[half].astype(int)), 1)
            np.testing.assert_array_equal(counts, last(trial, f"confusion/{name}", mode))


class TestTheModelIsTheSame:
    @pytest.mark.parametrize(
        "parameters",
        [
            {"bagging_fraction": 0.5, "bagging_freq": 1, "feature_fraction": 0.5},
            {"boosting": "dart", "drop_rate": 0.5},
            {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
            {"data_sample_strategy": "goss"},
            {"objective": "multiclass", "num_class": 3},
        ],
        ids=["bagging", "dart", "forest", "goss", "classes"],
    )
    @pytest.mark.parametrize("is_evaluated", [True, False], ids=["evaluated", "plain"])
    def test_bit_for_bit(self, tmp_path, parameters, is_evaluated):
        """Whatever is saved, and although the hook asks for predictions and metrics itself."""
        x = table()
        y = np.digitize(x[:, 0], [-0.5, 0.5])
        options = {"rounds": 8, "is_evaluated": is_evaluated, "keeps_data": True}
        without = train(parameters, x, y, **options).model_to_string()
        _, model = trained(tmp_path / "run", parameters, x, y, policy=EVERYTHING, **options)

        assert without == model.model_to_string()

    def test_early_stopping_stops_where_it_would(self, tmp_path):
        """The round that it stops after was captured."""
        x = table()
        noise = np.random.default_rng(5).normal(size=400)
        parameters = {"early_stopping_round": 3}
        plain = train(parameters, x, noise, 50)
        trial, watched = trained(tmp_path / "run", parameters, x, noise, 50)

        assert plain.best_iteration == watched.best_iteration < 40
        assert plain.best_iteration + 3 == len(trial.steps(Mode.TRAIN))


class TestInTheMannerOfSklearn:
    @pytest.mark.parametrize("kind", ["LGBMClassifier", "LGBMRegressor", "LGBMRanker"])
    def test_fit_is_seen(self, tmp_path, kind):
        """With the names that LightGBM gives the data."""
        x = table()
        y = (x[:, 0] > 0).astype(int)
        options = {"eval_set": [(x, y), (x[:100], y[:100])]}
        if kind == "LGBMRanker":
            options |= {"group": [10] * 40, "eval_group": [[10] * 40, [10] * 10]}
        with LightGBMHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            getattr(lightgbm, kind)(n_estimators=4, verbosity=-1, n_jobs=1).fit(x, y, **options)

        trial = Trial(tmp_path / "run")
        assert (4, 4) == (len(trial.steps(Mode.TRAIN)), len(trial.steps(Mode.EVAL)))
        names = {
            (name.partition("-")[0], mode)
            for collection in ("losses", "metrics")
            for name in trial.tensor_names(collection=collection)
            for mode in (Mode.TRAIN, Mode.EVAL)
            if trial.tensor(name).steps(mode)
        }
        assert {("training", Mode.TRAIN), ("valid_1", Mode.EVAL)} == names


class TestRules:
    def test_a_feature_that_tells_the_label(self, tmp_path):
        """Holds all importance of ten columns."""
        trial, _ = trained(tmp_path / "run", BINARY, (x := table()), x[:, 0] > 0)

        (finding,) = found(trial, "feature_importance_overweight")[0]
        assert "feature_importance/weight/Column_0" == finding.tensor
        assert finding.value > 0.8

    def test_trees_deeper_than_four(self, tmp_path):
        """Are counted by following their children."""
        x = table(2000)
        trial, _ = trained(
            tmp_path / "run", {"max_depth": 7, "num_leaves": 100}, x, x.sum(1), 2, ["trees:raw"]
        )

        assert 7.0 == found(trial, "tree_depth")[0][0].value

    @pytest.mark.parametrize("is_sorted", [True, False])
    def test_a_class_that_is_evaluated_and_not_trained(self, tmp_path, is_sorted):
        """As of rows class by class, of which the last are split off."""
        x = table()
        y = (x[:, 0] > 0) + 2 * (x[:, 1] > 0)
        order = np.argsort(y) if is_sorted else np.arange(len(y))
        parameters = {"objective": "multiclass", "num_class": 4}
        trial, _ = trained(tmp_path / "run", parameters, x[order], y[order])
        conditions = [one.condition for one in found(trial, "repeated_data")[0]]

        assert (["unseen_class class_count/validation"] if is_sorted else []) == conditions

    def test_noise_that_is_learnt_by_heart(self, tmp_path):
        """The validation loss rises while the training loss falls."""
        noise = np.random.default_rng(7).normal(size=400) > 0
        trial, _ = trained(tmp_path / "run", {**BINARY, "learning_rate": 0.3}, table(), noise, 80)

        assert ["validation-binary_logloss"] == [one.tensor for one in found(trial, OVERFIT)[0]]

    @pytest.mark.parametrize(
        ("parameters", "conditions"),
        [
            ({"min_sum_hessian_in_leaf": 1e9}, ["unsplit"]),
            ({"min_gain_to_split": 5.0}, []),  # late trees have no split
            ({}, []),
        ],
    )
    def test_trees_without_a_split(self, tmp_path, parameters, conditions):
        """Are found where none had one."""
        x = table()
        trial, _ = trained(tmp_path / "run", {**BINARY, **parameters}, x, x[:, 0] > 0)

        assert conditions == [one.condition for one in found(trial, "setup")[0]]

    @pytest.mark.parametrize(("sign", "conditions"), [(1, []), (-1, ["uphill"])])
    def test_an_objective_of_the_wrong_sign(self, tmp_path, sign, conditions):
        x = table()
        y = np.random.default_rng(3).poisson(np.exp(x[:, 0]))

        def poisson(margins, data):
            rate = np.exp(np.clip(margins, -10, 10))
            return sign * (rate - data.get_label()), rate

        trial, _ = trained(tmp_path / "run", {"objective": poisson}, x, y)
        found_of = [one.condition for one in found(trial, "setup")[0]]
        assert conditions == [one for one in found_of if one == "uphill"]

    @pytest.mark.parametrize("more_is_better", [False, True])
    @pytest.mark.parametrize("by", ["callback", "parameter", "nothing"])
    def test_early_stopping_of_a_metric_that_rises(self, tmp_path, by, more_is_better):
        """A metric of one's own says what is better; that matters if it ends the training."""
        x = table()
        data = lightgbm.Dataset(x[:200], label=x[:200, 0] + x[:200, 1] > 1)
        validation = data.create_valid(x[200:], label=x[200:, 0] + x[200:, 1] > 1)

        def f1(said, of):
            truth, said = of.get_label() > 0.5, said > 0.5
            share = 2 * (truth & said).sum() / max(1, truth.sum() + said.sum())
            return "f1", share, more_is_better

        parameters = {**QUIET, **BINARY, "metric": "None", "learning_rate": 0.05}
        if by == "parameter":
            parameters["early_stopping_round"] = 20
        callbacks = [lightgbm.early_stopping(20, verbose=False)] if by == "callback" else []
        with LightGBMHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            lightgbm.train(
                parameters, data, 40, valid_sets=[validation], valid_names=["validation"],
                feval=f1, callbacks=callbacks,
            )  # fmt: skip
        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]

        is_found = by != "nothing" and not more_is_better
        assert (["early_stopping validation-f1"] if is_found else []) == conditions

    @pytest.mark.parametrize("what", ["regression", "two classes", "four classes"])
    def test_the_default_rules_are_silent(self, tmp_path, what):
        """Of a training that learns, and is stopped in time."""
        x = table(1000)
        score = x[:, :4].sum(1) + 0.1 * np.random.default_rng(7).normal(size=1000)
        parameters, y = {
            "regression": ({}, score),
            "two classes": (BINARY, score > 0),
            "four classes": (
                {"objective": "multiclass", "num_class": 4},
                np.digitize(score, [-1.5, 0, 1.5]),
            ),
        }[what]
        settings = {"num_leaves": 8, "learning_rate": 0.1, **parameters}
        trial, _ = trained(tmp_path / "run", settings, x, y, 150)

        rules = (*DEFAULT_RULES, "feature_importance_overweight:nfeatures=2")
        findings, statuses = found(trial, *rules)
        assert [] == [finding.message for finding in findings]
        assert "Error" not in statuses.values()


class TestEncodings:
    @pytest.mark.parametrize("by", ["table", "frame", "estimator"])
    @pytest.mark.parametrize("is_own", [True, False])
    def test_categories_encoded_by_the_labels_that_are_trained_on(self, tmp_path, by, is_own):
        """LightGBM keeps bins, and the script what they are made of."""
        rng = np.random.default_rng(0)
        category, y = rng.integers(0, 300, 1200), rng.normal(size=1200)
        of = y if is_own else rng.permutation(y)
        means = np.bincount(category, of) / np.bincount(category).clip(1)
        x = np.column_stack([means[category], rng.normal(size=1200)])
        if by == "frame":
            x = pytest.importorskip("pandas").DataFrame(x, columns=["city_mean", "size"])
        with LightGBMHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if by == "estimator":
                pytest.importorskip("sklearn")
                model = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbosity=-1)
                model.fit(x[:900], y[:900], eval_set=[(x[900:], y[900:])])
            else:
                train(QUIET, x, y, 5)

        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "label_leak")[0]]
        assert ["encoded"] * is_own == conditions

    @pytest.mark.parametrize("is_shuffled", [True, False])
    def test_rows_apart_from_their_queries_which_the_script_has_beside_the_features(
        self, tmp_path, is_shuffled
    ):
        """A table with the same rows in another order, as that before sorting, says nothing."""
        pytest.importorskip("pandas")
        with LightGBMHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            ranked_by_query(is_shuffled)

        conditions = [one.condition for one in found(Trial(tmp_path / "run"), "setup")[0]]
        assert ["ungrouped training"] * is_shuffled == conditions


def ranked_by_query(is_shuffled):
    """Train on rows of queries; without assertions, as pytest makes these look at variables."""
    from pandas import DataFrame

    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 15, 60)
    match = rng.normal(size=sizes.sum())
    rows = DataFrame({"qid": np.repeat(np.arange(60), sizes), "match": match})
    rows["grade"] = np.digitize(match, [-1, 0, 1])
    shuffled = rows.sample(frac=1.0, random_state=1).reset_index(drop=True)
    given = shuffled if is_shuffled else shuffled.sort_values("qid", kind="stable")
    data = lightgbm.Dataset(given[["match"]], label=given["grade"], group=sizes)
    lightgbm.train({**QUIET, "objective": "lambdarank"}, data, 5)
