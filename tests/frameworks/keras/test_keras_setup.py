"""Trainings of Keras that are compiled and fitted with what does not fit."""

from __future__ import annotations

import importlib
from functools import partial

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.hooks.keras.fits import weights_by_class
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
CALLBACKS = keras.callbacks


def _data(kind, samples=320):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(samples, 6)).astype("float32")
    score = x[:, 0] + 0.3 * rng.normal(size=samples)
    rare = (score > 1.2).astype("float32")
    classes = np.digitize(score, [-0.5, 0.5]).astype("int32")
    several = (x[:, :4] > 0.3).astype("float32")
    return x, {
        "binary": rare,
        "classes": classes,
        "column": classes[:, None],
        "one_hot": np.eye(3, dtype="float32")[classes],
        "numbers": 3 + 2 * score.astype("float32"),
        "several": several,
        "images": np.abs(x),
    }[kind]


def found_in(run, target, loss, last, *, metrics=None, normalization=None, **fit):
    """Fit a small model; return the conditions that are found, with their severities."""
    keras.utils.set_random_seed(0)
    x, y = _data(target)
    fit = {name: make(y) if name == "sample_weight" else make for name, make in fit.items()}
    norm = [] if normalization is None else [keras.layers.BatchNormalization(**normalization)]
    model = keras.Sequential([keras.layers.Dense(8, "relu"), *norm, keras.layers.Dense(*last)])
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=metrics)
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=5, verbose=0, validation_split=0.1, **fit)
    return [(one.condition, one.severity) for one in watch(Trial(run), ["setup"])]


SIGMOID, SOFTMAX = (1, "sigmoid"), (3, "softmax")
BINARY, SPARSE = "binary_crossentropy", "sparse_categorical_crossentropy"
DENSE = "categorical_crossentropy"


def accuracy(y_true, y_pred):
    """Return how often a distance is on the right side."""
    return keras.ops.mean(keras.ops.equal(y_true > 0.5, y_pred < 0.5))


class TestMetrics:
    @pytest.mark.parametrize(
        ("target", "loss", "last", "metric", "expected"),
        [
            ("binary", BINARY, SIGMOID, lambda: keras.metrics.Accuracy(name="acc"), "acc"),
            ("classes", SPARSE, SOFTMAX, lambda: "accuracy", None),
            ("column", SPARSE, SOFTMAX, lambda: "accuracy", None),
            ("one_hot", DENSE, SOFTMAX, lambda: "acc", None),
            ("binary", BINARY, SIGMOID, lambda: "accuracy", None),
            ("column", SPARSE, SOFTMAX, keras.metrics.CategoricalAccuracy, "categorical_accuracy"),
            ("one_hot", DENSE, SOFTMAX, lambda: "binary_accuracy", "binary_accuracy"),
            ("one_hot", BINARY, (3, "sigmoid"), lambda: "binary_accuracy", None),
            ("numbers", "mse", (1,), lambda: "accuracy", "accuracy"),
            ("numbers", "mse", (1,), lambda: "mae", None),
            ("binary", "mse", SIGMOID, lambda: "accuracy", None),
            ("one_hot", "mse", SOFTMAX, lambda: "accuracy", None),
            ("several", BINARY, (4, "sigmoid"), lambda: "binary_accuracy", None),
            ("numbers", "mse", (1,), lambda: accuracy, None),  # the script's own
        ],
    )
    def test_those_that_cannot_fit_their_labels_are_named(
        self, target, loss, last, metric, expected, tmp_path
    ):
        found = found_in(tmp_path / "run", target, loss, last, metrics=[metric()])

        assert found == ([] if expected is None else [(f"metric {expected}", "warning")])

    @pytest.mark.parametrize(
        ("target", "loss", "last"),
        [("several", BINARY, (4, "sigmoid")), ("images", "mse", (6,))],
    )
    def test_accuracy_of_rows_that_are_no_classes_is_mentioned(self, target, loss, last, tmp_path):
        found = found_in(tmp_path / "run", target, loss, last, metrics=["accuracy"])

        assert [("metric accuracy", "info")] == found


class TestMonitors:
    @pytest.mark.parametrize(
        ("callback", "expected"),
        [
            (lambda: CALLBACKS.EarlyStopping("val_accuracy", mode="min", patience=9), True),
            (lambda: CALLBACKS.ReduceLROnPlateau("val_loss", mode="max", patience=9), True),
            (lambda: CALLBACKS.EarlyStopping("val_accuracy", mode="max", patience=9), False),
            (lambda: CALLBACKS.EarlyStopping("val_accuracy", patience=9), False),
            (lambda: CALLBACKS.ReduceLROnPlateau("val_loss", patience=9), False),
            (lambda: CALLBACKS.ReduceLROnPlateau("loss", mode="min", patience=9), False),
        ],
    )
    def test_one_that_is_told_the_wrong_direction_is_named(self, callback, expected, tmp_path):
        one = callback()
        found = found_in(
            tmp_path / "run", "binary", BINARY, SIGMOID, metrics=["accuracy"], callbacks=[one]
        )
        condition = f"monitor {type(one).__name__}"

        assert found == ([(condition, "warning")] if expected else [])

    @pytest.mark.parametrize("best", [True, False])
    def test_checkpoints_have_a_direction_if_only_the_best_is_kept(self, best, tmp_path):
        kept = CALLBACKS.ModelCheckpoint(
            tmp_path / "best.keras", "val_accuracy", save_best_only=best, mode="min"
        )
        found = found_in(
            tmp_path / "run", "binary", BINARY, SIGMOID, metrics=["accuracy"], callbacks=kept
        )

        assert found == ([("monitor ModelCheckpoint", "warning")] if best else [])


SCHEDULES = keras.optimizers.schedules


class TestSchedules:
    """Of 5 epochs of 64 steps each, by what is known before."""

    @pytest.mark.parametrize(
        ("schedule", "expected"),
        [
            (lambda: SCHEDULES.PiecewiseConstantDecay([3, 5], [1e-2, 2e-3, 4e-4]), True),
            (lambda: SCHEDULES.ExponentialDecay(1e-2, 2, 0.5), True),
            (lambda: SCHEDULES.CosineDecay(1e-2, 5), True),
            (lambda: SCHEDULES.PiecewiseConstantDecay([190, 270], [1e-2, 2e-3, 4e-4]), False),
            (lambda: SCHEDULES.ExponentialDecay(1e-2, 64, 0.5), False),
            (lambda: SCHEDULES.CosineDecay(1e-2, 320, warmup_target=2e-2, warmup_steps=32), False),
            (lambda: 1e-2, False),
        ],
    )
    def test_one_that_is_over_at_the_beginning_is_named(self, schedule, expected, tmp_path):
        """It counts steps of the optimizer, and was given epochs."""
        keras.utils.set_random_seed(0)
        x, y = _data("binary", 64 * 8)
        rate = schedule()
        model = keras.Sequential([keras.layers.Dense(1, "sigmoid")])
        model.compile(keras.optimizers.SGD(rate), BINARY)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=8, epochs=5, verbose=0)
        found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]

        assert found == ([f"schedule {type(rate).__name__}"] if expected else [])

    def test_a_short_training_has_a_schedule_as_well(self, tmp_path):
        """Of 5 epochs of 22 steps each."""
        x, y = _data("binary", 22 * 8)
        model = keras.Sequential([keras.layers.Dense(1, "sigmoid")])
        model.compile(keras.optimizers.SGD(SCHEDULES.CosineDecay(1e-2, 5, 0.01)), BINARY)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=8, epochs=5, verbose=0)

        found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
        assert ["schedule CosineDecay"] == found


