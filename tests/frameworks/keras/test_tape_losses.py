"""What models and losses of Keras are given in loops with gradient tapes."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from tensorflow.python.framework import op_callbacks

from stepwatch.hooks.tensorflow import TensorFlowHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 4)).astype("float32")
CLASSES = RNG.integers(0, 3, 48)
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.fixture(params=[lambda step: step, tf.function], ids=["eager", "graph"])
def trial(request, tmp_path):
    """Return a run of three steps, as Python and as a graph."""
    with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        optimizer = keras.optimizers.SGD(0.1)

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = LOSS(y, model(x, training=True))
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

        step = request.param(step)
        for start in range(0, 48, 16):
            step(tf.constant(X[start : start + 16]), tf.constant(CLASSES[start : start + 16]))
    return Trial(tmp_path / "run")


class TestTapes:
    def test_the_loss_is_known_by_its_function(self, trial):
        """And so are its predictions and labels."""
        record = next(iter(trial.records()))[0]
        functions = {info.name: info.function for info in record.layout.tensors}

        names = ("loss/loss", "prediction/loss", "label/loss")
        assert ["cross_entropy"] * 3 == [functions[name] for name in names]

    def test_classes_are_counted(self, trial):
        """At the first step, and at every tenth."""
        expected = np.bincount(CLASSES[:16], minlength=3).tolist()

        assert expected == trial.tensor("class_count/loss").value(0).tolist()
        assert 16 == trial.tensor("confusion/loss").value(0).sum()

    def test_batches_and_their_samples_are_known(self, trial):
        """By their digests."""
        assert 16 == len(trial.tensor("sample/0").value(0))
        assert [64, 64, 64] == trial.tensor("batch/0").statistics()["count"].tolist()


def _written(prediction, y):
    return tf.reduce_mean(tf.square(y - prediction))


def _absolute(prediction, y):
    return tf.reduce_mean(tf.abs(prediction - y)) + 0.1


def _squeezed(prediction, y):
    return tf.reduce_mean(tf.square(y - prediction[:, 0]))


def _ranked(prediction, y):
    """Pairs are meant: predictions of what is larger ought to be larger."""
    pairs = prediction - tf.transpose(prediction)
    return tf.reduce_mean(tf.nn.softplus(-pairs * tf.sign(y[:, None] - y[None])))


def _binned(prediction, y):
    return tf.reduce_mean(tf.abs(prediction - tf.linspace(-1.0, 1.0, 5))) + _squeezed(prediction, y)


class TestWritten:
    @pytest.mark.parametrize("sizes", ["known", "unknown"])
    @pytest.mark.parametrize(
        ("loss", "expected"),
        [
            (_written, ["broadcast"]),
            (_absolute, ["broadcast"]),
            (_squeezed, []),
            (_ranked, []),
            (_binned, []),
        ],
    )
    def test_a_graph_that_compares_each_prediction_with_all_is_named(
        self, loss, expected, sizes, tmp_path
    ):
        """Whether it knows the size of a batch or not."""
        y = X.sum(1)
        any_size = [tf.TensorSpec([None, 4]), tf.TensorSpec([None])]
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            keras.utils.set_random_seed(0)
            model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
            optimizer = keras.optimizers.SGD(0.01)

            @tf.function(input_signature=any_size if sizes == "unknown" else None)
            def step(x, y):
                with tf.GradientTape() as tape:
                    value = loss(model(x, training=True), y)
                weights = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))

            for number in range(24):
                start = number % 3 * 16
                step(tf.constant(X[start : start + 16]), tf.constant(y[start : start + 16]))
        found = list(watch(Trial(tmp_path / "run"), ["loss_input"]))

        assert expected == [one.condition for one in found]
        assert [16.0] * len(found) == [one.value for one in found]


def _with_constants(prediction, y):
    return 0.5 * tf.reduce_mean(tf.pow(prediction - y, 2.0)) + tf.constant(0.1)


class TestLossesThatRunAtOnce:
    """Of variables that the script makes itself, with no layers, no optimizer and no function."""

    @pytest.mark.parametrize(
        ("loss", "expected"),
        [
            (_written, ["broadcast"]),
            (_absolute, ["broadcast"]),
            (_with_constants, ["broadcast"]),
            (_squeezed, []),
            (_ranked, []),
            (_binned, []),
        ],
    )
    def test_one_that_compares_each_prediction_with_all_is_named(self, loss, expected, tmp_path):
        y = X.sum(1)
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            weights = tf.Variable(tf.zeros([4, 1])), tf.Variable(tf.zeros([1]))
            for _ in range(24):
                with tf.GradientTape() as tape:
                    value = loss(tf.matmul(X, weights[0]) + weights[1], y)
                for weight, gradient in zip(weights, tape.gradient(value, weights), strict=True):
                    if gradient is not None:
                        weight.assign_sub(0.01 * gradient)
        found = list(watch(Trial(tmp_path / "run"), ["loss_input"]))

        assert expected == [one.condition for one in found]
        assert [48.0] * len(found) == [one.value for one in found]

    def test_nothing_is_called_back_behind_a_tape(self, tmp_path):
        """Nor when the hook is gone."""
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            weight = tf.Variable(1.0)
            with tf.GradientTape() as tape:
                value = weight**2
                assert op_callbacks.should_invoke_op_callbacks()
            assert not op_callbacks.should_invoke_op_callbacks()
            weight.assign_sub(tape.gradient(value, weight))
            open_tape = tf.GradientTape().__enter__()
        assert not op_callbacks.should_invoke_op_callbacks()
        open_tape.__exit__(None, None, None)


class Normalized(keras.Model):
    """A model that normalizes and drops, as it is told."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = layers.BatchNormalization(), layers.Dropout(0.2)
        self.last = layers.Dense(3)

    def call(self, x, training=None):
        return self.last(self.drop(self.norm(x, training=training), training=training))


