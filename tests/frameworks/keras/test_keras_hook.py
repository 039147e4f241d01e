"""What the hook for Keras captures, and what it says that it does not, on the backend that runs."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.hooks.keras import KerasHook, tracker
from stepwatch.hooks.keras.backend import backend
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import COUNT, FIELDS, SUM_SQ
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
BACKEND = keras.backend.backend()
X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
Y = X.sum(1, keepdims=True)


def model(*before, optimizer="sgd", loss="mse", **compiled):
    """Return a small model that is the same whenever it is made."""
    keras.backend.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    made = keras.Sequential([keras.Input((4,)), *before, layers.Dense(1)], name="model")
    made.compile(optimizer, loss, **compiled)
    return made


def watched(run, train, *, on_host=True, **options):
    """Train under a hook; return the trial and the coverage line."""
    hook = KerasHook(run=run, say=lambda _: None, strict=True, **options)
    hook.backend.on_host = on_host
    with hook:
        train()
    return Trial(run), hook.coverage


def fit(made, **options):
    made.fit(X, Y, batch_size=16, verbose=0, **options)


class TestSteps:
    def test_each_kind_of_batch_has_its_mode(self, tmp_path):
        """Batches of fit, of its validation, of evaluate and of predict."""

        def train():
            made = model()
            fit(made, epochs=2, validation_data=(X[:32], Y[:32]))
            made.evaluate(X[:32], Y[:32], verbose=0)
            made.predict(X, batch_size=16, verbose=0)

        trial, _ = watched(tmp_path / "run", train)

        counts = {mode: len(trial.steps(mode)) for mode in ("TRAIN", "EVAL", "PREDICT")}
        assert {"TRAIN": 8, "EVAL": 5, "PREDICT": 4} == counts

    def test_epochs_are_those_of_fit(self, tmp_path):
        """How often it had gone through the data; a second one goes on, and without it are none."""

        def train():
            made = model()
            fit(made, epochs=2, validation_data=(X[:32], Y[:32]))
            fit(made, epochs=1)
            made.train_on_batch(X, Y)

        trial, _ = watched(tmp_path / "run", train)

        epochs = trial.tensor("loop/epoch").statistics("TRAIN")
        assert [step / 4 for step in range(12)] == epochs["mean"].tolist()
        assert 13 == len(trial.steps("TRAIN"))

    def test_each_evaluation_since_training_is_a_pass(self, tmp_path):
        """A validation of ``fit``, and ``evaluate`` after it; they are counted anew in the next."""

        def train():
            made = model()
            for _ in range(2):
                fit(made, validation_data=(X[:32], Y[:32]), validation_batch_size=16)
                made.evaluate(X[:32], Y[:32], batch_size=16, verbose=0)

        trial, _ = watched(tmp_path / "run", train)

        passes = trial.tensor("evaluation/number").statistics("EVAL")
        begun = dict(zip(passes.mode_steps.tolist(), passes["mean"].tolist(), strict=True))
        assert {0: 1, 2: 2, 4: 1, 6: 2} == begun

    def test_batches_without_fit(self, tmp_path):
        """Are steps as well."""

        def train():
            made = model()
            made.train_on_batch(X, Y)
            made.test_on_batch(X, Y)
            made.predict_on_batch(X)

        trial, _ = watched(tmp_path / "run", train)

        assert [1, 1, 1] == [len(trial.steps(mode)) for mode in ("TRAIN", "EVAL", "PREDICT")]

    @pytest.mark.skipif(BACKEND == "torch", reason="Keras refuses it there")
    def test_steps_per_execution(self, tmp_path):
        """JAX runs every step by itself; of TensorFlow's the last is seen, and that is said."""

        def train():
            fit(made := model(steps_per_execution=2))
            made.predict(X, batch_size=16, verbose=0)

        trial, coverage = watched(tmp_path / "run", train)

        assert (4 if BACKEND == "jax" else 2) == len(trial.steps("TRAIN"))
        assert (BACKEND == "tensorflow") == ("steps_per_execution=2" in coverage)

    def test_a_smaller_last_batch(self, tmp_path):
        """Has its own shape."""
        made = model()
        trial, _ = watched(
            tmp_path / "run", lambda: made.fit(X[:40], Y[:40], batch_size=16, verbose=0)
        )

        series = trial.tensor("output/dense").statistics(mode=Mode.TRAIN)
        assert [16, 16, 8] == list(series["count"])