class TestSortedData:
    """Eighty rows of five classes, one class after the other, in batches of eight."""

    @pytest.mark.parametrize("is_sorted", [True, False])
    def test_batches_that_hold_one_class_each_are_named(self, is_sorted, tmp_path):
        """Where only batches are shuffled, as by tf.data."""
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(5), 16)
        y = y if is_sorted else rng.permutation(y)
        x = rng.normal(size=(80, 4)).astype("float32") + y[:, None]
        model = keras.Sequential([keras.layers.Dense(5)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1e-2), loss)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=8, epochs=4, shuffle="batch", verbose=0)

        found = [one.condition for one in watch(Trial(tmp_path / "run"), ["repeated_data"])]
        assert (["class_by_class loss"] if is_sorted else []) == found


def _by_counts(y):
    counts = np.bincount(y.astype(int))
    return (counts / counts.sum())[y.astype(int)]


class TestClassWeights:
    @pytest.mark.parametrize(
        ("weights", "expected"),
        [
            ({"class_weight": {0: 0.9, 1: 0.1}}, True),
            ({"class_weight": {0: 0.1, 1: 0.9}}, False),
            ({"class_weight": {0: 1.0, 1: 1.0}}, False),
            ({"sample_weight": _by_counts}, True),
            ({"sample_weight": lambda y: 1 / _by_counts(y)}, False),
            ({"sample_weight": lambda y: np.random.default_rng(0).random(len(y))}, False),
        ],
    )
    def test_those_that_favour_the_frequent_class_are_named(self, weights, expected, tmp_path):
        found = found_in(tmp_path / "run", "binary", BINARY, SIGMOID, **weights)

        assert found == ([("class_weights loss", "warning")] if expected else [])

    def test_weights_of_samples_are_those_of_classes_only_if_all_are_alike(self):
        labels = np.array([0, 0, 1, 2])

        assert [1.0, 2.0, 4.0] == weights_by_class(np.array([1.0, 1, 2, 4]), labels).tolist()
        assert weights_by_class(np.array([1.0, 3, 2, 4]), labels) is None


WEIGHTS = {"class_weight": {0: 0.5, 1: 4.0}}


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ({"validation_split": 0.1, **WEIGHTS}, True),
        ({"validation_split": 0.1}, False),
        ({"weighs_validation": True, **WEIGHTS}, False),
        ({"weighs_validation": True, "sample_weight": np.ones(320)}, False),
        ({"weighs_validation": True, "sample_weight": np.eye(1, 320)[0]}, True),
        ({"validation_split": 0.1, "sample_weight": np.full(320, 2.0)}, False),
    ],
)
def test_a_loss_that_is_weighted_in_training_only_is_noted(fit, expected, tmp_path):
    """Of weights of samples that Keras splits itself, validation has its part."""
    x, y = _data("binary")
    if fit.pop("weighs_validation", False):
        fit["validation_data"] = (x, y, np.ones(len(y)))
    model = keras.Sequential([keras.layers.Dense(1, "sigmoid")])
    model.compile("sgd", BINARY)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, verbose=0, **fit)
    noted = Trial(tmp_path / "run").tensor_names("^setup/weighted/")

    assert noted == (["setup/weighted/loss"] if expected else [])


class TestMomentum:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"momentum": 0.01}, [("momentum all", "warning")]),
            ({"momentum": 0.9999}, []),  # too few steps to tell
            ({"momentum": 1.0}, [("momentum none", "warning")]),
            ({"momentum": 0.9}, []),
            ({"momentum": 0.5}, []),
            ({}, []),
            ({"momentum": 0.01, "trainable": False}, []),
        ],
    )
    def test_that_of_another_library_is_named(self, options, expected, tmp_path):
        run = tmp_path / "run"

        assert expected == found_in(run, "binary", BINARY, SIGMOID, normalization=options)

    @pytest.mark.parametrize(
        ("momentum", "variance", "expected"),
        [
            (0.9999, 1.0, ["momentum slow"]),
            (0.998, 1.0, ["momentum slow"]),
            (0.99, 1.0, []),
            (0.9999, 9.0, []),
        ],
    )
    def test_one_that_is_too_slow_for_the_training_is_named(
        self, momentum, variance, expected, tmp_path
    ):
        """Statistics that were loaded may stay what they are."""
        keras.utils.set_random_seed(0)
        x, y = _data("binary")
        norm = keras.layers.BatchNormalization(momentum=momentum)
        norm.build((None, 6))
        norm.moving_variance.assign(np.full(6, variance, "float32"))
        model = keras.Sequential([norm, keras.layers.Dense(1, "sigmoid")])
        model.compile("adam", BINARY)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=12, verbose=0)

        found = watch(Trial(tmp_path / "run"), ["setup"])
        assert expected == [one.condition for one in found]


@pytest.mark.parametrize(
    ("copied", "expected"), [("weights", []), ("trainable_variables", ["unfilled_statistics"])]
)
def test_a_copy_that_was_given_no_statistics_is_named(copied, expected, tmp_path):
    x, y = _data("binary")

    def made():
        layers = [keras.layers.Dense(8, "relu"), keras.layers.BatchNormalization()]
        model = keras.Sequential([keras.Input((6,)), *layers, keras.layers.Dense(1, "sigmoid")])
        model.compile("adam", BINARY)
        return model

    model, copy = made(), made()
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        copy.evaluate(x, y, verbose=0)  # nothing is trained yet
        model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y))
        for mine, trained in zip(getattr(copy, copied), getattr(model, copied), strict=True):
            mine.assign(trained)
        copy.predict(x, verbose=0)

    found = watch(Trial(tmp_path / "run"), ["training_mode"])
    assert expected == [one.condition for one in found][:1]


def test_one_that_is_trained_without_statistics_is_evaluated_so(tmp_path):
    """It scales and shifts, and no more."""
    x, y = _data("binary")
    inputs = keras.Input((6,))
    hidden = keras.layers.BatchNormalization()(keras.layers.Dense(8)(inputs), training=False)
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(hidden))
    model.compile("adam", BINARY)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, epochs=3, verbose=0, validation_data=(x, y))

    found = watch(Trial(tmp_path / "run"), ["training_mode"])
    assert "unfilled_statistics" not in [one.condition for one in found]


