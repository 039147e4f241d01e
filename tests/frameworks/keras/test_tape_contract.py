"""The hook for TensorFlow keeps to what every hook keeps to, in loops with gradient tapes."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from stepwatch import LiveWatch
from stepwatch.hooks.tensorflow import TensorFlowHook
from stepwatch.testing.hook_contract import HookContract, Trained
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"),
]

SCRIPT = """
import numpy as np
import tensorflow as tf
tf.random.set_seed(0)
weight = tf.Variable(tf.random.normal([4, 1]), name="weight")
x = tf.random.normal([{steps}, 16, 4])
{decorator}
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weight - tf.reduce_sum(x, 1, keepdims=True)) ** 2)
    gradient = tape.gradient(loss, weight)
    weight.assign_sub(0.1 * gradient)
    return loss
for step in range({steps}):
    loss = train_step(x[step])
print(repr(float(loss)))
"""


class TestEagerTape(HookContract):
    """Every step runs as Python."""

    loss = "loss/loss"
    decorate = staticmethod(lambda function: function)
    decorator = ""

    def make(self, run, **options):
        return TensorFlowHook(run=run, **options)

    def train(self, hook, steps, each=lambda _: None):
        del hook  # it sees every tape
        keras.utils.set_random_seed(0)
        layers = keras.layers
        model = keras.Sequential(
            [keras.Input((4,)), layers.Dense(8, "relu"), layers.Dropout(0.5), layers.Dense(1)],
            name="model",
        )
        for number, one in enumerate(model.layers):
            one.name = f"layer{number}"
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)

        @self.decorate
        def train_step(x):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(x, 1, keepdims=True)
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        losses = []
        for step in range(steps):
            loss = train_step(tf.random.stateless_normal([16, 4], [step, 0]))
            each(step)
            losses.append(float(loss))
        weights = {
            f"{layer.name}/{one.name}": np.asarray(one)
            for layer in model.layers
            for one in layer.trainable_variables
        }
        return Trained(weights, losses)

    def script(self, steps):
        return SCRIPT.format(steps=steps, decorator=self.decorator)

    def patched(self):
        function = type(tf.function(lambda: None))
        tape = tf.GradientTape
        return tape.gradient, tape.__enter__, function.__call__, keras.layers.Layer.__call__


class TestTapeInFunction(TestEagerTape):
    """Steps are traced into graphs."""

    decorate = staticmethod(tf.function)
    decorator = "@tf.function"


class TestTapeInCompiledFunction(TestEagerTape):
    """Steps are compiled by XLA."""

    decorate = staticmethod(tf.function(jit_compile=True))
    decorator = "@tf.function(jit_compile=True)"


def test_tapes_report_no_coverage_of_a_training_of_another_framework(tmp_path):
    """As where Keras, on another backend, imports TensorFlow."""
    said = []
    with TensorFlowHook(run=tmp_path / "run", say=said.append, strict=True) as hook:
        hook.save_scalar("loss", 1.0)

    assert [] == [line for line in said if "capturing" in line]
    assert [0] == Trial(tmp_path / "run").steps()


@pytest.mark.parametrize(("scales", "found"), [(False, ["unscaled_loss"]), (True, [])])
@pytest.mark.parametrize("wrap", [lambda step: step, tf.function], ids=["eager", "graph"])
def test_a_loss_that_is_not_scaled_before_its_gradients_are_is_named(wrap, scales, found, tmp_path):
    live = LiveWatch(["setup"])
    with TensorFlowHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
        optimizer.build(model.trainable_variables)
        x = tf.constant(np.random.default_rng(0).normal(size=(32, 4)).astype("float32"))

        @wrap
        def train_step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x)))
                scaled = optimizer.scale_loss(loss) if scales else loss
            gradients = tape.gradient(scaled, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        for _ in range(14):
            train_step(x)

    assert found == [one.condition for one in live.findings]
