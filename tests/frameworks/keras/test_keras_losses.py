"""Which function computes a loss of Keras, how its arguments are arranged, and what is counted."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.hooks.keras import KerasHook
from stepwatch.hooks.keras.losses import loss_call
from stepwatch.hooks.losses import (
    CROSS_ENTROPY,
    OF_PROBABILITIES,
    LossCall,
    compared_targets,
    confusion,
    log_partition,
    relative_spread,
)
from stepwatch.model.steps import Mode
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
BACKEND = keras.backend.backend()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 4)).astype("float32")
CLASSES = RNG.integers(0, 3, 64)
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
ONE_HOT = np.eye(3, dtype="float32")[CLASSES]


def watched(run, made, x=X, y=CLASSES, **options):
    """Fit a model for two epochs under a hook; return the trial."""
    with KerasHook(run=run, say=lambda _: None, strict=True):
        made.fit(x, y, batch_size=16, epochs=2, verbose=0, shuffle=False, **options)
    return Trial(run)


def classifier(loss, activation=None, units=3, **compiled):
    keras.utils.set_random_seed(0)
    made = keras.Sequential([keras.Input((4,)), layers.Dense(units, activation, name="head")])
    made.compile("sgd", loss, **compiled)
    return made


def infos(trial):
    """Return what is known of the tensors of the first step, by name."""
    record = next(iter(trial.records()))[0]
    return {info.name: info for info in record.layout.tensors}


class TestFunction:
    @pytest.mark.parametrize(
        ("loss", "activation", "taken"),
        [
            ("sparse_categorical_crossentropy", None, OF_PROBABILITIES),
            (LOSS, None, CROSS_ENTROPY),
            (keras.losses.sparse_categorical_crossentropy, "softmax", OF_PROBABILITIES),
        ],
        ids=["name", "object", "function"],
    )
    def test_a_loss_is_known_however_it_is_given(self, tmp_path, loss, activation, taken):
        """By its name, as an object and as a function; logits make it another one."""
        found = infos(watched(tmp_path / "run", classifier(loss, activation)))

        assert [taken, taken, CROSS_ENTROPY] == [
            found[name].function for name in ("prediction/loss", "label/loss", "loss/loss")
        ]

    def test_softmax_before_logits_is_what_the_backend_makes_of_it(self, tmp_path):
        """TensorFlow takes the softmax back, so it computes a loss of probabilities."""
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        found = infos(watched(tmp_path / "run", classifier(loss, "softmax")))

        is_taken_back = BACKEND == "tensorflow"
        expected = "cross_entropy_of_probabilities" if is_taken_back else "cross_entropy"
        assert expected == found["prediction/loss"].function

    def test_each_output_has_its_own(self, tmp_path):
        """The sum of two losses has none."""
        keras.utils.set_random_seed(0)
        inputs = keras.Input((4,))
        made = keras.Model(
            inputs, {"a": layers.Dense(3, name="a")(inputs), "b": layers.Dense(1, name="b")(inputs)}
        )
        ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        made.compile("sgd", {"a": ce, "b": "mse"})

        found = infos(watched(tmp_path / "run", made, y={"a": CLASSES, "b": X[:, :1]}))

        functions = {name: found[name].function for name in ("prediction/loss/a", "label/loss/b")}
        assert {"prediction/loss/a": "cross_entropy", "label/loss/b": "mse_loss"} == functions
        assert found["loss/loss"].function not in ("cross_entropy", "mse_loss")

    def test_a_function_of_the_script_has_none_that_rules_know(self, tmp_path):
        """Nothing is known of what it means by its arguments."""

        def mse_loss(y_true, y_pred):
            return keras.ops.mean((y_true - y_pred) ** 2, axis=-1)

        found = infos(watched(tmp_path / "run", classifier(mse_loss, units=1), y=X[:, :1]))

        assert "mse_loss" != found["prediction/loss"].function

    def test_an_object_that_a_train_step_calls_is_a_loss(self, tmp_path):
        """The value of this batch is that loss, whatever the step returns."""
        keras.utils.set_random_seed(0)
        made = Trained()
        made.build((None, 4))
        made.compile("sgd")

        trial = watched(tmp_path / "run", made)

        assert "cross_entropy" == infos(trial)["prediction/loss"].function
        assert 8 == len(trial.tensor("loss/loss").steps())


class Trained(keras.Model):
    """A model with a step of its own, on each backend."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x, training=False):
        return self.dense(x)

    if BACKEND == "torch":

        def train_step(self, data):
            x, y = data
            self.zero_grad()
            loss = LOSS(y, self(x, training=True))
            loss.backward()
            weights = self.trainable_weights
            self.optimizer.apply([one.value.grad for one in weights], weights)
            return {"mine": loss}

    elif BACKEND == "tensorflow":

        def train_step(self, data):
            import tensorflow as tf

            x, y = data
            with tf.GradientTape() as tape:
                loss = LOSS(y, self(x, training=True))
            weights = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"mine": loss}

    else:

        def train_step(self, state, data):
            import jax

            weights, others, kept, metrics = state
            x, y = data

            def loss_of(weights, others):
                prediction, others = self.stateless_call(weights, others, x, training=True)
                return LOSS(y, prediction), others

            differentiated = jax.value_and_grad(loss_of, has_aux=True)
            (loss, others), gradients = differentiated(weights, others)
            weights, kept = self.optimizer.stateless_apply(kept, gradients, weights)
            return {"mine": loss}, (weights, others, kept, metrics)