class Encoder(keras.layers.Layer):
    """A layer of one's own, with a part that need not be used."""

    def __init__(self, uses):
        super().__init__()
        self.uses = uses
        self.first, self.second = keras.layers.Dense(8, "relu"), keras.layers.Dense(8, "relu")

    def call(self, x):
        return self.second(self.first(x)) if self.uses else self.first(x)


class Composed(keras.Model):
    def __init__(self, uses):
        super().__init__()
        self.encoder, self.head = Encoder(uses != "not inside"), keras.layers.Dense(1, "sigmoid")
        self.recurrent = keras.layers.Bidirectional(keras.layers.LSTM(4))
        self.attention = keras.layers.MultiHeadAttention(2, 4)
        self.drop = keras.layers.Dropout(0.1)
        self.uses = uses

    def call(self, x):
        x = self.encoder(x)[:, None]
        x = self.attention(x, x)
        x = self.recurrent(x) if self.uses != "not recurrent" else x[:, 0]
        return self.head(x)


class TestUncalled:
    @pytest.mark.parametrize(
        ("uses", "expected"),
        [
            ("all", []),
            ("not recurrent", ["bidirectional"]),
            ("not inside", ["dense_1"]),
        ],
    )
    def test_a_layer_that_is_never_called_is_named(self, uses, expected, tmp_path):
        """Also inside of a layer of the script's own; a dropout that is left out is no matter."""
        keras.backend.clear_session()
        x, y = _data("binary")
        model = Composed(uses)
        model.compile("adam", BINARY)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=3, verbose=0)
        found = list(watch(Trial(tmp_path / "run"), ["setup"]))

        assert ["uncalled"] * len(expected) == [one.condition for one in found]
        assert expected == [one.tensor.rpartition("/")[2] for one in found]


class TestTargetsAmongInputs:
    """What is found of targets that the model is given."""

    def found(self, model, x, y, run, loss="mse"):
        model.compile("adam", loss)
        with KerasHook(run=run, say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=4, verbose=0)
        return [one.condition for one in watch(Trial(run), ["label_leak"])]

    @pytest.mark.parametrize(("place", "expected"), [(-1, ["feature"]), (0, [])])
    def test_the_last_place_of_a_window_is_no_target(self, place, expected, tmp_path):
        """What comes next was meant; to remember the first one is a task."""
        keras.utils.set_random_seed(0)
        x = np.random.default_rng(0).normal(size=(320, 8, 1)).astype("float32")
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])

        assert expected == self.found(model, x, x[:, place], tmp_path / "run")

    @pytest.mark.parametrize(("shift", "expected"), [(0, ["target_is_input"]), (1, [])])
    def test_a_decoder_is_not_given_what_it_is_to_say(self, shift, expected, tmp_path):
        """Both are padded."""
        keras.utils.set_random_seed(0)
        words = np.random.default_rng(0).integers(1, 9, (320, 9)).astype("int32")
        words[:, 6:] = 0
        source, target = keras.Input((9,), dtype="int32"), keras.Input((8,), dtype="int32")
        embed = keras.layers.Embedding(10, 8)
        read = keras.layers.GlobalAveragePooling1D()(embed(source))
        said = keras.layers.GRU(8, return_sequences=True)(embed(target), initial_state=read)
        model = keras.Model([source, target], keras.layers.Dense(10, "softmax")(said))
        given = [words[:, ::-1], words[:, 1 - shift : 9 - shift]]

        assert expected == self.found(model, given, words[:, 1:], tmp_path / "run", SPARSE)

    @pytest.mark.parametrize(("shift", "expected"), [(0, ["target_is_input"]), (1, [])])
    def test_nor_where_one_of_all_tokens_is_1(self, shift, expected, tmp_path):
        """As in the model of Keras that translates letter by letter."""
        keras.utils.set_random_seed(0)
        letters = np.random.default_rng(0).integers(0, 10, (320, 9))
        source, target = keras.Input((6, 10)), keras.Input((8, 10))
        read = keras.layers.GRU(8)(source)
        said = keras.layers.GRU(8, return_sequences=True)(target, initial_state=read)
        model = keras.Model([source, target], keras.layers.Dense(10, "softmax")(said))
        hot = np.eye(10, dtype="float32")[letters]
        given = [hot[:, :6], hot[:, 1 - shift : 9 - shift]]

        assert expected == self.found(
            model, given, hot[:, 1:], tmp_path / "run", "categorical_crossentropy"
        )


@pytest.mark.parametrize(
    ("shape", "told"), [((8, 3), ["reshaped"]), ((4, 6), []), ((3, 8, 1), []), ((-1,), [])]
)
def test_a_layer_that_reshapes_in_place_of_transposing_is_named(shape, told, tmp_path):
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(96, 3, 8)).astype("float32")
    model = keras.Sequential([
        keras.Input((3, 8)),
        keras.layers.Reshape(shape),
        keras.layers.Dense(4, "tanh"),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ])  # fmt: skip
    model.compile("adam", "mse")
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, x[:, 0, 0], batch_size=8, epochs=3, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert told == [one for one in found if one == "reshaped"]


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (lambda: [keras.layers.Dense(1, "softmax")], ["one_unit"]),
        (lambda: [keras.layers.Dense(1), keras.layers.Softmax()], ["one_unit"]),
        (lambda: [keras.layers.Dense(1, "sigmoid")], []),
        (
            lambda: [
                keras.layers.Reshape((6, 1)),
                keras.layers.Dense(1),
                keras.layers.Softmax(axis=1),
                keras.layers.GlobalMaxPooling1D(),
            ],
            [],
        ),
    ],
    ids=["dense", "layer", "sigmoid", "over positions"],
)
def test_a_softmax_over_one_unit_is_named(last, told, tmp_path):
    """Keras computes the loss of the logits that it keeps, which may fall."""
    keras.utils.set_random_seed(0)
    x, y = _data("binary")
    model = keras.Sequential([keras.layers.Dense(6, "tanh"), *last()])
    model.compile("adam", BINARY, metrics=["accuracy"])
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=5, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert told == [one for one in found if one == "one_unit"]


@pytest.mark.parametrize(
    ("normalize", "told"),
    [
        (lambda: keras.layers.UnitNormalization(axis=0), ["over_samples"]),
        (lambda: keras.layers.UnitNormalization(axis=(0, 1)), ["over_samples"]),
        (lambda: keras.layers.UnitNormalization(axis=-2), ["over_samples"]),
        (lambda: keras.layers.Softmax(axis=0), ["over_samples"]),
        (lambda: lambda x: keras.ops.normalize(x, axis=0), ["over_samples"]),
        (keras.layers.UnitNormalization, []),
        (lambda: lambda x: keras.ops.normalize(x, axis=-1), []),
        (lambda: UnitWeights(), []),
    ],
    ids=["norm", "both", "from the end", "softmax", "function", "features", "ops", "weights"],
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_what_is_normalized_over_the_samples_is_named(normalize, is_nested, told, tmp_path):
    """Not weights of a layer, whose first axis is that of its inputs."""
    x, y = _data("several")
    given = keras.Input((6,))
    tower = keras.Model(given, normalize()(keras.layers.Dense(4, "tanh")(given)))
    first = keras.Input((6,))
    model = keras.Model(first, keras.layers.Dense(4)(tower(first))) if is_nested else tower
    model.compile("adam", "mse")
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=3, verbose=0)

    assert told == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]