class TestTensors:
    def test_statistics_are_the_same_wherever_they_are_computed(self, tmp_path):
        """Where the tensors lie, or as operations of the step, as with an accelerator."""

        def train():
            keras.utils.set_random_seed(0)  # before a layer draws its own seed
            first = layers.Dense(8, "relu", name="first")
            fit(model(first, layers.BatchNormalization(), layers.Dropout(0.5)))

        here, there = (
            watched(tmp_path / str(on_host), train, on_host=on_host, policy=["gradients:raw"])[0]
            for on_host in (True, False)
        )

        assert here.tensor_names() == there.tensor_names()
        for name in set(here.tensor_names()) - {"loop/step_seconds"}:
            one, other = here.tensor(name).statistics(), there.tensor(name).statistics()
            for field in FIELDS:
                np.testing.assert_allclose(
                    one[field], other[field], rtol=1e-4, atol=1e-4, err_msg=f"{name} {field}"
                )
        name = "gradient/dense/kernel"
        np.testing.assert_array_equal(
            here.tensor(name).value(2, mode="TRAIN"), there.tensor(name).value(2, mode="TRAIN")
        )

    @pytest.mark.parametrize("value", [1e-25, 1e25])
    def test_squares_of_float32_neither_vanish_nor_overflow(self, value):
        """Also as an accelerator sums them that has no float64."""
        reader, info = backend(), TensorInfo("x", "gradients", "float32", (3,))
        tensor = keras.ops.convert_to_tensor(np.full(3, value, np.float32))
        row = reader.unpack(reader.compiled(reader.pack)([tensor]), [info])[0]

        assert (3, pytest.approx(3 * value**2, rel=1e-5, abs=0)) == (row[COUNT], row[SUM_SQ])

    def test_the_loss_of_a_batch_is_its_own(self, tmp_path):
        """Not the mean over the epoch that Keras shows, which is a metric."""
        trial, _ = watched(tmp_path / "run", lambda: fit(model(optimizer="sgd")))

        losses = trial.tensor("loss/loss").statistics(mode="TRAIN")["mean"]
        means = np.cumsum(losses) / np.arange(1, 5)
        shown = trial.tensor("metric/loss").statistics(mode="TRAIN")["mean"]
        np.testing.assert_allclose(shown, means, rtol=1e-5)

    def test_a_schedule_and_a_gradient_accumulator(self, tmp_path):
        """The rate is that of each step."""
        schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
        optimizer = keras.optimizers.SGD(schedule, gradient_accumulation_steps=2)
        trial, _ = watched(tmp_path / "run", lambda: fit(model(optimizer=optimizer)))

        rates = trial.tensor("learning_rate/0").statistics()["mean"]
        np.testing.assert_allclose(rates, 0.1 * 0.5 ** np.arange(4), rtol=1e-6)

    def test_gradients_of_mixed_precision_are_unscaled(self, tmp_path):
        """They are as large as those of float32, whatever the loss was multiplied by."""
        norms = []
        for policy in ("float32", "mixed_float16"):
            keras.config.set_dtype_policy(policy)
            try:
                run = tmp_path / policy
                trial, _ = watched(run, lambda: fit(model(optimizer=keras.optimizers.SGD(1e-4))))
            finally:
                keras.config.set_dtype_policy("float32")
            norms.append(trial.tensor("gradient/dense/kernel").statistics()["l2"])

        np.testing.assert_allclose(norms[0], norms[1], rtol=0.01)

    def test_frozen_and_nested_layers(self, tmp_path):
        """Have the path of their names; what is frozen is a weight without a gradient."""
        inner = keras.Sequential([keras.Input((4,)), layers.Dense(3)], name="inner")
        inner.trainable = False
        trial, coverage = watched(tmp_path / "run", lambda: fit(model(inner)))

        weights = trial.tensor_names(collection="weights")
        gradients = trial.tensor_names(collection="gradients")
        assert "inner" in {name.split("/")[0] for name in weights}
        assert 2 == len(gradients) == sum(name.startswith("gradient/dense") for name in gradients)
        assert coverage.startswith("capturing 2 of 2 parameters")


