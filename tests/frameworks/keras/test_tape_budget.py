"""A budget for loops with gradient tapes: most steps are observed by their losses only."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from stepwatch.capture import budget
from stepwatch.hooks.tensorflow import TensorFlowHook
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"),
]
FULL = [0, 1, 5, 10]


@pytest.fixture
def every_fifth(monkeypatch, tmp_path):
    """Return a function that trains under a hook which observes every fifth step in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watched(train):
        run = tmp_path / "run"
        with TensorFlowHook(run=run, say=str, strict=True, budget=0.03) as hook:
            hook.recorder.budget.period = 5
            returned = train(hook)
        return returned, Trial(run)

    return watched


def fit(decorate, steps=12, each=lambda step: None):
    """Train two layers of Keras; return the losses and the weights."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu", name="hidden")])
    optimizer = keras.optimizers.Adam(0.01)
    rng, losses = np.random.default_rng(0), []

    @decorate
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - 1) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for step in range(steps):
        losses.append(float(train_step(tf.constant(rng.normal(size=(8, 4)), tf.float32))))
        each(step)
    return losses, model.get_weights()


def eager(function):
    """Stand for ``tf.function`` where nothing is traced."""
    return function


def compiled(function):
    """Compile by XLA."""
    return tf.function(function, jit_compile=True)


@pytest.mark.parametrize("decorate", [eager, tf.function, compiled])
class TestThinSteps:
    def test_every_loss_is_stored_and_all_else_of_full_steps(self, every_fifth, decorate):
        (losses, _), trial = every_fifth(lambda _: fit(decorate))

        found = trial.tensor("loss/loss")
        assert losses == [float(found.value(step, mode="TRAIN")) for step in found.steps("TRAIN")]
        for name in trial.tensor_names():
            if name == "learning_rate/0":
                assert trial.tensor(name).steps("TRAIN") == found.steps("TRAIN")
            elif name != "loss/loss" and not name.startswith(("sample/", "dependence/")):
                assert list(trial.tensor(name).steps("TRAIN")) == FULL, name
        assert any(name.startswith("gradient/") for name in trial.tensor_names())

    def test_the_training_is_the_one_it_would_have_been(self, every_fifth, decorate):
        """Losses and weights are the same bit for bit."""
        losses, weights = fit(decorate)
        observed, after = every_fifth(lambda _: fit(decorate))[0]

        assert losses == observed
        for one, other in zip(weights, after, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_what_the_script_saves_is_in_every_step(self, every_fifth, decorate):
        def train(hook):
            fit(decorate, each=lambda step: hook.save_scalar("mine", step))

        assert 12 == len(every_fifth(train)[1].tensor("scalar/mine").steps("TRAIN"))