class UnitWeights(keras.layers.Layer):
    """Multiplies by weights that have unit norm, each column."""

    def build(self, shape):
        self.norm = keras.layers.UnitNormalization(axis=0)
        self.matrix = self.add_weight(shape=(shape[-1], 4))

    def call(self, inputs):
        return inputs @ self.norm(self.matrix.value)


@pytest.mark.parametrize(("apart", "told"), [(True, ["flipped"]), (False, [])])
def test_masks_that_are_flipped_apart_from_their_pictures_are_found(apart, told, tmp_path):
    rng = np.random.default_rng(0)
    masks = np.zeros((256, 16, 16, 1), "float32")
    for mask in masks:
        top, left = rng.integers(0, 11, 2)
        mask[top : top + 5, left : left + 3] = 1
    pictures = masks + 0.3 * rng.normal(size=masks.shape).astype("float32")
    turned = rng.random(256) < 0.5
    pictures[turned] = pictures[turned, :, ::-1]
    if not apart:
        masks[turned] = masks[turned, :, ::-1]
    model = keras.Sequential(
        [keras.Input((16, 16, 1)), keras.layers.Conv2D(1, 3, padding="same", activation="sigmoid")]
    )
    model.compile("adam", BINARY)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(pictures, masks, batch_size=16, epochs=2, verbose=0)

    assert told == [one.condition for one in watch(Trial(tmp_path / "run"), ["dependence"])]


class TestActivations:
    @pytest.mark.parametrize(
        ("hidden", "expected"),
        [
            ([(16, None), (8, None)], ["linear"]),
            ([(16, "relu"), (8, None)], ["linear"]),
            ([(16, "relu"), (8, "tanh")], []),
            ([(2, None)], []),  # a matrix of rank two
            ([], []),
        ],
    )
    def test_layers_with_none_between_them_are_named(self, hidden, expected, tmp_path):
        keras.utils.set_random_seed(0)
        x, y = _data("classes")
        layers = [part for one in hidden for part in (keras.layers.Dense(*one), _dropout())]
        model = keras.Sequential([*layers, keras.layers.Dense(3, "softmax")])
        model.compile("adam", SPARSE)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=4, verbose=0)

        found = list(watch(Trial(tmp_path / "run"), ["setup"]))
        assert expected == [one.condition for one in found]
        assert all("no activation between dense" in one.message for one in found)

    def test_what_another_layer_takes_too_is_let_be(self, tmp_path):
        keras.utils.set_random_seed(0)
        x, y = _data("classes")
        given = keras.Input((6,))
        projected = keras.layers.Dense(8)(given)
        inner = keras.layers.Dense(8, "relu")(projected)
        last = keras.layers.Dense(3, "softmax")(keras.layers.add([projected, inner]))
        model = keras.Model(given, last)
        model.compile("adam", SPARSE)
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=4, verbose=0)

        assert [] == list(watch(Trial(tmp_path / "run"), ["setup"]))


def _dropout():
    return keras.layers.Dropout(0.1)


def test_arguments_that_are_wrong_raise_what_keras_raises(tmp_path):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with (
        KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True),
        pytest.raises(TypeError),
    ):
        model.fit(np.ones((4, 2)), np.ones((4, 1)), no_such_argument=3)


def padded_in(run, *, padding="post", make=None, masked=False, length=40, words=4):
    """Fit a recurrent layer to short sequences that are padded; return the share of padding."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    texts = [rng.integers(1, 20, rng.integers(2, words + 1)) for _ in range(128)]
    x = keras.utils.pad_sequences(texts, maxlen=length, padding=padding)
    model = keras.Sequential(
        [
            keras.Input((length,), dtype="int32"),
            keras.layers.Embedding(20, 4, mask_zero=masked),
            *(make or (lambda: [keras.layers.LSTM(4, name="cell")]))(),
            keras.layers.Dense(1, "sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x, x[:, 0] % 2, batch_size=32, epochs=1, verbose=0)
    trial = Trial(run)
    if "setup/padded_last/cell" not in trial.tensor_names():
        return 0.0
    return trial.tensor("setup/padded_last/cell").statistics()["sum"][0]


def classifies_tokens(run, *, masked=False, weighted=None, ignored=None, least=3, in_front=False):
    """Tag the words of short texts that are padded; return the losses that count the padding."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    texts = [rng.integers(1, 20, rng.integers(least, least + 3)) for _ in range(128)]
    padding = "pre" if in_front else "post"
    x = keras.utils.pad_sequences(texts, maxlen=12, padding=padding)
    y = np.where(x > 0, x % 4 + 1, 0)
    model = keras.Sequential(
        [
            keras.Input((12,), dtype="int32"),
            keras.layers.Embedding(20, 8, mask_zero=masked),
            keras.layers.Dense(5, None if ignored is not None else "softmax"),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=ignored is not None, ignore_class=ignored
    )
    model.compile(keras.optimizers.Adam(0.01), loss, weighted_metrics=["accuracy"])
    weights = {"all": np.ones(x.shape, "float32"), "words": (x > 0).astype("float32")}
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=4, verbose=0, sample_weight=weights.get(weighted))
    return [one.condition for one in watch(Trial(run), ["setup"])]