class TrainsByDefault(Normalized):
    def call(self, x, training=True):
        return super().call(x, training=training)


CALLS = {
    "not told": (Normalized, lambda model, x: model(x), True),
    "told otherwise": (Normalized, lambda model, x: model(x, training=False), True),
    "by name": (Normalized, lambda model, x: model(x, training=True), False),
    "by default": (TrainsByDefault, lambda model, x: model(x), False),
}


@pytest.mark.parametrize("is_graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("way", CALLS)
def test_a_model_that_is_never_called_as_in_training_is_named(way, is_graph, tmp_path):
    """Its normalization keeps the statistics of a new layer, and its dropout drops nothing."""
    kind, run, expected = CALLS[way]
    with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model, optimizer = kind(), keras.optimizers.SGD(0.1)
        model(X[:2])

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = LOSS(y, run(model, x))
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

        step = tf.function(step) if is_graph else step
        for _ in range(12):
            step(tf.constant(X[:16]), tf.constant(CLASSES[:16]))

    found = watch(Trial(tmp_path / "run"), ["training_mode"])
    assert (["eval_mode_in_training"] if expected else []) == [one.condition for one in found]


def test_a_frozen_normalization_of_a_trained_model_is_meant(tmp_path):
    """As in fine-tuning: what is trained is behind it, and it is called as in evaluation."""
    with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        base = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.BatchNormalization()])
        base.trainable = False
        head, optimizer = keras.Sequential([layers.Dense(3)]), keras.optimizers.SGD(0.1)
        for _ in range(12):
            with tf.GradientTape() as tape:
                loss = LOSS(CLASSES[:16], head(base(X[:16], training=False), training=True))
            weights = head.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    assert [] == list(watch(Trial(tmp_path / "run"), ["training_mode"]))


LATENT, SIZE = 2, 32


def _network(inputs, outputs):
    sizes = [(inputs, 32), (32, outputs)]
    return [tf.Variable(RNG.normal(0, 0.3, size).astype("float32")) for size in sizes]


def _through(network, x):
    return tf.nn.leaky_relu(x @ network[0]) @ network[1]


def _judged_as(label, logits):
    labels = tf.fill(tf.shape(logits), label)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _plays(wrap, wants, *, real=1.0):
    """Train two networks by tapes, and move their weights by hand.

    Args:
        wrap: Of the step, such as ``tf.function``.
        wants: The label that the generator wants its samples to have.
        real: That of real samples.
    """
    generator, discriminator = _network(LATENT, 2), _network(2, 1)

    def moves(loss, tape, network):
        for weight, gradient in zip(network, tape.gradient(loss, network), strict=True):
            weight.assign_sub(0.2 * gradient)

    def step(points):
        made = _through(generator, tf.random.normal((SIZE, LATENT)))
        both = tf.concat([made, points], 0)
        labels = tf.concat([tf.zeros((SIZE, 1)), tf.fill((SIZE, 1), real)], 0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels, _through(discriminator, both))
            )
        moves(loss, tape, discriminator)
        with tf.GradientTape() as tape:
            made = _through(generator, tf.random.normal((SIZE, LATENT)))
            loss = tf.reduce_mean(_judged_as(wants, _through(discriminator, made)))
        moves(loss, tape, generator)

    step = wrap(step)
    for _ in range(200):
        step(tf.constant(3 + 0.2 * RNG.normal(size=(SIZE, 2)).astype("float32")))


@pytest.mark.parametrize("wrap", [lambda step: step, tf.function], ids=["eager", "graph"])
class TestGames:
    """Two networks by functions of TensorFlow alone, with weights that the script moves."""

    @pytest.mark.parametrize(
        ("wants", "real", "found"),
        [(0.0, 1.0, ["helped"]), (0.0, 0.9, ["helped"]), (1.0, 1.0, []), (1.0, 0.9, [])],
    )
    def test_a_generator_that_wants_to_be_recognized_is_found(
        self, wrap, wants, real, found, tmp_path
    ):
        """Also where labels of real samples are softened, so that no loss comes near 0."""
        tf.random.set_seed(0)
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            _plays(wrap, wants, real=real)
        alarms = watch(Trial(tmp_path / "run"), ["gan_collapse"])

        assert found == [one.condition for one in alarms if one.rule == "gan_collapse"][:1]

    def test_one_loss_by_the_weights_of_two_parts_is_no_game(self, wrap, tmp_path):
        """As of an encoder and a decoder, by a tape that stays."""
        parts = _network(4, 1)

        def step(x):
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_mean(tf.square(_through(parts, x)))
            for part in parts:
                part.assign_sub(0.1 * tape.gradient(loss, part))

        step = wrap(step)
        with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            for _ in range(4):
                step(tf.constant(X[:16]))

        assert "loop/takes_turns" not in Trial(tmp_path / "run").tensor_names()
