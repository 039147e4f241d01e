"""What the hook on scikit-learn captures is what scikit-learn itself says, and rules judge it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor

from stepwatch.hooks.sklearn import SklearnHook
from stepwatch.model.steps import Mode
from stepwatch.rules import DEFAULT_RULES, Watch, watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def table(rows=400, columns=6, seed=0):
    """Return normal values, shape ``[rows, columns]``."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


def watched(run, train):
    """Call a function under a hook; return the run."""
    with SklearnHook(run=run, say=lambda _: None, strict=True, budget=None):
        train()
    return Trial(run)


def means(trial, name, mode=Mode.TRAIN):
    return list(trial.tensor(name).statistics(mode=mode)["mean"])


def found(trial):
    return {one.rule for one in watch(trial, Watch(DEFAULT_RULES)) if one.severity != "info"}


class TestNetworks:
    def test_losses_and_scores_are_those_of_the_estimator(self, tmp_path):
        x = table()
        model = MLPClassifier((8,), max_iter=12, early_stopping=True, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x[:, 0] > 0))

        assert list(model.loss_curve_) == means(trial, "loss/log_loss")
        scores = means(trial, "metric/validation_score", Mode.EVAL)
        assert list(model.validation_scores_) == scores
        assert {"coefs_.0", "coefs_.1", "intercepts_.0", "intercepts_.1"} == set(
            trial.tensor_names(collection="weights")
        )

    @pytest.mark.parametrize("classes", [2, 3])
    def test_what_validates_has_the_loss_that_scikit_learn_computes(self, tmp_path, classes):
        """With the weights of that epoch."""
        x = table()
        y = (4 * x[:, 0]).astype(int) % classes
        seen = []

        class Model(MLPClassifier):
            def _score(self, X, y, sample_weight=None):  # noqa: N803
                seen.append(log_loss(y, self._forward_pass_fast(X), labels=self.classes_))
                return super()._score(X, y, sample_weight)

        model = Model((8,), max_iter=3, early_stopping=True, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, y))

        np.testing.assert_allclose(means(trial, "loss/log_loss", Mode.EVAL), seen, rtol=1e-6)

    def test_lbfgs_is_one_step(self, tmp_path):
        x = table()
        model = MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=20, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x.sum(1)))

        assert [float(model.loss_)] == means(trial, "loss/squared_error")


class TestLinearModels:
    @pytest.mark.parametrize("make", [SGDClassifier, Perceptron, PassiveAggressiveClassifier])
    def test_batches_of_classes(self, tmp_path, make):
        x = table()
        model = make(random_state=0)

        def train():
            for start in range(0, 400, 100):
                rows = slice(start, start + 100)
                model.partial_fit(x[rows], x[rows, 0] > 0, classes=[False, True])

        trial = watched(tmp_path / "run", train)

        (loss,) = trial.tensor_names(collection="losses")
        losses = means(trial, loss)
        assert 4 == len(losses)
        assert np.isfinite(losses).all()
        last = trial.tensor("coef_").statistics(mode=Mode.TRAIN)["sum"][-1]
        assert float(last) == pytest.approx(model.coef_.sum())

    def test_the_loss_of_a_batch_is_that_from_before_it(self, tmp_path):
        """Of scores of 0, as it begins, and then of what it has learnt."""
        x = table(100)
        y = x[:, 0] > 0
        model = SGDClassifier(loss="log_loss", random_state=0)
        expected = [np.log(2)]

        def train():
            for _ in range(2):
                model.partial_fit(x, y, classes=[False, True])
                margins = np.where(y, 1, -1) * model.decision_function(x)
                expected.append(np.logaddexp(0, -margins).mean())

        trial = watched(tmp_path / "run", train)

        np.testing.assert_allclose(means(trial, "loss/log_loss"), expected[:2], rtol=1e-6)

    @pytest.mark.parametrize("make", [SGDRegressor, PassiveAggressiveRegressor])
    def test_a_fit_is_a_step_with_the_loss_that_is_left(self, tmp_path, make):
        x = table()
        model = make(random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x.sum(1)))

        (loss,) = trial.tensor_names(collection="losses")
        (value,) = means(trial, loss)
        assert 0 <= value < 0.5


class TestBoosting:
    def test_stages_with_their_losses(self, tmp_path):
        x = table()
        model = GradientBoostingClassifier(n_estimators=7, subsample=0.7, random_state=0)
        stopped = []
        trial = watched(
            tmp_path / "run",
            lambda: model.fit(x, x[:, 0] > 0, monitor=lambda i, *_: stopped.append(i)),
        )

        assert list(model.train_score_) == means(trial, "train-log_loss")
        assert list(model.oob_scores_) == means(trial, "oob-log_loss", Mode.EVAL)
        assert [*range(7)] == stopped == means(trial, "boosting/round")

    def test_a_stage_later_what_validates(self, tmp_path):
        x = table()
        model = GradientBoostingRegressor(n_estimators=6, n_iter_no_change=6, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x.sum(1)))

        losses = means(trial, "validation-squared_error", Mode.EVAL)
        assert 5 == len(losses)
        assert sorted(losses, reverse=True) == losses

    def test_histograms_with_early_stopping(self, tmp_path):
        x = table()
        model = HistGradientBoostingRegressor(max_iter=8, early_stopping=True, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x.sum(1)))

        losses = means(trial, "train-squared_error")
        assert [-one for one in model.train_score_[1:]] == losses
        held_out = means(trial, "validation-squared_error", Mode.EVAL)
        assert [-one for one in model.validation_score_[1:]] == held_out

    def test_histograms_that_evaluate_nothing(self, tmp_path):
        x = table()
        model = HistGradientBoostingClassifier(max_iter=21, early_stopping=False, random_state=0)
        trial = watched(tmp_path / "run", lambda: model.fit(x, x[:, 0] > 0))

        assert [*range(21)] == means(trial, "boosting/round")
        losses = means(trial, "train-log_loss")
        assert 3 == len(losses)
        assert losses[-1] == pytest.approx(log_loss(x[:, 0] > 0, model.predict_proba(x)))

    def test_stopping_ends_after_the_stage(self, tmp_path):
        x = table()
        model = GradientBoostingRegressor(n_estimators=9, random_state=0)
        with SklearnHook(run=tmp_path / "run", say=lambda _: None) as hook:
            model.fit(x, x[:, 0], monitor=lambda i, *_: i == 2 and hook.stop("seen enough"))

        assert 3 <= model.n_estimators_ <= 4
        assert "stopped" == Trial(tmp_path / "run").state