def looks_ahead(run, make, *, ahead=1):
    """Fit a model of sequences to the tokens that are so many ahead; return what looks ahead."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    tokens = (rng.integers(1, 9, (128, 1)) + rng.integers(1, 3, (128, 9)).cumsum(1)) % 9 + 1
    inputs = keras.Input((8,), dtype="int32")
    embedded = keras.layers.Embedding(11, 8)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(11)(make(embedded)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(tokens[:, :8], tokens[:, ahead : 8 + ahead], batch_size=32, epochs=1, verbose=0)
    prefix = "setup/sees_next/"
    return [one.rpartition("/")[2] for one in Trial(run).tensor_names(f"^{prefix}")]


def _attends(x, **how):
    return keras.layers.MultiHeadAttention(2, 4, name="att")(x, x, **how)


# The first half of a sequence is given, and seen in both directions.
PREFIX = np.tri(8, dtype=bool) | (np.arange(8) < 4)


class Masked(keras.layers.Layer):
    """Attention by a mask that is made as it runs, of as many samples as there are."""

    def __init__(self, sees):
        super().__init__()
        self.sees, self.att = sees, keras.layers.MultiHeadAttention(2, 4, name="att")

    def call(self, x):
        size, place = keras.ops.shape(x)[0], keras.ops.arange(keras.ops.shape(x)[1])
        mask = self.sees(place[:, None], place[None])[None]
        return self.att(x, x, attention_mask=keras.ops.tile(mask, [size, 1, 1]))


def _masks_what_came(x):
    return Masked(lambda query, key: query <= key)(x)


def _masks_what_comes(x):
    return Masked(lambda query, key: query >= key)(x)


def _recurs(x):
    cell = keras.layers.LSTM(4, return_sequences=True)
    return keras.layers.Bidirectional(cell, name="both")(x)


def _convolves(x, padding):
    return keras.layers.Conv1D(8, 3, padding=padding, name="conv")(x)


class TestNextTokens:
    @pytest.mark.parametrize(
        ("make", "name"),
        [
            (_attends, "att"),
            (_masks_what_came, "att"),
            (partial(_attends, attention_mask=np.ones((1, 8, 8), bool)), "att"),
            (partial(_attends, attention_mask=np.ones((1, 1, 8), bool)), "att"),
            (_recurs, "both"),
            (partial(_convolves, padding="same"), "conv"),
        ],
    )
    def test_a_layer_that_looks_ahead_is_told(self, make, name, tmp_path):
        """What is to be predicted is among what each position is given."""
        assert [name] == looks_ahead(tmp_path / "run", make)

    @pytest.mark.parametrize(
        "make",
        [
            partial(_attends, use_causal_mask=True),
            partial(_attends, attention_mask=np.tri(8, dtype=bool)[None]),
            partial(_attends, attention_mask=PREFIX[None]),
            partial(_attends, attention_mask=np.ones((1, 8, 8), bool), use_causal_mask=True),
            _masks_what_comes,
            partial(_convolves, padding="causal"),
            keras.layers.LSTM(8, return_sequences=True),
        ],
    )
    def test_one_that_looks_back_is_not(self, make, tmp_path):
        assert [] == looks_ahead(tmp_path / "run", make)

    def test_where_tokens_themselves_are_told_all_may_be_seen(self, tmp_path):
        """As a tagger does, or a model of what is masked."""
        assert [] == looks_ahead(tmp_path / "run", _attends, ahead=0)


class Embeds(keras.layers.Layer):
    """Has an embedding of its own."""

    def __init__(self, size, width):
        super().__init__()
        self.tokens = keras.layers.Embedding(size, width)

    def call(self, ids):
        return self.tokens(ids)


class TestPadding:
    @pytest.mark.parametrize("axes", [(1,), (1, 2)])
    @pytest.mark.parametrize("embeds", [keras.layers.Embedding, Embeds])
    @pytest.mark.parametrize(("keeps", "told"), [(0, ["att"]), (1, [])])
    def test_a_mask_that_keeps_the_padding_is_told(self, axes, embeds, keeps, told, tmp_path):
        """As one of PyTorch, where True is what is hidden; an embedding may be within a layer."""

        class Mask(keras.layers.Layer):
            def call(self, ids):
                is_word = keras.ops.not_equal(ids, 0)
                seen = is_word if keeps else keras.ops.logical_not(is_word)
                return keras.ops.expand_dims(seen, axes)

        rng = np.random.default_rng(0)
        texts = [rng.integers(1, 9, rng.integers(3, 8)) for _ in range(64)]
        tokens = keras.utils.pad_sequences(texts, maxlen=8, padding="post")
        inputs = keras.Input((8,), dtype="int32")
        attended = _attends(embeds(9, 8)(inputs), attention_mask=Mask()(inputs))
        model = keras.Model(inputs, keras.layers.Dense(1)(attended[:, 0]))
        model.compile("adam", "mse")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(tokens, tokens[:, :1].astype("float32"), epochs=1, verbose=0)

        names = Trial(tmp_path / "run").tensor_names("^setup/padding_only/")
        assert told == [one.rpartition("/")[2] for one in names]

    @pytest.mark.parametrize("how", [{}, {"weighted": "all"}, {"in_front": True}, {"ignored": -1}])
    def test_padding_that_counts_in_the_loss_is_found(self, how, tmp_path):
        """Where nothing masks it, and weights, if there are any, are all one."""
        assert ["pads_targets"] == classifies_tokens(tmp_path / "run", **how)

    @pytest.mark.parametrize(
        "how", [{"masked": True}, {"weighted": "words"}, {"ignored": 0}, {"least": 9}]
    )
    def test_padding_that_does_not_count_or_is_little_is_let_be(self, how, tmp_path):
        assert [] == classifies_tokens(tmp_path / "run", **how)

    @pytest.mark.parametrize(("first", "told"), [(0, True), (1, False)])
    def test_a_token_with_the_id_of_padding_is_noticed(self, first, told, tmp_path):
        """Where the embedding masks it."""
        rng = np.random.default_rng(0)
        texts = [rng.integers(first, 9, rng.integers(4, 9)) for _ in range(128)]
        x = keras.utils.pad_sequences(texts, maxlen=8, padding="post")
        model = keras.Sequential(
            [
                keras.Input((8,), dtype="int32"),
                keras.layers.Embedding(9, 4, mask_zero=True, name="words"),
                keras.layers.GRU(4),
            ]
        )
        model.compile("adam", "mse")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, x[:, :4].astype("float32"), batch_size=32, epochs=1, verbose=0)

        assert told is ("setup/pads_tokens/words" in Trial(tmp_path / "run").tensor_names())

    @pytest.mark.parametrize(
        "make",
        [
            lambda: [keras.layers.LSTM(4, name="cell")],
            lambda: [
                keras.layers.Dropout(0.1),
                keras.layers.GRU(4, return_sequences=True),
                keras.layers.SimpleRNN(4, name="cell"),
            ],
        ],
        ids=["one", "two"],
    )
    def test_the_share_of_padding_before_a_last_state_without_a_mask_is_known(self, make, tmp_path):
        assert padded_in(tmp_path / "run", make=make) > 0.9

    @pytest.mark.parametrize(
        "other",
        [
            {"masked": True},
            {"padding": "pre"},
            {"length": 6},
            {"make": lambda: [keras.layers.LSTM(4, go_backwards=True, name="cell")]},
            {"make": lambda: [keras.layers.Bidirectional(keras.layers.LSTM(4), name="cell")]},
            {
                "make": lambda: [
                    keras.layers.LSTM(4, return_sequences=True, name="cell"),
                    keras.layers.GlobalMaxPooling1D(),
                ]
            },
        ],
        ids=["masked", "at the beginning", "short", "backwards", "both ways", "all states"],
    )
    def test_what_sees_the_words_last_or_knows_the_padding_is_let_be(self, other, tmp_path):
        assert 0.0 == padded_in(tmp_path / "run", **other)


class TestEpochs:
    @pytest.mark.parametrize(
        ("way", "found"),
        [
            ("each epoch", ["remade"]),
            ("the same optimizer", []),
            ("no state", []),
            ("weights set", []),
            ("each fold", []),
        ],
    )
    def test_a_model_that_each_epoch_compiles_anew_is_named(self, way, found, tmp_path):
        """Where it is trained on and the optimizer keeps anything from step to step."""
        x, y = _data("numbers")
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
        kept = keras.optimizers.Adam(0.01)

        def compile_and_fit():
            optimizer = kept if way == "the same optimizer" else keras.optimizers.Adam(0.01)
            optimizer = keras.optimizers.SGD(0.01) if way == "no state" else optimizer
            make(optimizer)
            model.fit(x, y, batch_size=32, verbose=0)

        def make(optimizer):
            model.compile(optimizer, "mse")

        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            if way == "each fold":
                for _fold in range(5):
                    compile_and_fit()
            for _epoch in range(0 if way == "each fold" else 5):
                compile_and_fit()
                set_anew = [np.full_like(one, 0.1) for one in model.get_weights()]
                [model.set_weights(one) for one in [set_anew] if way == "weights set"]

        assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]


NUMPYS = np.random.default_rng(0)


class Noisy(keras.layers.Layer):
    """Draws in one of several ways."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.generator = keras.random.SeedGenerator(1)

    def build(self, shape):
        if self.way == "weights":
            self.table = self.add_weight(shape=(6, 6), initializer=keras.initializers.Zeros())
            self.table.assign(keras.random.normal((6, 6), seed=3))

    def call(self, inputs, training=False):
        if self.way == "of each step":
            return inputs + keras.random.normal(keras.ops.shape(inputs), seed=self.generator)
        if self.way == "unseeded":
            return inputs + keras.random.normal(keras.ops.shape(inputs))
        if self.way == "features":
            return inputs @ keras.random.normal((6, 6), seed=3)
        if self.way == "in evaluation":
            noise = 0 if training else keras.random.normal(keras.ops.shape(inputs), seed=3)
            return inputs + noise
        if self.way == "dropout":
            return keras.random.dropout(inputs, 0.5, seed=3)
        if self.way == "by numpy":
            return inputs + np.random.normal(size=6).astype("float32")
        if self.way == "by a generator of numpy":
            return inputs * (NUMPYS.random(6) < 0.5).astype("float32")
        if self.way == "numpy in evaluation":
            return inputs if training else inputs + NUMPYS.random(6).astype("float32")
        noise = keras.random.uniform(keras.ops.shape(inputs), seed=3) if self.way == "noise" else 0
        return inputs + noise