class TestFunctionsOfScripts:
    def test_what_a_function_is_given_is_known(self, tmp_path, monkeypatch):
        """Where a step calls it by ``keras.losses``; the loss is what the step returns."""

        def loss_of(y, prediction):
            losses = keras.losses.sparse_categorical_crossentropy(y, prediction, from_logits=True)
            return keras.ops.mean(losses)

        monkeypatch.setitem(globals(), "LOSS", loss_of)
        keras.utils.set_random_seed(0)
        made = Trained()
        made.build((None, 4))
        made.compile("sgd")

        found = infos(watched(tmp_path / "run", made))

        assert CROSS_ENTROPY == found["prediction/loss"].function
        assert "loss/loss" not in found


class TestArrangement:
    def test_classes_lie_on_the_second_axis(self, tmp_path):
        """Of a sequence with a class at each position, too."""
        keras.utils.set_random_seed(0)
        made = keras.Sequential([keras.Input((5, 4)), layers.Dense(3)])
        made.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x, y = np.repeat(X[:, None], 5, 1), np.repeat(CLASSES[:, None], 5, 1)

        trial = watched(tmp_path / "run", made, x, y)

        assert (16, 3, 5) == tuple(infos(trial)["prediction/loss"].shape)
        assert 80 == trial.tensor("confusion/loss").value(0).sum()

    def test_an_axis_of_one_is_no_difference(self, tmp_path):
        """Keras adds it where only one of both has it."""
        found = infos(watched(tmp_path / "run", classifier("mse", units=1), y=X[:, 0]))

        assert found["prediction/loss"].shape == found["label/loss"].shape


class TestClasses:
    @pytest.mark.parametrize("labels", [CLASSES, CLASSES[:, None], ONE_HOT], ids=["n", "n1", "nc"])
    def test_labels_of_every_kind_are_counted(self, tmp_path, labels):
        """Classes, a column of them, and rows with a single one."""
        name = "categorical" if labels.shape == ONE_HOT.shape else "sparse_categorical"
        trial = watched(tmp_path / "run", classifier(f"{name}_crossentropy", "softmax"), y=labels)

        expected = np.bincount(CLASSES[:16], minlength=3)
        assert expected.tolist() == trial.tensor("class_count/loss").value(0).tolist()

    def test_a_class_that_is_ignored_is_not_counted(self):
        """Nor is what is no class."""
        loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=2)
        probabilities, labels = np.eye(3, dtype="float32")[[0, 1, 2, 0]], np.array([0, 1, 2, -1])

        counts = confusion(loss_call(loss, labels, probabilities), probabilities, labels)

        assert [[1, 0, 0], [0, 1, 0], [0, 0, 0]] == counts.tolist()

    def test_smoothed_rows_stand_for_their_class(self):
        """And rows that are a mixture of two for none."""
        loss = keras.losses.CategoricalCrossentropy()
        probabilities = np.eye(3, dtype="float32")[[0, 1, 2, 0]]
        labels = 0.9 * np.eye(3, dtype="float32")[[0, 1, 1, 0]] + np.float32(0.1 / 3)
        labels[3] = [0.6, 0.4, 0.0]

        counts = confusion(loss_call(loss, labels, probabilities), probabilities, labels)

        assert [[1, 0, 0], [0, 1, 1], [0, 0, 0]] == counts.tolist()

    def test_two_classes_are_counted_at_the_threshold_of_their_loss(self):
        """One half for probabilities, and zero for logits."""
        labels, given = np.array([[0.0], [1.0], [1.0]]), np.array([[0.2], [0.4], [0.9]])

        counts = [
            confusion(loss_call(loss, labels, given), given, labels).tolist()
            for loss in (
                keras.losses.BinaryCrossentropy(),
                keras.losses.BinaryCrossentropy(from_logits=True),
            )
        ]

        assert [[[1, 0], [1, 1]], [[0, 1], [0, 2]]] == counts

    def test_the_log_partition_of_equal_logits_is_the_logarithm_of_their_number(self):
        """Shifted by what all of them are."""
        assert 5 + np.log(3) == pytest.approx(log_partition(np.full((4, 3), 5.0)))


