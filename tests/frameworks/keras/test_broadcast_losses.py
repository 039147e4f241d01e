"""Losses that graphs of TensorFlow write out, with an axis too much or as they are meant."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers, ops

from stepwatch.hooks.keras import KerasHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="graphs are of TensorFlow"),
]
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    from stepwatch.hooks.tensorflow import TensorFlowHook

RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 4)).astype("float32")
Y = X.sum(1)
BATCH = 16


def cauchy(y, p, model):
    return ops.mean(ops.log1p(0.5 * ops.square((y - p) / 0.5)))


def squared(y, p, model):
    return tf.reduce_mean(tf.math.squared_difference(p, y))


def log_cosh(y, p, model):
    error = p - y
    return tf.reduce_mean(error + tf.nn.softplus(-2.0 * error) - tf.math.log(2.0))


def huber(y, p, model):
    error = tf.abs(y - p)
    inner, outer = 0.5 * tf.square(error), error - 0.5
    return tf.reduce_mean(tf.where(error <= 1.0, inner, outer))


def pinball(y, p, model):
    return ops.mean(ops.maximum(0.9 * (y - p), -0.1 * (y - p)))


def by_sample(y, p, model):
    return tf.reduce_mean(tf.reduce_mean(tf.square(tf.cast(y, "float32") - p), axis=-1))


def several_terms(y, p, model):
    penalties = [tf.nn.l2_loss(one) for one in model.trainable_variables]
    return 0.5 * tf.reduce_sum(tf.abs(p - y)) + 1e-4 * tf.add_n(penalties) - 0.1


def bootstrapped(y, p, model):
    """Values are compared with what the same model says of other states."""
    later = y + 0.1 * tf.stop_gradient(model(tf.ones([tf.shape(y)[0], 4]))[:, 0])
    return tf.reduce_mean(tf.square(p - later))


def squeezed(y, p, model):
    return ops.mean(ops.log1p(ops.square(y - p[:, 0])))


def columns(y, p, model):
    return ops.mean(ops.log1p(ops.square(y[:, None] - p)))


def shifted(y, p, model):
    """An offset of shape ``(1,)`` is broadcast on purpose."""
    return ops.mean(ops.square(p - tf.reduce_mean(y)[None]))


def one_hot(y, p, model):
    classes = tf.one_hot(tf.cast(y > 0, "int32"), 2)
    return ops.mean(ops.square(classes - tf.concat([p, -p], 1)))


def ranked(y, p, model):
    pairs = p - tf.transpose(p)
    return tf.reduce_mean(tf.nn.softplus(-pairs * tf.sign(y[:, None] - y)))


def distances(y, p, model):
    """Predictions ought to be as far from each other as their targets are."""
    return tf.reduce_mean(tf.square(tf.abs(p - p[:, 0]) - tf.abs(y[:, None] - y)))


def energy(y, p, model):
    flat = p[:, 0]
    return tf.reduce_mean(tf.abs(flat[:, None] - y))


def binned(y, p, model):
    near = tf.exp(-tf.square(p - tf.linspace(-1.0, 1.0, 5)))
    return tf.reduce_mean(near) + squeezed(y, p, model)


def placed(y, p, model):
    """All places of a batch are meant, of which there are as many as samples."""
    places = tf.cast(tf.range(tf.size(y)), "float32")
    return tf.reduce_mean(tf.abs(p - places)) + squeezed(y, p, model)


def weighed(y, p, model):
    near = tf.exp(-tf.abs(y[:, None] - y))
    return tf.reduce_mean(near * tf.square(p - y))


def masked_loss(y, p, model):
    near = tf.cast(tf.abs(y[:, None] - y) < 0.5, "float32")
    return tf.reduce_mean(near * tf.square(p - y))


def density(y, p, model):
    """How likely each target is where there is a bump at each prediction."""
    bumps = tf.exp(-tf.square(p - y))
    return -tf.reduce_mean(tf.math.log(tf.reduce_mean(bumps, axis=0)))


BROADCAST = [
    *(cauchy, squared, log_cosh, huber, pinball, by_sample, several_terms, bootstrapped),
]
MEANT = [
    *(squeezed, columns, shifted, one_hot, ranked, distances, energy, binned, placed, masked_loss),
    *(weighed, density),
]
EACH = pytest.mark.parametrize(
    ("loss", "expected"),
    [*((one, ["broadcast"]) for one in BROADCAST), *((one, []) for one in MEANT)],
)


class Written(keras.Model):
    """Computes its loss in a train step of its own, as the guides of Keras do."""

    def __init__(self, loss_of):
        super().__init__()
        self.net = keras.Sequential([layers.Dense(8, "tanh"), layers.Dense(1)])
        self.loss_of = loss_of

    def call(self, x, training=None):
        return self.net(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.loss_of(y, self(x, training=True), self)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def fitted(run, loss, **compiled):
    keras.utils.set_random_seed(0)
    model = Written(loss)
    model.compile(keras.optimizers.SGD(0.01), **compiled)
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(X, Y, batch_size=BATCH, epochs=3, verbose=0)
    return list(watch(Trial(run), ["loss_input"]))


class TestTrainSteps:
    @EACH
    def test_one_that_compares_each_prediction_with_all_is_named(self, loss, expected, tmp_path):
        """Its graph does not know the size of a batch."""
        found = fitted(tmp_path / "run", loss)

        assert expected == [one.condition for one in found]
        assert [BATCH] * len(found) == [one.value for one in found]

    @pytest.mark.parametrize("jit_compile", [False, True])
    @pytest.mark.parametrize(("loss", "expected"), [(cauchy, ["broadcast"]), (columns, [])])
    def test_code_of_xla_is_looked_at_as_well(self, loss, expected, jit_compile, tmp_path):
        found = fitted(tmp_path / "run", loss, jit_compile=jit_compile)

        assert expected == [one.condition for one in found]

    def test_a_graph_is_looked_at_when_it_is_traced(self, tmp_path, monkeypatch):
        """However many steps run it; and what fails then ends no training."""
        looked = []

        def fails(*given):
            looked.append(given)
            raise RuntimeError("a graph of another kind")

        monkeypatch.setattr("stepwatch.hooks.keras.tensorflow_backend.compared_in_graph", fails)

        assert [] == fitted(tmp_path / "run", cauchy)
        assert 1 <= len(looked) < len(X) // BATCH  # in the first epoch alone


class TestTapes:
    @pytest.mark.parametrize("sizes", ["known", "unknown"])
    @EACH
    def test_one_that_compares_each_prediction_with_all_is_named(
        self, loss, expected, sizes, tmp_path
    ):
        """Also where the model is called in a function of its own."""
        any_size = [tf.TensorSpec([None, 4]), tf.TensorSpec([None])]
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
            optimizer = keras.optimizers.SGD(0.01)
            called = tf.function(model) if sizes == "known" else model

            @tf.function(input_signature=any_size if sizes == "unknown" else None)
            def step(x, y):
                with tf.GradientTape() as tape:
                    value = loss(y, called(x, training=True), model)
                weights = model.trainable_variables
                optimizer.apply(tape.gradient(value, weights), weights)

            for number in range(12):
                at = slice(number % 4 * BATCH, number % 4 * BATCH + BATCH)
                step(tf.constant(X[at]), tf.constant(Y[at]))
        found = list(watch(Trial(tmp_path / "run"), ["loss_input"]))

        assert expected == [one.condition for one in found]
        assert [BATCH] * len(found) == [one.value for one in found]