_NOT_ON_JAX = pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="Keras refuses to draw without a seed there"
)


# On PyTorch the call of a layer runs at each step, and draws each time.
_IF_COMPILED = [] if keras.backend.backend() == "torch" else ["same_noise"]


class TestNoise:
    @pytest.mark.parametrize(
        ("way", "found"),
        [
            ("noise", ["same_noise"]),
            ("dropout", ["same_noise"]),
            ("of each step", []),
            pytest.param("unseeded", [], marks=_NOT_ON_JAX),
            ("features", []),
            ("weights", []),
            ("in evaluation", []),
            ("by numpy", _IF_COMPILED),
            ("by a generator of numpy", _IF_COMPILED),
            ("numpy in evaluation", []),
        ],
    )
    def test_a_layer_that_draws_the_same_at_each_step_is_named(self, way, found, tmp_path):
        """By a number for a seed, for the samples of a batch that trains."""
        x, y = _data("numbers")
        model = keras.Sequential([keras.Input((6,)), Noisy(way), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            model.fit(x, y, batch_size=32, epochs=4, verbose=0, validation_split=0.1)

        assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]


@pytest.mark.parametrize(
    ("way", "found"),
    [("one model", True), ("a model for each", False), ("weights put back", False)],
)
def test_a_model_that_goes_on_from_fold_to_fold_is_named(way, found, tmp_path):
    """What validates it in the second fold was trained on in the first."""
    keras.utils.set_random_seed(0)
    x, y = _data("binary")
    folds = np.array_split(np.arange(len(x)), 3)

    def build():
        model = keras.Sequential([keras.layers.Dense(6, "tanh"), keras.layers.Dense(1, "sigmoid")])
        model.build(x.shape)
        model.compile("adam", BINARY)
        return model

    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model = build()
        first = model.get_weights()
        for fold in folds:
            if way == "a model for each":
                model = build()
            elif way == "weights put back":
                model.set_weights(first)
            rest = np.setdiff1d(np.arange(len(x)), fold)
            held_out = x[fold], y[fold]
            model.fit(x[rest], y[rest], validation_data=held_out, epochs=2, verbose=0)

    named = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert found == ("trained_before" in named)
    given = Trial(tmp_path / "run").tensor_names("^checkpoint/given/")
    assert bool(given) != found


@pytest.mark.parametrize("how", ["fit", "evaluate", "predict"])
@pytest.mark.parametrize(("first", "found"), [("copied", True), ("split", False)])
def test_copies_of_a_rare_class_on_both_sides_of_a_split_are_reported(how, first, found, tmp_path):
    """Drawn with replacement before the split; afterwards only what is trained on has copies."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 6)).astype("float32"), (np.arange(600) < 60).astype("float32")
    order = rng.permutation(600)
    if first == "split":
        order, held_out = order[:450], order[450:]
    order = np.concatenate([order, rng.choice(order[order < 60], 500)])
    if first == "copied":
        rng.shuffle(order)
        order, held_out = order[:800], order[800:]
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", BINARY)
    trained, labels, validation = x[order], y[order], (x[held_out], y[held_out])
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(
            *(trained, labels),
            validation_data=validation if how == "fit" else None,
            epochs=2,
            verbose=0,
        )
        if how == "evaluate":
            model.evaluate(*validation, verbose=0)
        elif how == "predict":
            model.predict(validation[0], verbose=0)

    named = {one.condition for one in watch(Trial(tmp_path / "run"), ["label_leak"])}
    assert found == ("overlap" in named)


class _Noisy(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)


class _AlwaysNoisy(_Noisy):
    def call(self, inputs, training=None):
        return inputs + keras.random.normal(keras.ops.shape(inputs), seed=self.seed)


class _NoisyInTraining(_Noisy):
    def call(self, inputs, training=None):
        noise = keras.random.normal(keras.ops.shape(inputs), seed=self.seed)
        return inputs + noise if training else inputs


class _NoisyEver(_Noisy):
    """As random features, and what samples on purpose, are."""

    def call(self, inputs):
        return inputs + keras.random.normal(keras.ops.shape(inputs), seed=self.seed)


class _Code(_Noisy):
    def call(self, inputs, training=None):
        mean, deviation = inputs
        return mean + deviation * keras.random.normal(keras.ops.shape(mean), seed=self.seed)


@pytest.mark.parametrize(
    ("noisy", "named"),
    [(_AlwaysNoisy, True), (_NoisyInTraining, False), (_NoisyEver, False), (_Code, False)],
)
def test_a_layer_that_draws_and_does_not_read_whether_it_trains_is_named(noisy, named, tmp_path):
    keras.utils.set_random_seed(0)
    x, y = _data("binary")
    inputs = keras.Input((6,))
    hidden = keras.layers.Dense(8, "tanh")(inputs)
    hidden = noisy()([hidden, hidden] if noisy is _Code else hidden)
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(hidden))
    model.compile("adam", BINARY)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=3, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert named == ("ignores_training" in found)


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="torch refuses to differentiate it")
@pytest.mark.parametrize("frozen", ["all layers", "all but the last"])
def test_a_model_that_is_trained_with_all_layers_frozen_is_named(frozen, tmp_path):
    """As where the layers to be frozen are those of the whole model; the second fit has none."""
    keras.utils.set_random_seed(0)
    x, y = _data("binary")
    model = keras.Sequential([keras.layers.Dense(6, "tanh"), keras.layers.Dense(1, "sigmoid")])
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.compile("adam", BINARY)
        model.fit(x, y, batch_size=32, epochs=3, verbose=0)
        for layer in model.layers if frozen == "all layers" else model.layers[:-1]:
            layer.trainable = False
        model.compile("adam", BINARY)
        model.fit(x, y, batch_size=32, epochs=3, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert (frozen == "all layers") == ("all_frozen" in found)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others take weights anew")
@pytest.mark.parametrize("compiles", [True, False], ids=["compiled again", "not compiled again"])
def test_a_layer_that_was_unfrozen_without_compiling_is_named(compiles, tmp_path):
    """The function that TensorFlow made goes on with the weights that could be trained then."""
    keras.utils.set_random_seed(0)
    x, y = _data("binary")
    base = keras.Sequential([keras.layers.Dense(6, "tanh"), keras.layers.Dense(6, "tanh")])
    base.trainable = False
    model = keras.Sequential([base, keras.layers.Dense(1, "sigmoid")])
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.compile("adam", BINARY)
        model.fit(x, y, batch_size=32, epochs=3, verbose=0)
        base.trainable = True
        if compiles:
            model.compile("adam", BINARY)
        before = base.get_weights()
        model.fit(x, y, batch_size=32, epochs=5, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert compiles == any((a != b).any() for a, b in zip(before, base.get_weights(), strict=True))
    assert ("unfrozen" in found) is not compiles


def conditions_of(run, model, x, y):
    """Fit a model; return what ``setup`` finds."""
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=16, epochs=3, verbose=0)
    return [one.condition for one in watch(Trial(run), ["setup"])]


@pytest.mark.parametrize("way", ["lambda", "in the graph", "trained before", "frozen"])
def test_a_layer_that_only_a_function_calls_is_named(way, tmp_path):
    """Keras does not know its weights, and no optimizer has them."""
    keras.utils.set_random_seed(0)
    table = keras.layers.Embedding(50, 8, name="words")
    tokens = np.random.default_rng(0).integers(1, 50, (128, 6))
    if way == "trained before":
        table.build()
        table.set_weights([np.random.default_rng(1).normal(size=(50, 8))])
    table.trainable = way != "frozen"
    inputs = keras.Input((6,), dtype="int32")
    if way == "in the graph":
        x = keras.ops.mean(table(inputs), axis=1)
    else:
        function = lambda given: keras.ops.mean(table(given), axis=1)  # noqa: E731
        x = keras.layers.Lambda(function, output_shape=(8,))(inputs)
    model = keras.Model(inputs, keras.layers.Dense(2, "softmax")(x))
    model.compile(keras.optimizers.Adam(0.01), SPARSE)

    found = conditions_of(tmp_path / "run", model, tokens, tokens[:, 0] % 2)

    assert (["untracked"] if way == "lambda" else []) == found


class Scale(keras.layers.Layer):
    """Multiplies by a matrix that is made in one of several ways, and may change by itself."""

    def __init__(self, way):
        super().__init__(name="scale")
        first = np.random.default_rng(0).normal(size=(6, 6)).astype("float32")
        if way == "weight":
            self.w = self.add_weight(shape=(6, 6), initializer="orthogonal")
        elif way == "constant":
            self.w = keras.ops.convert_to_tensor(first)
        elif keras.backend.backend() == "torch":
            self.w = importlib.import_module("torch").nn.Parameter(
                keras.ops.convert_to_tensor(first), requires_grad=way != "frozen"
            )
        else:
            variable = importlib.import_module("tensorflow").Variable
            self.w = variable(first, trainable=way != "frozen")
        self.changes = way == "changes"

    def call(self, x):
        if self.changes:
            self.w.assign(0.9 * self.w)
        return x @ self.w


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="it has no variables of its own")
@pytest.mark.parametrize("way", ["raw", "weight", "constant", "frozen", "changes"])
def test_a_variable_that_keras_does_not_know_is_named(way, tmp_path):
    if way == "changes" and keras.backend.backend() == "torch":
        pytest.skip("no operation of a graph sets it")
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(128, 6)).astype("float32")
    model = keras.Sequential([keras.Input((6,)), Scale(way), keras.layers.Dense(2, "softmax")])
    model.compile(keras.optimizers.Adam(0.01), SPARSE)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, (x[:, 0] > 0).astype("int64"), batch_size=16, epochs=8, verbose=0)

    found = [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
    assert (["raw_variable"] if way == "raw" else []) == found


@pytest.mark.parametrize(("kind", "found"), [("masks", ["moved_inputs"]), ("classes", [])])
def test_pictures_that_are_flipped_beside_targets_of_each_place_are_named(kind, found, tmp_path):
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(96, 8, 8, 1)).astype("float32")
    inputs = keras.Input((8, 8, 1))
    seen = keras.layers.RandomFlip("horizontal")(inputs)
    seen = keras.layers.Conv2D(4, 3, padding="same", activation="relu")(seen)
    if kind == "masks":
        y = (x > 0).astype("float32")
        outputs = keras.layers.Conv2D(1, 1, activation="sigmoid")(seen)
    else:
        y = (x.mean((1, 2)) > 0).astype("float32")
        outputs = keras.layers.Dense(1, "sigmoid")(keras.layers.GlobalMaxPooling2D()(seen))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(0.01), BINARY)

    assert found == conditions_of(tmp_path / "run", model, x, y)


@pytest.mark.parametrize(
    ("padding", "found"), [("scaled", ["masks_nothing"]), ("zeros", []), ("none", [])]
)
def test_padding_that_is_not_masked_is_named(padding, found, tmp_path):
    """As where a scaler was applied to what had been padded by zeros."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(96, 12, 3)).astype("float32")
    if padding != "none":
        for row, length in enumerate(rng.integers(3, 12, 96)):
            x[row, length:] = 0.0
    y = (x[:, 0, 0] > 0).astype("float32")
    x = (x + 2.0) / 3.0 if padding == "scaled" else x
    model = keras.Sequential([keras.Input((12, 3)), keras.layers.Masking(0.0)])
    model.add(keras.layers.LSTM(8))
    model.add(keras.layers.Dense(1, "sigmoid"))
    model.compile(keras.optimizers.Adam(0.01), BINARY)

    assert found == conditions_of(tmp_path / "run", model, x, y)


@pytest.mark.parametrize(
    ("momentum", "found"), [(0.9999, ["first_weights"]), (0.9, []), (None, [])]
)
def test_an_average_of_weights_that_is_hardly_begun_is_named(momentum, found, tmp_path):
    x, y = _data("numbers")
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    averages = {} if momentum is None else {"use_ema": True, "ema_momentum": momentum}
    model.compile(keras.optimizers.Adam(0.01, **averages), "mse")

    assert found == conditions_of(tmp_path / "run", model, x, y)


class WeighsLosses(keras.Model):
    """Multiplies the loss of each sample by its weight, of shape ``[n]`` or ``[n, 1]``."""

    def __init__(self, column):
        super().__init__()
        self.dense, self.column = keras.layers.Dense(1, "sigmoid"), column

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y, weights = data
        weights = weights.reshape(-1, 1) if self.column else weights.reshape(-1)
        self.zero_grad()
        loss = (keras.losses.binary_crossentropy(y, self(x, training=True)) * weights).mean()
        loss.backward()
        trained = self.trainable_weights
        self.optimizer.apply([one.value.grad for one in trained], trained)
        return {"loss": loss}


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the step is one of PyTorch")
@pytest.mark.parametrize(("column", "found"), [(True, ["broadcast"]), (False, [])])
def test_weights_of_samples_that_are_broadcast_to_all_losses_are_named(column, found, tmp_path):
    x, y = _data("binary")
    model = WeighsLosses(column)
    model.compile(keras.optimizers.Adam(0.01))
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(x)).astype("float32")
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y[:, None], sample_weight=weights, batch_size=32, epochs=3, verbose=0)

    assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["loss_input"])]


