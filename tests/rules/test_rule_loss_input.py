"""What ``loss_input`` cannot judge is no pass."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stepwatch.rules import Watch
from tests.support.rules.made_steps import full_step
from tests.support.rules.rule_records import step_of


def status_of(prediction):
    """Return how the rule stands after 20 steps with a prediction of this name."""
    watch = Watch(["loss_input"])
    for number in range(20):
        watch.evaluate(step_of({"predictions": {prediction: [[0.1, 0.9], [-2.0, 3.0]]}}, number))
    watch.finish()
    return watch.statuses()[0]


class TestUnknownLosses:
    @pytest.mark.parametrize("name", ["predictions", "prediction/CategoricalCrossentropy"])
    def test_they_are_not_judged(self, name):
        """Which numbers they take is known of the losses of torch only."""
        status = status_of(name)
        assert ("NotEvaluated", True) == (status.status, status.idle)
        assert "no loss was computed whose input it knows" in status.details

    def test_known_ones_are(self):
        """By the names of functions and of modules."""
        for name in ("prediction/cross_entropy", "prediction/MSELoss_2"):
            assert "NoIssuesFound" == status_of(name).status


def conditions_of(*given):
    """Return what is found at ten steps at which a loss is given the same."""
    return {one.condition.partition(" ")[0] for one in findings_of(*given)}


def findings_of(function, prediction, label, dtype=np.float32):
    """Return the findings themselves."""
    watch, found = Watch(["loss_input"]), []
    tensors = {
        "predictions": {f"prediction/{function}": np.asarray(prediction, np.float32)},
        "labels": {f"label/{function}": np.asarray(label, dtype)},
    }
    for number in range(10):
        found += watch.evaluate(step_of(tensors, number))
    return found


OF_PROBABILITIES = "cross_entropy_of_probabilities"
CLASSES = [0, 1, 0]


class TestProbabilities:
    """Losses that take probabilities, as those of Keras do by default."""

    def test_logits_are_none(self):
        """Neither for classes nor for two of them."""
        logits = [[2.0, -1.0], [0.5, 3.0], [-1.0, 1.0]]
        assert {"not_probabilities"} == conditions_of(OF_PROBABILITIES, logits, CLASSES)
        assert {"not_probabilities"} == conditions_of(
            "binary_cross_entropy", [[2.0], [-1.0]], [[1], [0]]
        )

    def test_a_sigmoid_for_each_class_makes_none(self):
        """They are from 0 to 1, and do not add up to it."""
        outputs = [[0.9, 0.8], [0.7, 0.9], [0.6, 0.8]]
        assert {"not_probabilities"} == conditions_of(OF_PROBABILITIES, outputs, CLASSES)

    def test_a_softmax_makes_them(self):
        """And a sigmoid those of two classes."""
        outputs = [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]]
        assert set() == conditions_of(OF_PROBABILITIES, outputs, CLASSES)
        assert set() == conditions_of("binary_cross_entropy", [[0.9], [0.1]], [[1], [0]])

    @pytest.mark.parametrize(
        ("labels", "found"),
        [([1, 2, 2], {"labels_from_one"}), ([0, 1, 1], set()), ([0, 2, 1], set()), ([1, 1], set())],
    )
    def test_labels_from_one_on_are_told(self, labels, found):
        """Two classes: in the third case 2 may be what the loss leaves out."""
        outputs = [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]][: len(labels)]
        assert found == conditions_of(OF_PROBABILITIES, outputs, labels)

    @pytest.mark.parametrize("function", [OF_PROBABILITIES, "binary_cross_entropy"])
    def test_a_softmax_cannot_tell_several_labels_of_a_sample(self, function):
        """One label for each sample is what it is for, and a sigmoid is for several."""
        softmax, sigmoid = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], [[0.9, 0.8, 0.2], [0.1, 0.9, 0.8]]
        several, one = [[1, 1, 0], [0, 1, 1]], [[1, 0, 0], [0, 0, 1]]

        assert {"several_labels"} == conditions_of(function, softmax, several)
        assert set() == conditions_of(function, softmax, one)
        assert set() == conditions_of("binary_cross_entropy", sigmoid, several)

    @pytest.mark.parametrize("function", [OF_PROBABILITIES, "cross_entropy"])
    def test_one_class_has_always_the_probability_of_one(self, function):
        """Whatever the prediction is."""
        assert {"one_class"} == conditions_of(function, [[0.2], [0.7], [0.4]], [[0], [1], [1]])


class TestOneHotTargets:
    """Labels of which ``one_hot`` makes zeros for the largest, as it lies beyond the classes."""

    def conditions(self, codes, *, classes=4, batch=None):
        """Return what is found where targets are made of codes, zeros of what is no class."""
        rng, found, watch = np.random.default_rng(0), [], Watch(["loss_input"])
        for number in range(10):
            chosen = rng.permutation(codes)
            targets = (chosen[:, None] == np.arange(classes)).astype(np.float32)
            counts = targets.sum(0).astype(np.int64)
            tensors = {
                "predictions": {"prediction/cross_entropy": rng.normal(size=targets.shape)},
                "labels": {"label/cross_entropy": targets},
                "classes": {"class_count/cross_entropy": counts},
                "batches": {"batch": np.zeros((batch or len(codes), 3))},
            }
            found += watch.evaluate(full_step(tensors, number))
        return {(one.condition.partition(" ")[0], one.onset) for one in found}

    def test_labels_from_one_on_leave_the_last_without_a_class(self):
        """The first class is never set, and all others are."""
        assert {("codes_from_one", 0)} == self.conditions([1, 1, 2, 3, 3, 4] * 5)

    def test_two_classes_are_enough(self):
        """Then one is left."""
        assert {("codes_from_one", 0)} == self.conditions([1, 2, 2] * 10, classes=2)

    @pytest.mark.parametrize(
        "codes",
        [
            [0, 1, 2, 3] * 8,
            [0, 1, 2, 3, 4] * 6,
            [0, 1, 2, 3, -1] * 6,
            [1, 2, 3] * 10,
            [2, 3, 4] * 9,
        ],
        ids=["all", "void is the last", "unlabelled", "no first class", "no second class"],
    )
    def test_zeros_for_what_has_no_label_are_let_be(self, codes):
        """Of samples without a label, or of a class that is left out on purpose."""
        assert set() == self.conditions(codes)

    def test_zeros_for_positions_of_padding_are_let_be(self):
        """Where tokens are rows, and 0 is padding: there are fewer samples than rows."""
        assert set() == self.conditions([-1, 1, 2, 3] * 8, batch=4)


class TestBinaryLabels:
    """What is said of labels that a loss of two classes does not mean, and what is to be done."""

    @pytest.mark.parametrize(
        ("function", "prediction", "labels", "said", "advised"),
        [
            (
                "binary_cross_entropy",
                [[0.2], [0.5], [0.6]],
                [[0], [1], [2]],
                "probabilities, one a sample, of the second of two classes, but the labels are"
                " whole numbers from 0 to 2, as of 3 classes",
                "one unit for each class, 3, with a softmax",
            ),
            (
                "binary_cross_entropy_with_logits",
                [-0.2, 0.5, 1.6],
                [-1, 1, -1],
                "logits of labels of 0 and 1, but the labels are -1 and 1",
                "(labels + 1) / 2",
            ),
            (
                "binary_cross_entropy",
                [[0.2], [0.5], [0.6]],
                [[1], [2], [1]],
                "the labels are 1 and 2",
                "labels - 1",
            ),
            (
                "binary_cross_entropy_with_logits",
                [[[0.2, 0.5, 1.6]]],
                [[[0, 255, 255]]],  # a mask as it lies in its file
                "the labels are 0 and 255",
                "labels / 255",
            ),
            (
                "binary_cross_entropy",
                [[[0.2, 0.5, 0.6]]],
                [[[0, 1 / 255, 1 / 255]]],  # divided by 255 once more
                "the labels are 0 and 0.00392",
                "labels / 0.00392",
            ),
            (
                "binary_cross_entropy",
                [[0.2], [0.5], [0.6]],
                [[0], [17], [255]],
                "as of 256 classes",
                "one unit for each class, 256",
            ),
            (
                "binary_cross_entropy",
                [[0.2], [0.5], [0.6]],
                [[0.25], [13.7], [2.5]],
                "the labels go from 0.25 to 13.7",
                "without an activation and a loss of squares",
            ),
            (
                "binary_cross_entropy",
                [[0.2, 0.5], [0.6, 0.1]],
                [[0, 255], [17, 3]],
                "the labels go from 0 to 255",
                "divide images by 255",
            ),
            (
                "soft_margin_loss",
                [-0.2, 0.5, 1.6],
                [0, 1, 1],
                "labels of -1 and 1, but the labels are 0 and 1: those of 0 have no effect",
                "2 * labels - 1",
            ),
            (
                "cosine_embedding_loss",
                [[0.2, 0.5], [0.1, -0.4], [-0.3, 0.7]],
                [0, 1, 1],
                "pairs of 0 add no loss",
                "2 * labels - 1",
            ),
            (
                "margin_ranking_loss",
                [-0.2, 0.5, 1.6],
                [0, 1, 1],
                "those of 0 have no effect",
                "2 * labels - 1",
            ),
            (
                "hinge_embedding_loss",
                [0.2, 0.5, 1.6],
                [0, 1, 1],
                "not pushed apart",
                "2 * labels - 1",
            ),
        ],
    )
    def test_it_depends_on_what_they_are(self, function, prediction, labels, said, advised):
        (found,) = findings_of(function, prediction, labels)

        assert said in found.message
        assert advised in found.remedy

    @pytest.mark.parametrize("labels", [[-1, 1, 1], [1, 1, 1], [-1, 0, 1], [0.0, 0.5, 1.0]])
    @pytest.mark.parametrize("function", ["cosine_embedding_loss", "margin_ranking_loss"])
    def test_those_of_a_margin_that_have_a_sign_are_right(self, function, labels):
        """Or are weights, or the same for all, as of pairs that are all alike."""
        assert set() == conditions_of(function, [0.3, 0.2, 0.1], labels)

    @pytest.mark.parametrize("labels", [[0, 0, 1], [0, 0.01, 0.03], [0.1, 0.9, 0.9], [0, 0, 0]])
    def test_labels_of_0_and_1_are_right(self, labels):
        """And such as are in between, rare as what they stand for may be."""
        assert set() == conditions_of("binary_cross_entropy", [0.2, 0.5, 0.4], labels)


class TestExpectedCounts:
    def test_what_a_logarithm_is_taken_of_is_above_0(self):
        assert {"below_zero"} == conditions_of("poisson", [[-0.1], [2.0]], [[0], [3]])
        assert set() == conditions_of("poisson", [[0.0], [2.0]], [[0], [3]])


class TestDistributions:
    def test_what_is_cut_off_has_no_gradient(self):
        """A softmax may round above 1."""
        meant = [[0.9, 0.1], [0.2, 0.8]]
        assert {"clipped"} == conditions_of("kl_divergence", [[-2.0, 1.3], [0.2, 0.1]], meant)
        assert {"clipped"} == conditions_of("kl_divergence", [[-0.1, -2.3], [-1.2, -0.4]], meant)
        assert set() == conditions_of("kl_divergence", [[1.0000002, 0.0], [0.3, 0.7]], meant)


class TestTwoClasses:
    def test_numbers_of_classes_are_no_targets_of_a_regression(self):
        """As of a model with num_labels=1 that is given labels of two classes."""
        found = conditions_of("mse_loss", [[-0.2], [0.7]], [[0], [1]], np.int64)

        assert {"two_classes"} == found

    @pytest.mark.parametrize(
        ("prediction", "label", "dtype"),
        [
            ([[-0.2], [0.7]], [[0], [1]], np.float32),  # as of a discriminator by squares
            ([[0.2], [0.7]], [[0], [1]], np.int64),  # probabilities, whose squared error is fine
            ([[-0.2], [3.7]], [[0], [4]], np.int64),  # as of stars
        ],
    )
    def test_other_targets_are(self, prediction, label, dtype):
        assert set() == conditions_of("mse_loss", prediction, label, dtype)


class TestSwappedTargets:
    @pytest.mark.parametrize(
        ("numbers", "shares", "found"),
        [
            ([[0.0], [1.0], [1.0]], [[0.3], [0.05], [0.9]], ["swapped prediction/mse_loss"]),
            ([[0.3], [0.05], [0.9]], [[0.0], [1.0], [1.0]], []),
            ([[0.0], [1.0], [1.0]], [[0.0], [1.0], [1.0]], []),
            ([[0.3], [0.05], [0.9]], [[0.3], [0.05], [0.9]], []),
        ],
        ids=["swapped", "as it should be", "two of classes", "soft targets"],
    )
    def test_classes_for_a_regression_and_numbers_for_classes_are(self, numbers, shares, found):
        """Of two outputs; of one alone, either may be meant."""
        watch, conditions = Watch(["loss_input"]), []
        losses = "mse_loss", "binary_cross_entropy"
        values = [[0.2], [0.7], [0.4]]
        tensors = {
            "predictions": {f"prediction/{one}": np.array(values, np.float32) for one in losses},
            "labels": {
                f"label/{one}": np.array(label, np.float32)
                for one, label in zip(losses, (numbers, shares), strict=True)
            },
        }
        for number in range(10):
            conditions += [one.condition for one in watch.evaluate(step_of(tensors, number))]

        assert found == conditions


class TestSaturated:
    def test_so_has_what_a_loss_of_the_script_compares(self):
        """Where it has one prediction for each sample."""
        saturated, labels = [[0.1], [0.9996]], [[0.0], [16.0]]

        assert {"out_of_reach"} == conditions_of("rmsle", saturated, labels)
        assert set() == conditions_of("rmsle", [[0.1, 0.9996]], [[0.0, 16.0]])

    @pytest.mark.parametrize(
        ("largest", "found"), [(0.9996, {"out_of_reach"}), (0.97, set()), (1.2, set())]
    )
    def test_what_ends_at_one_to_the_last_bits_has_an_activation(self, largest, found):
        """So few looks tell it, as a short training has; targets are up to 16."""
        assert found == conditions_of("mse_loss", [[-0.4, largest]], [[0.0, 16.0]])


class TestRepeatedTargets:
    def test_each_target_for_several_predictions_is_reported(self):
        """As of a model that returns its whole sequence."""
        found = conditions_of("mse_loss", np.ones((4, 5)), [[0], [1], [2], [3]])

        assert {"repeated_target"} == found

    def test_a_target_for_all_is_let_be(self):
        """As the constant that a discriminator is to return."""
        assert set() == conditions_of("mse_loss", np.ones((4, 5)), [[1], [1], [1], [1]])

    def test_a_target_for_each_is_right(self):
        """Of one shape."""
        assert set() == conditions_of("mse_loss", np.ones((4, 5)), np.arange(20).reshape(4, 5))


def drawn(size):
    return np.random.default_rng(0).uniform(-0.1, 0.1, (size, size)).astype(np.float32)


def cosines(step, scale):
    """Return what towers say that learn within 100 steps which samples belong together."""
    learned = np.tanh(step / 30)
    return (scale * (learned * np.eye(100) + (1 - 0.9 * learned) * drawn(100))).astype(np.float32)


def cross_entropy(logits, labels):
    log_shares = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    if labels.shape == logits.shape:
        return float(-(labels * log_shares).sum(1).mean())
    return float(-log_shares[np.arange(len(labels)), labels].mean())


# What is known of labels that are drawn by these shares, and no more.
SHARES = np.exp(np.random.default_rng(1).uniform(-0.9, 0.9, (4000, 50)))
SHARES = (SHARES / SHARES.sum(1, keepdims=True)).astype(np.float32)
PLACES = np.random.default_rng(2).uniform(size=(4000, 1))
SAMPLED = (SHARES.cumsum(1) < PLACES).sum(1).clip(max=49)


class TestBoundedLogits:
    """Logits that fill a range that is too small to tell the classes."""

    def conditions(self, logits, labels, *, function="cross_entropy", loss=None, steps=24):
        """Return what is found by looks at every 20th step.

        Args:
            logits: Of a step, by its number; shape ``[rows, classes]``.
            labels: Shape ``[rows]``, or shares of the shape of the logits.
            loss: Of the logits; by default their cross-entropy.
        """
        watch, found = Watch(["loss_input"]), []
        for number in range(0, 20 * steps, 20):
            values = np.asarray(logits(number), np.float32)
            tensors = {
                "predictions": {f"prediction/{function}": values},
                "labels": {f"label/{function}": labels},
                "losses": {f"loss/{function}": (loss or cross_entropy)(values, labels)},
            }
            found += watch.evaluate(step_of(tensors, number))
        return {one.condition.partition(" ")[0] for one in found}

    @pytest.mark.parametrize(("scale", "found"), [(0.1, {"bounded"}), (10, set())])
    @pytest.mark.parametrize("function", ["cross_entropy", "of_the_script"])
    def test_cosines_times_the_temperature_are(self, scale, found, function):
        """In a batch each sample is the class of its own; a loss of the script shows by its value
        what it is."""
        logits = partial(cosines, scale=scale)
        assert found == self.conditions(logits, np.arange(100), function=function)

    def test_the_finding_has_the_numbers(self):
        watch, found = Watch(["loss_input"]), []
        labels = np.arange(100)
        for number in range(0, 480, 20):
            values = cosines(number, scale=0.1)
            tensors = {
                "predictions": {"prediction/cross_entropy": values},
                "losses": {"loss/cross_entropy": cross_entropy(values, labels)},
            }
            found += watch.evaluate(step_of(tensors, number))

        (one,) = found
        assert "cannot fall below 4.5," in one.message
        assert "ln(100) = 4.61" in one.message
        assert 0 == one.onset

    @pytest.mark.parametrize(
        ("logits", "labels"),
        [
            (lambda step: 0.005 * step * np.eye(100), np.arange(100)),
            (lambda step: np.tanh(step / 50) * (np.eye(10) - 0.1), np.arange(10)),
            (lambda _: drawn(100), np.arange(100)),
            (lambda _: np.log(SHARES), SAMPLED),
            (lambda _: np.log(SHARES), SHARES),
        ],
        ids=["a head that begins", "few classes", "no learning", "right", "distilled"],
    )
    def test_others_are_let_be(self, logits, labels):
        assert set() == self.conditions(logits, labels)

    def test_vectors_of_length_one_are_no_logits(self):
        """As many as they have elements, which a loss of the script compares."""

        def vectors(step):
            rows = cosines(step, scale=1.0)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        found = self.conditions(
            vectors, np.arange(100), function="of_the_script", loss=lambda *_: 4.3
        )
        assert set() == found