class TestEvidence:
    def test_samples_are_known_again(self, tmp_path):
        """By the same digests in training and in evaluation."""
        trial = watched(
            tmp_path / "run",
            classifier("sparse_categorical_crossentropy", "softmax"),
            validation_data=(X[:16], CLASSES[:16]),
        )

        samples = trial.tensor("sample/0")
        trained, evaluated = (
            samples.value(samples.steps(mode)[0], mode) for mode in ("TRAIN", "EVAL")
        )
        assert trained.tolist() == evaluated.tolist()

    def test_updates_are_what_the_step_did(self, tmp_path):
        """The norm of the change over that of the weights before."""
        trial = watched(tmp_path / "run", classifier("sparse_categorical_crossentropy", "softmax"))

        gradient = trial.tensor("gradient/head/kernel").statistics()["sum_sq"][0]
        weight = trial.tensor("head/kernel").statistics()["sum_sq"][0]
        ratio = trial.tensor("update_ratio/head/kernel").statistics()["sum"][0]
        assert 0.01 * np.sqrt(gradient / weight) == pytest.approx(ratio, rel=1e-3)

    def test_layers_that_know_their_mode_are_counted(self, tmp_path):
        """Those that ran as in evaluation in training, and the other way round."""
        keras.utils.set_random_seed(0)
        made = keras.Sequential(
            [keras.Input((4,)), layers.Dropout(0.5), layers.BatchNormalization(), layers.Dense(3)]
        )
        made.compile("sgd", LOSS)
        trial = watched(tmp_path / "run", made, validation_data=(X[:16], CLASSES[:16]))

        found = {
            name: trial.tensor(f"loop/{name}").statistics(mode)["sum"][0]
            for name, mode in (("modules_in_eval", Mode.TRAIN), ("modules_in_train", Mode.EVAL))
        }
        assert {"modules_in_eval": 0, "modules_in_train": 0} == found
        assert 2 == trial.tensor("loop/modules").statistics()["sum"][0]

    def test_a_part_that_is_called_as_in_evaluation_is_so_on_purpose(self, tmp_path):
        """As what was trained before, whose statistics are to stay."""
        keras.utils.set_random_seed(0)
        backbone = keras.Sequential([keras.Input((4,)), layers.BatchNormalization()])
        given = keras.Input((4,))
        made = keras.Model(given, layers.Dense(3)(backbone(given, training=False)))
        made.compile("sgd", LOSS)
        trial = watched(tmp_path / "run", made)

        assert 1 == trial.tensor("loop/modules").statistics()["sum"][0]
        assert 0 == trial.tensor("loop/modules_in_eval").statistics()["sum"][0]

    def test_what_the_optimizer_clips_is_measured_before(self, tmp_path):
        """With the most that it leaves."""
        made = classifier("sparse_categorical_crossentropy", "softmax")
        made.compile(keras.optimizers.SGD(global_clipnorm=0.5), LOSS)
        trial = watched(tmp_path / "run", made)

        squares = [
            trial.tensor(f"gradient/head/{name}").statistics()["sum_sq"][0]
            for name in ("kernel", "bias")
        ]
        norm = trial.tensor("optimizer/gradient_norm_before_clipping").statistics()["sum"][0]
        assert np.sqrt(sum(squares)) == pytest.approx(norm)
        assert 0.5 == trial.tensor("optimizer/max_norm").statistics()["sum"][0]

    @pytest.mark.parametrize("bound", ["global_clipnorm", "clipnorm", "clipvalue"])
    def test_what_clipping_leaves_is_what_the_optimizer_uses(self, bound, tmp_path):
        """A step of plain descent is as long as that, times the learning rate."""
        made = classifier("sparse_categorical_crossentropy", "softmax")
        made.compile(keras.optimizers.SGD(1.0, **{bound: 1e-3}), LOSS)
        trial = watched(tmp_path / "run", made)

        def first(name, of="sum"):
            return trial.tensor(name).statistics()[of][0]

        moved = first("update_ratio/head/kernel") * np.sqrt(first("head/kernel", "sum_sq"))
        left = first("optimizer/clipped_to")
        assert left < first("optimizer/gradient_norm_before_clipping")
        assert 0.5 * left < moved < 1.01 * left