class TestManyTrainings:
    def test_each_begins_anew(self, tmp_path):
        x = table()
        search = GridSearchCV(
            MLPClassifier((4,), max_iter=30, random_state=0), {"alpha": [1e-4, 1e-2]}, cv=3
        )
        trial = watched(tmp_path / "run", lambda: search.fit(x, x[:, 0] > 0))

        assert [*range(1, 8)] == sorted(set(means(trial, "loop/weights_set")))
        assert set() == found(trial)

    def test_processes_of_their_own_are_let_be(self, tmp_path):
        x = table()
        model = SGDClassifier(random_state=0)
        scores = []
        watched(
            tmp_path / "run",
            lambda: scores.append(
                [cross_val_score(model, x, x[:, 0] > 0, cv=2, n_jobs=n) for n in (1, 2)]
            ),
        )

        ((alone, beside),) = scores
        assert list(alone) == list(beside)


class TestEstimators:
    @pytest.mark.parametrize(
        "model",
        [
            MLPClassifier((4,), max_iter=5, random_state=0),
            SGDClassifier(random_state=0),
            GradientBoostingClassifier(n_estimators=5, random_state=0),
            HistGradientBoostingClassifier(max_iter=5, random_state=0),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_they_are_what_they_are_without_the_hook(self, tmp_path, model):
        """Pickles, parameters and attributes."""
        x = table()
        y = x[:, 0] > 0
        plain = clone(model).fit(x, y)
        seen = clone(model)
        watched(tmp_path / "run", lambda: seen.fit(x, y))

        assert plain.get_params() == seen.get_params()
        assert vars(plain).keys() == vars(seen).keys()
        again = pickle.loads(pickle.dumps(seen))
        np.testing.assert_array_equal(plain.predict(x), again.predict(x))


class TestRules:
    def test_labels_that_are_shuffled(self, tmp_path):
        x = table(1200, 10)
        y = np.random.default_rng(1).permutation(x[:, 0] > 0)
        model = MLPClassifier(
            (32,), max_iter=80, early_stopping=True, n_iter_no_change=80, random_state=0
        )
        assert "chance_level" in found(watched(tmp_path / "run", lambda: model.fit(x, y)))

    @pytest.mark.parametrize("kind", ["in order", "shuffled"])
    def test_batches_in_the_order_of_their_classes(self, tmp_path, kind):
        """As of files that are read class by class."""
        x = table(1200)
        y = np.where(x[:, 0] > 0, "yes", "no")
        order = np.argsort(y) if kind == "in order" else np.arange(len(y))

        def train():
            model = SGDClassifier(loss="log_loss", random_state=0)
            for rows in np.array_split(order, 40):
                model.partial_fit(x[rows], y[rows], classes=["no", "yes"])

        expected = {"repeated_data"} if kind == "in order" else set()
        assert expected == found(watched(tmp_path / "run", train)) & {"repeated_data"}

    def test_a_rate_that_is_far_too_high(self, tmp_path):
        x = table()
        model = MLPClassifier(
            (32,), solver="sgd", learning_rate_init=50.0, max_iter=30, random_state=0
        )
        trial = watched(tmp_path / "run", lambda: model.fit(x, x[:, 0] > 0))
        assert "step_size" in found(trial)

    @pytest.mark.parametrize(
        "model",
        [
            MLPClassifier((16,), max_iter=60, early_stopping=True, random_state=0),
            GradientBoostingClassifier(n_estimators=60, max_depth=2, random_state=0),
            HistGradientBoostingClassifier(max_iter=30, random_state=0),
            SGDClassifier(random_state=0),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_healthy_trainings_are_let_be(self, tmp_path, model):
        x = table(2000)
        model = clone(model)
        assert set() == found(watched(tmp_path / "run", lambda: model.fit(x, x[:, 0] > 0)))


class TestScripts:
    def test_what_is_not_trained_in_steps_opens_no_run(self, tmp_path):
        (tmp_path / "train.py").write_text(
            "from sklearn.linear_model import LogisticRegression\n"
            "LogisticRegression().fit([[0.0], [1.0]], [0, 1])\n"
        )
        command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

        assert 0 == done.returncode, done.stderr
        assert "there was nothing to see" in done.stderr
        assert not (tmp_path / "run").exists()
