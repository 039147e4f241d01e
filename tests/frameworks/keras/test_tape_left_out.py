"""Variables that lie before what is trained, and by which no gradient is taken."""

from __future__ import annotations

from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from stepwatch import LiveWatch
from stepwatch.hooks.tensorflow import TensorFlowHook

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"),
]
X = np.random.default_rng(0).normal(size=(32, 24)).astype("float32")
AS_PYTHON, AS_GRAPH = (lambda step: step), tf.function


def net(*sizes):
    return keras.Sequential([keras.Input((sizes[0],)), *map(layers.Dense, sizes[1:])])


class Autoencoder:
    """Trains a decoder, and perhaps the encoder before it."""

    def __init__(self):
        keras.utils.set_random_seed(0)
        self.encoder, self.decoder = net(24, 16, 4), net(4, 24)
        self.optimizer = keras.optimizers.SGD(0.01)

    def code(self, x):
        return self.encoder(x)

    def loss(self, x):
        return tf.reduce_mean(tf.square(self.decoder(self.code(x)) - x))

    def train(self, x, weights, optimizer=None):
        with tf.GradientTape() as tape:
            loss = self.loss(x)
        gradients = tape.gradient(loss, weights)
        (optimizer or self.optimizer).apply_gradients(zip(gradients, weights, strict=True))

    def step(self, x):
        self.train(x, self.decoder.trainable_variables)


class Sampled(Autoencoder):
    """Between encoder and decoder stands what is no layer."""

    def code(self, x):
        code = self.encoder(x)
        return code + 0.1 * tf.random.normal(tf.shape(code))


class Frozen(Autoencoder):
    def __init__(self):
        super().__init__()
        self.encoder.trainable = False


class CutOff(Autoencoder):
    def code(self, x):
        return tf.stop_gradient(self.encoder(x))


class Turns(Autoencoder):
    """Both have their turn in a tape of their own, as in a game."""

    def __init__(self):
        super().__init__()
        self.other = keras.optimizers.SGD(0.01)

    def step(self, x):
        self.train(x, self.decoder.trainable_variables)
        self.train(x, self.encoder.trainable_variables, self.other)


class Averaged(Autoencoder):
    """Something else changes the encoder."""

    def step(self, x):
        super().step(x)
        for one in self.encoder.trainable_variables:
            one.assign(one * 0.999)


class Beside(Autoencoder):
    """The encoder gives the targets, as a random network that another is to predict."""

    def __init__(self):
        super().__init__()
        self.decoder = net(24, 16, 4)

    def loss(self, x):
        return tf.reduce_mean(tf.square(self.encoder(x) - self.decoder(x)))


class Loaded(Autoencoder):
    def __init__(self):
        super().__init__()
        for one in self.encoder.trainable_variables:
            one.assign(keras.random.normal(one.shape, seed=1))


RULE, STEPS = "untrained_parameter:k=3", 35


def found_in(program, tmp_path, wrap):
    live = LiveWatch(RULE)
    options = {"say": lambda _: None, "strict": True, "listeners": [live]}
    with TensorFlowHook(run=tmp_path / "run", **options):
        step, x = wrap(program.step), tf.constant(X)
        for _ in range(STEPS):
            step(x)
    return live.findings


@pytest.mark.parametrize(
    ("program", "wrap"),
    [(Autoencoder, AS_PYTHON), (Autoencoder, AS_GRAPH), (Sampled, AS_GRAPH)],
    ids=["eager", "graph", "sampled"],
)
def test_an_encoder_that_is_left_out_is_named(program, wrap, tmp_path):
    (found,) = found_in(program(), tmp_path, wrap)

    assert ("not_differentiated", "warning") == (found.condition, found.severity)
    assert "4 trainable variables of layers before those that are trained" in found.message
    assert "encoder.trainable_variables + decoder.trainable_variables" in found.remedy


@pytest.mark.parametrize("wrap", [AS_PYTHON, AS_GRAPH], ids=["eager", "graph"])
@pytest.mark.parametrize("program", [Frozen, CutOff, Turns, Averaged, Beside])
def test_what_is_left_out_for_a_reason_is_not_accused(program, wrap, tmp_path):
    assert [] == found_in(program(), tmp_path, wrap)


def test_weights_that_were_loaded_may_be_meant_to_stay(tmp_path):
    (found,) = found_in(Loaded(), tmp_path, AS_GRAPH)

    assert "info" == found.severity


def test_what_was_trained_before_is_not_accused(tmp_path):
    """As in two stages, the first of all and the second of the last part."""
    live = LiveWatch(RULE)
    options = {"say": lambda _: None, "strict": True, "listeners": [live]}
    with TensorFlowHook(run=tmp_path / "run", **options):
        program, x = Autoencoder(), tf.constant(X)
        both = program.encoder.trainable_variables + program.decoder.trainable_variables
        first = tf.function(lambda x: program.train(x, both))
        program.optimizer.build(both)
        for _ in range(5):
            first(x)
        second = tf.function(program.step)
        for _ in range(STEPS):
            second(x)

    assert [] == live.findings


@pytest.mark.parametrize("is_listed_anew", [False, True])
@pytest.mark.parametrize("wrap", [AS_PYTHON, AS_GRAPH], ids=["eager", "graph"])
def test_layers_that_are_thawed_and_not_trained_are_named(wrap, is_listed_anew, tmp_path):
    """As by variables that were listed while the layers were frozen."""
    live = LiveWatch(RULE)
    options = {"say": lambda _: None, "strict": True, "listeners": [live]}
    with TensorFlowHook(run=tmp_path / "run", **options):
        program, x = Frozen(), tf.constant(X)

        def train(weights, x):
            program.train(x, weights)

        weights = program.encoder.trainable_variables + program.decoder.trainable_variables
        for thaws in (False, True):
            if thaws:
                program.encoder.trainable = True
            if is_listed_anew:
                weights = program.encoder.trainable_variables + program.decoder.trainable_variables
            program.optimizer = keras.optimizers.SGD(0.01)
            program.optimizer.build(weights)
            step = wrap(partial(train, weights))
            for _ in range(STEPS):
                step(x)

    found = [(one.condition, one.severity) for one in live.findings]
    assert found == ([] if is_listed_anew else [("thawed", "warning")])
    assert is_listed_anew or "trainable_variables anew" in live.findings[0].remedy