class Own(keras.losses.Loss):
    """A loss of the script's own: what it makes of the differences of targets and predictions."""

    def __init__(self, make, *, flat=False):
        super().__init__()
        self.make, self.flat = make, flat

    def call(self, y_true, y_pred):
        return self.make(y_true - (y_pred[:, 0] if self.flat else y_pred))


class TestDivergence:
    @pytest.mark.parametrize(("activation", "found"), [(None, ["clipped"]), ("softmax", [])])
    def test_what_is_cut_off_before_it_is_named(self, tmp_path, activation, found):
        """Keras cuts probabilities off at 0 and 1; those of a softmax are within."""
        made = classifier(keras.losses.KLDivergence(), activation)
        trial = watched(tmp_path / "run", made, y=ONE_HOT)

        conditions = [one.condition.split()[0] for one in watch(trial, ["loss_input"])]

        assert found == conditions


class TestWritten:
    """Losses that a script writes out, of predictions with an axis more than their targets."""

    @pytest.mark.parametrize("axes", [1, 2])
    @pytest.mark.parametrize("flat", [False, True])
    @pytest.mark.parametrize("make", [keras.ops.square, lambda d: keras.ops.mean(keras.ops.abs(d))])
    def test_one_that_compares_each_with_all_is_named(self, tmp_path, make, flat, axes):
        """Where predictions and targets have one shape, and where it is made, nothing is said."""
        if flat and axes == 2:
            pytest.skip("then it is the other way round")
        keras.utils.set_random_seed(0)
        made = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        made.compile("sgd", Own(make, flat=flat))
        y = X.sum(1) + 1
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            made.fit(X, y.reshape(-1, *[1] * (axes - 1)), batch_size=16, epochs=6, verbose=0)
        found = list(watch(Trial(tmp_path / "run"), ["loss_input"]))

        assert (["broadcast"] if not flat and axes == 1 else []) == [one.condition for one in found]

    def test_a_function_is_given_both_in_one_shape(self, tmp_path):
        """Keras itself arranges what it gives to functions."""
        made = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        made.compile("sgd", lambda y, p: keras.ops.mean(keras.ops.square(y - p)))
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            made.fit(X, X.sum(1), batch_size=16, epochs=6, verbose=0)

        assert [] == list(watch(Trial(tmp_path / "run"), ["loss_input"]))

    def test_of_other_losses_nothing_is_known(self):
        prediction, label = RNG.normal(size=(9, 1)), RNG.normal(size=9)
        pairs = prediction - label

        assert 9.0 == compared_targets(prediction, label, float(np.mean(pairs**2)))
        assert 1.0 == compared_targets(prediction[:, 0], label[:, None], float(np.mean(
            (prediction[:, 0] - label) ** 2)))  # fmt: skip
        assert np.isnan(compared_targets(prediction, label, float(np.mean(np.exp(pairs)))))
        assert np.isnan(compared_targets(prediction, label[:, None], float(np.mean(pairs**2))))


class TestPenalty:
    """What a model adds to its loss for the size of its weights."""

    def test_it_is_told_apart_from_the_loss(self, tmp_path):
        keras.utils.set_random_seed(0)
        head = layers.Dense(3, name="head", kernel_regularizer=keras.regularizers.L2(10.0))
        made = keras.Sequential([keras.Input((4,)), layers.Dropout(0.9), head])
        made.compile("sgd", LOSS)
        trial = watched(tmp_path / "run", made)
        penalty, loss = (trial.tensor(name).value(0) for name in ("loop/penalty", "loss/loss"))

        assert 0.8 * loss < penalty < loss
        assert 0.9 == pytest.approx(float(trial.tensor("loop/dropout").value(0)))

    def test_without_one_there_is_none(self, tmp_path):
        trial = watched(tmp_path / "run", classifier(LOSS))

        assert not {"loop/penalty", "loop/dropout"} & set(trial.tensor_names())