class TestUsers:
    def test_a_train_step_of_the_script(self, tmp_path):
        """What it returns as its loss is the loss, if it computes it in its own way."""

        class Own(keras.Model):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return keras.ops.mean(keras.ops.abs(y_pred - y))

        inputs = keras.Input((4,))
        made = Own(inputs, layers.Dense(1)(inputs))
        made.compile("sgd")
        trial, _ = watched(tmp_path / "run", lambda: fit(made))

        np.testing.assert_allclose(
            trial.tensor("loss/loss").statistics()["mean"][0],
            trial.tensor("metric/loss").statistics()["mean"][0],
            rtol=1e-6,
        )

    def test_only_the_model_that_was_named(self, tmp_path):
        """The other trains unseen."""
        one, other = model(), model()

        def train():
            fit(other)
            fit(one, epochs=2)

        trial, _ = watched(tmp_path / "run", train, model=one)

        assert 8 == len(trial.steps("TRAIN"))

    def test_it_may_be_handed_to_fit(self, tmp_path):
        """As people expect of what looks into ``fit``."""
        hook = KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True)
        with hook:
            fit(model(), callbacks=[hook])

        assert 4 == len(Trial(tmp_path / "run").steps("TRAIN"))

    def test_a_model_that_was_compiled_before(self, tmp_path):
        """Is seen, and after it runs as before."""
        made = model()
        fit(made)
        trial, _ = watched(tmp_path / "run", lambda: fit(made))
        fit(made)

        assert 4 == len(trial.steps("TRAIN"))
        assert 4 == len(trial.tensor("output/dense").steps("TRAIN"))

    def test_a_model_that_is_built_by_its_first_batch(self, tmp_path):
        """Its embedding has no table before."""

        class Pairs(keras.Model):
            def __init__(self):
                super().__init__()
                self.user = layers.Embedding(9, 4)

            def call(self, x):
                return keras.ops.sum(self.user(x), axis=(1, 2))[:, None]

        made = Pairs()
        made.compile("sgd", "mse")
        ids = np.arange(64, dtype="int32").reshape(32, 2) % 9
        data = [(ids, ids.sum(1, keepdims=True).astype("float32"))] * 3
        trial, _ = watched(
            tmp_path / "run", lambda: made.fit((one for one in data), steps_per_epoch=3, verbose=0)
        )

        assert 3 == len(trial.steps("TRAIN"))
        (table,) = trial.tensor_names(collection="weights")
        assert trial.steps("TRAIN")[-1] in trial.tensor(table).steps("TRAIN")

    def test_a_model_that_cannot_be_described_trains_all_the_same(self, tmp_path, monkeypatch):
        """Capturing is off from there on, and says why."""
        monkeypatch.setattr(tracker, "ModelNames", lambda _: 1 / 0)
        alone = model()
        fit(alone)
        with KerasHook(run=tmp_path / "run", say=lambda _: None) as hook:
            made = model()
            fit(made)

        for one, other in zip(alone.get_weights(), made.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert "ZeroDivisionError" in hook.failure


class TestWeightsSet:
    """A script may set all weights of its model between two steps, as for another task."""

    def counts(self, run, between):
        made = model()

        def train():
            for _ in range(3):
                made.train_on_batch(X, Y)
                between(made)

        trial, _ = watched(run, train)
        if "loop/weights_set" not in trial.tensor_names():
            return []
        return trial.tensor("loop/weights_set").statistics()["mean"].tolist()

    def test_it_is_counted_from_the_next_step_on(self, tmp_path):
        def begin_anew(made):
            made.set_weights([np.zeros_like(one) for one in made.get_weights()])

        assert [1, 2] == self.counts(tmp_path / "run", begin_anew)

    def test_what_is_put_back_is_not(self, tmp_path):
        """As where an average of the weights is evaluated."""

        def evaluate_average(made):
            kept = made.get_weights()
            made.set_weights([one / 2 for one in kept])
            made.test_on_batch(X, Y)
            made.set_weights(kept)

        assert [] == self.counts(tmp_path / "run", evaluate_average)
