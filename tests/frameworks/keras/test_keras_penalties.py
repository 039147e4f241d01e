"""Regularizers and ``add_loss`` of Keras that are in no loss."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.judge.engine import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
X = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
Y = X[:, :1] - X[:, 1:2]
ON_TENSORFLOW = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"
)


class Shrunk(keras.layers.Layer):
    """Returns what it is given, and adds a penalty on it."""

    def call(self, inputs):
        self.add_loss(0.01 * keras.ops.mean(keras.ops.square(inputs)))
        return inputs


def net(penalty):
    keras.utils.set_random_seed(0)
    regularizer = keras.regularizers.L2(0.01) if penalty == "regularizer" else None
    hidden = keras.layers.Dense(6, "relu", kernel_regularizer=regularizer, name="hidden")
    inside = [Shrunk(name="shrunk")] if penalty == "added" else []
    return keras.Sequential([keras.Input((8,)), hidden, *inside, keras.layers.Dense(1)])


def found_in(run):
    found = watch(Trial(run), ["setup"])
    return [one.tensor for one in found if one.condition.startswith("unused_penalty")]


@ON_TENSORFLOW
@pytest.mark.parametrize("as_graph", [False, True], ids=["python", "graph"])
@pytest.mark.parametrize(
    ("penalty", "is_added", "said"),
    [
        ("regularizer", False, ["setup/unused_penalty/hidden/kernel"]),
        ("regularizer", True, []),
        ("added", False, ["setup/unused_penalty/shrunk"]),
        ("added", True, []),
        ("none", False, []),
    ],
)
def test_a_loop_of_the_scripts_own(penalty, is_added, said, as_graph, tmp_path):
    import tensorflow as tf

    from stepwatch.hooks.tensorflow import TensorFlowHook

    model, optimizer = net(penalty), keras.optimizers.Adam(0.01)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = keras.losses.MeanSquaredError()(y, model(x, training=True))
            if is_added:
                loss += sum(model.losses)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    trained = tf.function(step) if as_graph else step
    with TensorFlowHook(run=tmp_path / "run", say=str, strict=True):
        for _ in range(4):
            for first in range(0, len(X), 32):
                trained(X[first : first + 32], Y[first : first + 32])

    assert said == found_in(tmp_path / "run")


@ON_TENSORFLOW
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("left out", ["setup/unused_penalty/hidden/kernel"]),
        ("added", []),
        ("compute_loss", []),
        ("fit", []),
    ],
)
def test_a_train_step_of_the_scripts_own(way, said, tmp_path):
    import tensorflow as tf

    class Own(keras.Sequential):
        def train_step(self, data):
            if way == "fit":
                return super().train_step(data)
            x, y = data
            with tf.GradientTape() as tape:
                predicted = self(x, training=True)
                if way == "compute_loss":
                    loss = self.compute_loss(x, y, predicted)
                else:
                    loss = tf.reduce_mean(tf.square(y - predicted))
                if way == "added":
                    loss += sum(self.losses)
            weights = self.trainable_variables
            gradients = tape.gradient(loss, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
            return {"loss": loss}

    model = Own(net("regularizer").layers)
    model.build((None, 8))
    model.compile("adam", "mse")
    with KerasHook(run=tmp_path / "run", say=str, strict=True):
        model.fit(X, Y, batch_size=32, epochs=4, verbose=0)

    assert said == found_in(tmp_path / "run")


@pytest.mark.parametrize("penalty", ["regularizer", "added"])
def test_fit_adds_them(penalty, tmp_path):
    model = net(penalty)
    model.compile("adam", "mse")
    with KerasHook(run=tmp_path / "run", say=str, strict=True):
        model.fit(X, Y, batch_size=32, epochs=4, verbose=0)

    assert [] == found_in(tmp_path / "run")