class Sampling(layers.Layer):
    """Draws latents, and adds their divergence from a normal distribution to the loss."""

    def __init__(self, weight, **options):
        super().__init__(**options)
        self.weight = weight
        self.seed = keras.random.SeedGenerator(0)

    def call(self, given):
        mean, log_variance = given
        kl = 1 + log_variance - keras.ops.square(mean) - keras.ops.exp(log_variance)
        self.add_loss(self.weight * keras.ops.mean(keras.ops.sum(-0.5 * kl, axis=-1)))
        noise = keras.random.normal(keras.ops.shape(mean), seed=self.seed)
        return mean + keras.ops.exp(0.5 * log_variance) * noise


class Written(keras.Model):
    """Computes its loss in a train step of its own, as the guides of Keras do."""

    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.mean_squared_error(y, self(x, training=True)))
            loss += tf.reduce_sum(self.losses)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply(gradients, self.trainable_weights)
        return {"loss": loss}


class TestCollapse:
    @pytest.mark.parametrize("kind", [keras.Model, Written])
    @pytest.mark.parametrize(("weight", "found"), [(1.0, ["same loss"]), (1e-4, [])])
    def test_a_decoder_that_gives_the_mean_of_the_data_is_found(
        self, kind, weight, found, tmp_path
    ):
        """As where the divergence is summed, and the reconstruction is a mean over elements."""
        if kind is Written and BACKEND != "tensorflow":
            pytest.skip("its train step is one of TensorFlow")
        keras.utils.set_random_seed(0)
        given = keras.Input((16,))
        hidden = layers.Dense(16, "relu")(given)
        latent = Sampling(weight)([layers.Dense(2)(hidden), layers.Dense(2)(hidden)])
        made = kind(given, layers.Dense(16)(layers.Dense(16, "relu")(latent)))
        made.compile(keras.optimizers.Adam(5e-3), None if kind is Written else "mse")
        rng = np.random.default_rng(0)
        x = (rng.normal(size=(640, 2)) @ rng.normal(size=(2, 16))).astype("float32") / 4
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
            made.fit(x, x, batch_size=32, epochs=16, verbose=0)
        alarms = watch(Trial(tmp_path / "run"), ["chance_level"])

        assert found == [one.condition for one in alarms if one.condition.startswith("same")]

    def test_predictions_are_compared_by_how_they_differ_from_sample_to_sample(self):
        """Whatever they have in common; logits as the probabilities that they are."""
        label = np.linspace(0.1, 0.9, 160).reshape(10, 16)
        mse, logits = (
            LossCall(name, None, None) for name in ("mse_loss", "binary_cross_entropy_with_logits")
        )

        assert pytest.approx(1) == relative_spread(mse, label + 5, label)
        assert pytest.approx(0) == relative_spread(mse, np.ones((10, 16)), label)
        assert pytest.approx(1) == relative_spread(logits, np.log(label / (1 - label)), label)
        assert relative_spread(mse, label[:4], label[:4]) is None
        assert relative_spread(LossCall(CROSS_ENTROPY, None, None), label, label) is None

    def test_a_loss_of_the_script_compares_what_has_the_same_shape(self):
        label = np.random.default_rng(0).uniform(size=(10, 16))
        own = LossCall("", None, None)

        assert pytest.approx(1) == relative_spread(own, label, label)
        assert relative_spread(own, label[:, :8], label) is None


@pytest.mark.parametrize(("sign", "found"), [(1, ["against_metric"]), (-1, [])])
def test_a_score_that_is_minimized_is_known_by_its_metric(sign, found, tmp_path):
    """A Dice coefficient in the place of a Dice loss; its twin is 1 less that."""

    def dice(label, prediction):
        inside = keras.ops.sum(label * prediction, axis=1)
        total = keras.ops.sum(label, axis=1) + keras.ops.sum(prediction, axis=1)
        return (1 - sign) / 2 + sign * (2 * inside + 1) / (total + 1)

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    mask = (rng.random((640, 32)) < 0.2).astype("float32")
    image = (mask + rng.normal(0, 0.2, mask.shape)).astype("float32")[..., None]
    made = keras.Sequential(
        [
            keras.Input((32, 1)),
            layers.Dense(8, "relu"),
            layers.Dense(1, "sigmoid", bias_initializer=keras.initializers.Constant(-2.0)),
            layers.Reshape((32,)),
        ]
    )
    made.compile(keras.optimizers.Adam(2e-2), dice, metrics=["binary_accuracy"])
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        made.fit(image, mask, batch_size=32, epochs=8, verbose=0)

    alarms = watch(Trial(tmp_path / "run"), ["loss_direction:cooldown_steps=1000"])
    assert found == [one.condition for one in alarms]