class Distills(keras.Model):
    """Trains a student to say what a teacher says, and the teacher with it or not."""

    def __init__(self, way):
        super().__init__()
        self.teacher, self.student = (keras.layers.Dense(3, "softmax") for _ in range(2))
        self.way = way

    def call(self, x, training=None):
        return self.student(x, training=training)

    def loss_of(self, x):
        if self.way == "both learn":
            said = self.teacher(x, training=True)
        else:
            said = self.teacher(x if self.way != "another input" else x + 1, training=False)
        return keras.ops.mean(keras.losses.kl_divergence(said, self.student(x, training=True)))

    def train_step(self, data):
        x, _ = data
        model = self.student if self.way == "student alone" else self
        trained = model.trainable_variables
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            with tf.GradientTape() as tape:
                loss = self.loss_of(x)
            gradients = tape.gradient(loss, trained)
        else:
            self.zero_grad()
            loss = self.loss_of(x)
            loss.backward()
            gradients = [one.value.grad for one in trained]
        self.optimizer.apply(gradients, trained)
        return {"loss": loss}


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="its steps are functions of a state")
@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("both", ["trained_teacher"]),
        ("student alone", []),
        ("both learn", []),
        ("another input", []),
    ],
)
def test_a_teacher_that_is_trained_with_its_student_is_named(way, found, tmp_path):
    keras.utils.set_random_seed(0)
    x, y = _data("classes")
    model = Distills(way)
    for one in (model.teacher, model.student, model):
        one.build(x.shape)
    model.compile(keras.optimizers.Adam(0.01))

    assert found == conditions_of(tmp_path / "run", model, x, y)


class Annealed(keras.Model):
    """Has a penalty, whose weight a callback sets in each epoch."""

    def __init__(self, weight):
        super().__init__()
        self.last = keras.layers.Dense(1)
        self.weight = weight

    def call(self, x):
        return self.last(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = super().compute_loss(x, y, y_pred, sample_weight, training=training)
        return loss + self.weight * keras.ops.mean(keras.ops.square(y_pred))


class Anneals(CALLBACKS.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if isinstance(self.model.weight, float):
            self.model.weight = 0.01 * epoch
        else:
            self.model.weight.assign(0.01 * epoch)


# On PyTorch the number is read at each step.
_KEPT = [] if keras.backend.backend() == "torch" else ["frozen_number"]


@pytest.mark.parametrize(
    ("way", "found"), [("number", _KEPT), ("eager", []), ("variable", []), ("constant", [])]
)
def test_a_number_that_compiled_code_keeps_is_named(way, found, tmp_path):
    """Where a callback sets another one, as a schedule does."""
    x, y = _data("numbers")
    weight = keras.Variable(0.0, trainable=False) if way == "variable" else 0.0
    model = Annealed(weight)
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=way == "eager")
    callbacks = [] if way == "constant" else [Anneals()]
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=4, verbose=0, callbacks=callbacks)

    found_here = watch(Trial(tmp_path / "run"), ["setup"])
    assert found == [one.condition for one in found_here]
    assert all("Annealed.weight" in one.message for one in found_here)


class Towers(keras.Model):
    """Tells two views of each sample apart by their cosines, times a number."""

    def __init__(self, scale):
        super().__init__()
        self.towers = [keras.layers.Dense(8) for _ in range(2)]
        self.unit, self.scale = keras.layers.UnitNormalization(), scale

    def call(self, x):
        return [self.unit(tower(x)) for tower in self.towers]

    def train_step(self, data):
        import torch

        first, second = self(data[0], training=True)
        self.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            first @ second.T * self.scale, torch.arange(len(first))
        )
        loss.backward()
        weights = list(self.trainable_weights)
        with torch.no_grad():
            self.optimizer.apply([one.value.grad for one in weights], weights)
        return {"loss": loss.detach()}


class Cosines(keras.Model):
    """Compares each sample with each, by vectors of length 1, and multiplies that by a number."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.first, self.second = (
            keras.Sequential(
                [
                    keras.layers.Dense(16, activation="relu"),
                    keras.layers.Dense(8),
                    keras.layers.UnitNormalization(),
                ]
            )
            for _ in range(2)
        )

    def call(self, x):
        products = keras.ops.matmul(self.first(x), keras.ops.transpose(self.second(x)))
        return products * self.scale


def own_of_each(_, logits):
    """Return the cross-entropy of rows whose class is their number."""
    return keras.losses.sparse_categorical_crossentropy(
        keras.ops.arange(keras.ops.shape(logits)[0]), logits, from_logits=True
    )


@pytest.mark.parametrize(("scale", "is_found"), [(0.1, True), (10.0, False)])
def test_cosines_multiplied_by_the_temperature_are_reported(scale, is_found, tmp_path):
    """Of a loss that the script makes of others; on PyTorch the graph tells it sooner."""
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(128, 8)).astype("float32")
    model = Cosines(scale)
    model.compile(keras.optimizers.Adam(0.01), loss=own_of_each)
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, np.zeros(128), batch_size=32, epochs=110, verbose=0)

    is_torch = keras.backend.backend() == "torch"
    condition = "temperature" if is_torch else "bounded prediction/loss"
    findings = watch(Trial(tmp_path / "run"), ["loss_input", "setup"])
    assert [condition] * is_found == [one.condition for one in findings]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="a loss of PyTorch")
@pytest.mark.parametrize(("scale", "found"), [(0.07, ["temperature"]), (1 / 0.07, [])])
def test_the_graphs_of_a_train_step_of_torch_are_looked_through(scale, found, tmp_path):
    x, y = _data("numbers")
    model = Towers(scale)
    model.compile(keras.optimizers.Adam(0.001))
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=4, verbose=0)

    assert found == [one.condition for one in watch(Trial(tmp_path / "run"), ["setup"])]
