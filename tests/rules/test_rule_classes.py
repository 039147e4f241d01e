"""ClassImbalance and Confusion."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules import StepView, Watch
from stepwatch.rules.classes import NoClasses, as_classes, predicted_classes
from tests.support.rules.made_steps import full_record, full_step, judged, steps_at
from tests.support.rules.rule_records import step_of

DIGITS = np.arange(10)


def pairs(labels, predictions, step=0, mode=Mode.TRAIN, **settings):
    """Return a step with labels and predictions in full."""
    values = {"labels": {"labels": np.asarray(labels)},
              "predictions": {"predictions": np.asarray(predictions)}}  # fmt: skip
    return full_step(values, step, mode, **settings)


def rare(rest=990, few=10):
    return np.repeat([0, 1], [rest, few])


class TestClassImbalance:
    def test_ninety_nine_to_one_is_too_much_once_there_are_enough(self):
        """990 labels of one class, 10 of the other, all predicted right."""
        (finding,) = judged("class_imbalance", [pairs(rare(), rare())])[0]
        assert (0, 99.0) == (finding.step, finding.value)

    def test_ten_classes_of_a_hundred_are_balanced(self):
        labels = np.repeat(DIGITS, 100)
        found, status = judged("class_imbalance", [pairs(labels, labels)])
        assert ([], "NoIssuesFound") == (found, status.status)

    def test_labels_add_up_over_steps_and_workers(self):
        labels = rare(99, 1)
        assert [4] == steps_at("class_imbalance", [pairs(labels, labels, n) for n in range(8)])
        record = [
            full_record({"classes": {"class_count/L": np.array([297, 3])}}, worker=f"worker_{n}")
            for n in range(2)
        ]
        assert [0] == steps_at("class_imbalance", [StepView(record)])

    def test_few_labels_are_not_judged(self):
        found, status = judged("class_imbalance", [pairs(rare(99, 1), rare(99, 1))])
        assert ([], "100 labels were seen, 500 are needed") == (found, status.details)

    def test_a_class_that_was_never_seen_counts_if_it_is_known_to_be_there(self):
        labels = np.repeat([0, 1], 300)
        assert [] == steps_at("class_imbalance", [pairs(labels, labels)])
        assert [0] == steps_at("class_imbalance:num_classes=3", [pairs(labels, labels)])

    def test_a_class_beyond_those_that_there_are_is_an_error(self):
        _, status = judged("class_imbalance:num_classes=2", [pairs([0, 5] * 300, [0, 5] * 300)])
        assert ("Error", True) == (status.status, "class 5 was seen" in status.details)

    @pytest.mark.parametrize(("start", "fires"), [(0, True), (3, False)])
    def test_mispredictions_count_from_a_step_on(self, start, fires):
        labels = np.repeat(DIGITS, 100)
        steps = [pairs(labels, (labels + 1) % 10), *(pairs(labels, labels, n) for n in range(3, 9))]
        found = steps_at(f"class_imbalance:misprediction_start_step={start}", steps)
        assert fires == bool(found)

    def test_a_class_of_few_labels_is_not_called_mispredicted(self):
        labels = np.repeat([0, 1], [500, 19])
        spec = "class_imbalance:threshold_imbalance=100"
        assert [] == steps_at(spec, [pairs(labels, labels * 0)])
        assert [0] == steps_at(f"{spec},min_class_samples=19", [pairs(labels, labels * 0)])

    def test_a_window_forgets(self):
        balanced = np.repeat([0, 1], 250)
        steps = [pairs(rare(499, 1), rare(499, 1)), *(pairs(balanced, balanced, n) for n in (1, 2))]
        found = judged("class_imbalance:window_samples=500,cooldown_steps=0", steps)[0]
        assert [0] == [finding.step for finding in found]

    def test_only_steps_that_train_count_by_default(self):
        steps = [pairs(rare(), rare(), mode=Mode.EVAL)]
        assert [] == steps_at("class_imbalance", steps)
        assert [0] == steps_at("class_imbalance:mode=eval", steps)
        assert [0] == steps_at("class_imbalance", [pairs(rare(), rare(), mode=Mode.GLOBAL)])

    @pytest.mark.parametrize(
        ("labels", "predictions", "why"),
        [
            (np.full(600, 0.5), np.full(600, 0.5), "regression"),
            (np.zeros(600), np.zeros(599), "predictions 599"),
            (np.arange(1001), np.arange(1001), "1001 classes"),
        ],
    )
    def test_what_are_no_classes_is_not_judged(self, labels, predictions, why):
        _, status = judged("class_imbalance", [pairs(labels, predictions)])
        assert ("NotEvaluated", True) == (status.status, why in status.details)

    def test_one_hot_labels_and_scores(self):
        eye = np.eye(2)[rare()]
        assert [0] == steps_at("class_imbalance:argmax=true", [pairs(eye, eye)])


class TestClasses:
    @pytest.mark.parametrize(
        ("predictions", "labels", "expected"),
        [
            ([0.2, 0.7], [0, 1], [0, 1]),
            ([-3.0, 2.0, 0.3], [0, 1, 1], [0, 1, 1]),  # logits, as some leave 0 to 1
            ([[0.1, 0.9], [0.8, 0.2]], [1, 0], [1, 0]),
            ([2.0, 5.0], [2, 5], [2, 5]),
            ([0.2, np.nan], [0, 1], [0, np.nan]),
        ],
    )
    def test_scores_become_classes(self, predictions, labels, expected):
        found = predicted_classes(np.array(predictions), np.array(labels), columns=False)
        np.testing.assert_array_equal(expected, found)

    def test_ignored_and_missing_labels_are_none(self):
        expected = [1, np.nan, np.nan]
        np.testing.assert_array_equal(
            expected, as_classes(np.array([1, -100, np.nan]), columns=False)
        )

    def test_fractions_are_no_classes(self):
        with pytest.raises(NoClasses, match="whole numbers"):
            as_classes(np.array([0.5]), columns=False)


class TestConfusion:
    def test_one_class_taken_for_another(self):
        """Of ten predictions one is wrong: 7 for a 4, so half of the 7s are wrong."""
        predictions = np.where(DIGITS == 4, 7, DIGITS)
        (finding,) = judged("confusion", [pairs(DIGITS, predictions)])[0]
        assert "4 classes" not in finding.message
        assert 2 == finding.evidence["classes"]  # 4 is never predicted, 7 half of the time wrong

    def test_a_perfect_matrix_of_any_size_is_fine(self):
        for classes in (2, 3, 10, 100):
            labels = np.arange(classes)
            assert [] == steps_at("confusion", [pairs(labels, labels)])

    @pytest.mark.parametrize(("by", "share"), [("column", 0.8), ("row", 1.0)])
    def test_shares_are_of_predictions_or_of_labels(self, by, share):
        """All 8 labels of class 0 are found, and 2 of class 1 are taken for it."""
        labels, predictions = np.repeat([0, 1], [8, 92]), np.repeat([0, 1], [10, 90])
        found, _ = judged(f"confusion:normalize={by}", [pairs(labels, predictions)])
        assert (share < 0.9) == bool(found)
        if found:
            assert share == found[0].value

    def test_a_class_that_is_nowhere_is_passed_over(self):
        assert [] == steps_at("confusion:category_no=5", [pairs([0, 4], [0, 4])])

    def test_a_class_beyond_the_categories_is_an_error(self):
        assert "Error" == judged("confusion:category_no=2", [pairs([0, 2], [0, 2])])[1].status

    def test_from_the_first_evaluation_on_only_these_are_judged(self):
        wrong = 9 - DIGITS
        steps = [
            pairs(DIGITS, DIGITS, 0),
            pairs(DIGITS, DIGITS, 1, Mode.EVAL),
            pairs(DIGITS, wrong, 2),
            pairs(DIGITS, wrong, 3, Mode.EVAL),
        ]
        assert [3] == steps_at("confusion", steps)

    def test_steps_add_up_where_asked_for(self):
        mostly = [pairs(DIGITS, DIGITS, n) for n in range(12)]
        steps = [*mostly, pairs(DIGITS, np.where(DIGITS == 4, 7, DIGITS), 12)]
        assert [12] == steps_at("confusion", steps)
        assert [] == steps_at("confusion:cumulative=true", steps)
        assert [] == steps_at("confusion:min_samples=11", steps)

    def test_a_matrix_that_was_counted_in_training_is_taken_as_it_is(self):
        counts = np.diag([50, 50])
        counts[1, 0] = 10
        (finding,) = judged("confusion", [full_step({"classes": {"confusion/L": counts}})])[0]
        assert ("L", pytest.approx(5 / 6)) == (finding.tensor, finding.value)

    def test_without_classes_it_is_not_green(self):
        _, status = judged("confusion", [full_step({"weights": {"w": [1.0]}})])
        assert ("NotEvaluated", True) == (
            status.status,
            "no classes were counted" in status.details,
        )


class TestChanceInThinSteps:
    def test_steps_of_which_only_the_loss_is_known_count(self):
        """Of nine in ten the budget leaves out the labels: the last ones are taken."""
        rng = np.random.default_rng(0)
        watch = Watch(["chance_level:num_steps=50"])
        found = []
        for at in range(120):
            kinds = {"losses": {"loss/mse_loss": [4.0 + at]}}
            if at % 10 == 0:
                targets = rng.normal(size=32)
                kinds |= {
                    "predictions": {"prediction/mse_loss": 0 * targets},
                    "labels": {"label/mse_loss": targets},
                }
            found += watch.evaluate(step_of(kinds, at))

        assert ["worse"] == [one.condition for one in found]
        assert "50 TRAIN steps up to step 50" in found[0].message


class TestChanceHeldOut:
    """Learned by heart: the loss falls in training, and not where it is evaluated."""

    NAME = "cross_entropy"

    def found(self, **training):
        """Return the conditions that are found."""
        return [one.condition for one in self.findings(**training)]

    def findings(
        self,
        *,
        train,
        evaluated,
        confusion,
        rounds=6,
        looks=24,
        samples=None,
        epochs=None,
        nearest=None,
        before=False,
    ):
        """Return what is found in a training with an evaluation after each 20 steps.

        Args:
            before: Whether another model was trained before.
            epochs: That each 20 steps are.
            samples: Returns the samples of a step of a mode.
            nearest: Of how many evaluated samples the nearest is evaluated, too, of 100.
        """
        watch, at = Watch(["chance_level:num_steps=40"]), 0
        if before:
            watch.evaluate(step_of({"gradients": {"gradient/other.weight": [1.0]}}))
            at += 1
        for _ in range(rounds):
            for mode, loss, count in ((Mode.TRAIN, train, 20), (Mode.EVAL, evaluated, 4)):
                for _ in range(count):
                    matrix = np.array([[16, 0], [0, 16]] if mode is Mode.TRAIN else confusion)
                    values = {
                        "losses": {f"loss/{self.NAME}": np.float32(loss)},
                        "predictions": {f"prediction/{self.NAME}": np.zeros((32, 2), np.float32)},
                        "labels": {f"label/{self.NAME}": np.arange(32) % 2},
                        "classes": {f"confusion/{self.NAME}": matrix},
                    }
                    if before and mode is Mode.TRAIN:
                        values["gradients"] = {"gradient/own.weight": np.ones(1)}
                    looks -= mode is Mode.EVAL
                    if mode is Mode.EVAL and looks < 0:
                        del values["classes"]
                    if samples is not None:
                        values["samples"] = {"sample/0": samples(mode)}
                    if nearest is not None and mode is Mode.EVAL:
                        counts = {"nearest_own/0": nearest, "nearest_of/0": 100}
                        values["evaluations"] = {
                            f"evaluation/{name}": float(count) for name, count in counts.items()
                        }
                    if epochs is not None and mode is Mode.TRAIN:
                        values["loop"] = {"loop/epoch": float(at // 24 * epochs)}
                    watch.evaluate(full_step(values, at, mode))
                    at += 1
        return watch.finish()

    BY_CHANCE, RIGHT = [[8, 8], [8, 8]], [[12, 4], [4, 12]]

    @pytest.mark.parametrize(
        ("draw", "is_told"),
        [
            (lambda rng: rng.permutation(48)[:32], True),
            (lambda rng: rng.permutation(480)[:32], False),  # many samples
            (lambda rng: np.arange(32), False),  # not shuffled: others may stand between
        ],
    )
    def test_a_small_training_set_is_reported(self, draw, is_told):
        """As where a slice of the data is left from trying the script out."""
        rng = np.random.default_rng(0)

        def samples(mode):
            drawn = draw(rng) if mode is Mode.TRAIN else 1000 + rng.permutation(500)[:100]
            return drawn.astype(np.uint64)

        usual = {"train": 0.4, "evaluated": 0.8, "confusion": self.BY_CHANCE}
        (found,) = self.findings(**usual, samples=samples)

        assert is_told == ("48 different samples" in found.message)
        assert is_told == ("train on all of the data" in found.remedy)

    @pytest.mark.parametrize(("nearest", "is_told"), [(71, True), (60, False)])
    def test_evaluation_samples_of_another_distribution_are_reported(self, nearest, is_told):
        """As by a vocabulary of the texts that are evaluated."""
        usual = {"train": 0.4, "evaluated": 0.8, "confusion": self.BY_CHANCE}
        (found,) = self.findings(**usual, nearest=nearest)

        assert is_told == ("like each other, and not like those that are trained" in found.message)

    def test_it_is_told_at_the_end(self):
        assert ["held_out"] == self.found(train=0.4, evaluated=0.8, confusion=self.BY_CHANCE)

    def test_of_one_class_there_is_nothing_to_guess(self):
        """As where the first part of sorted data is looked at."""
        one = np.zeros_like(self.BY_CHANCE)
        one[0] = np.sum(self.BY_CHANCE, axis=0)

        assert [] == self.found(train=0.4, evaluated=0.8, confusion=one)

    @pytest.mark.parametrize(
        ("confusion", "found"),
        [
            ([[8, 0, 0], [0, 4, 0], [0, 4, 0]], ["unseen"]),
            ([[16, 0, 0], [0, 15, 0], [0, 1, 0]], []),  # a rare class may be in few batches
        ],
    )
    def test_a_class_that_training_never_had_is_named(self, confusion, found):
        """As where rows lie class by class and the last of them are to validate."""
        assert found == self.found(train=0.2, evaluated=2.0, confusion=confusion, rounds=2)

    def test_a_class_of_a_model_that_was_trained_before_is_not(self):
        """It is evaluated once more, beside one that was made of it for fewer classes."""
        confusion = [[8, 0, 0], [0, 4, 0], [0, 4, 0]]
        training = {"train": 0.2, "evaluated": 2.0, "confusion": confusion, "rounds": 2}

        assert [] == self.found(**training, before=True)

    def test_renumbered_classes_are_found_after_one_evaluation(self):
        """Nearly all of each is taken for another one."""
        turned = {"train": 0.2, "evaluated": 3.0, "confusion": [[1, 15], [16, 0]], "rounds": 2}
        (found,) = self.findings(**turned)

        assert "renumbered" == found.condition
        assert "class 0 for 1, 1 for 0, one to one" in found.message

    @pytest.mark.parametrize(
        "but",
        [
            {"train": 0.4},  # it has not learned much
            {"confusion": [[5, 11], [16, 0]]},
            {"confusion": [[0, 16], [0, 16]]},  # all is taken for one class
            {"looks": 1, "confusion": [[0, 9], [8, 0]]},  # guesses of two agree by chance
        ],
    )
    def test_else_they_may_have_the_same(self, but):
        turned = {"train": 0.2, "evaluated": 3.0, "confusion": [[1, 15], [16, 0]], "rounds": 2}
        assert [] == self.found(**turned | but)

    def test_it_holds_from_the_first_evaluation_on(self):
        """In none of them was the loss below guessing."""
        (found,) = self.findings(train=0.4, evaluated=0.8, confusion=self.BY_CHANCE)

        assert (143, 20) == (found.step, found.onset)

    def test_a_few_guesses_are_enough(self):
        assert ["held_out"] == self.found(
            train=0.4, evaluated=0.8, confusion=self.BY_CHANCE, looks=1
        )

    def test_so_is_one_evaluation_after_many_passes_through_the_data(self):
        by_chance = {"train": 0.6, "evaluated": 0.8, "confusion": self.BY_CHANCE, "rounds": 2}
        (found,) = self.findings(**by_chance, epochs=5)

        assert "held_out" == found.condition
        assert "fell to 0.6, and in the last evaluation it was 0.8; guessing" in found.message
        assert [] == self.found(**by_chance, epochs=4)

    @pytest.mark.parametrize(
        "but",
        [
            {"evaluated": 0.6},
            {"confusion": RIGHT},  # right more often than by chance, and too sure of the rest
            {"train": 0.69},  # it has learned nothing yet
            {"rounds": 4},
            {"looks": 0},  # by a thin evaluation
        ],
    )
    def test_else_it_is_not(self, but):
        usual = {"train": 0.4, "evaluated": 0.8, "confusion": self.BY_CHANCE}
        assert [] == self.found(**usual | but)

    @pytest.mark.parametrize(
        ("classes", "evaluated", "found"),
        [
            (4, 1.4, ["held_out"]),
            (4, 1.2, []),  # better than guessing
            (2, 0.7, []),  # of two classes little may be there to learn
        ],
    )
    def test_nor_need_the_loss_of_training_be_lower(self, classes, evaluated, found):
        """As where labels lie beside other samples: some are learned by heart."""
        guesses = np.full((classes, classes), 8 // classes) + 3 * np.eye(classes, dtype=int)
        by_chance = np.full((classes, classes), 8 // classes)
        watch = Watch(["chance_level:num_steps=40"])
        for at in range(6 * 24):
            mode = Mode.TRAIN if at % 24 < 20 else Mode.EVAL
            loss = np.log(classes) if mode is Mode.TRAIN else evaluated
            values = {
                "losses": {f"loss/{self.NAME}": np.float32(loss)},
                "predictions": {f"prediction/{self.NAME}": np.zeros((32, classes), np.float32)},
                "labels": {f"label/{self.NAME}": np.arange(32) % classes},
                "classes": {f"confusion/{self.NAME}": guesses if mode is Mode.TRAIN else by_chance},
            }
            watch.evaluate(full_step(values, at, mode))

        assert found == [one.condition for one in watch.finish()]


class TestMoreClassesLater:
    def test_classes_that_come_up_later_are_counted_with_the_others(self):
        """The matrix of a step has as many rows as the largest class so far."""
        watch, rng = Watch(["chance_level:num_steps=50"]), np.random.default_rng(0)
        found = []
        for at in range(120):
            size = 2 if at < 80 else 3
            kinds = {
                "losses": {"loss/cross_entropy": np.float32(1.2)},
                "predictions": {"prediction/cross_entropy": np.zeros((32, size), np.float32)},
                "labels": {"label/cross_entropy": np.arange(32) % size},
                "classes": {"confusion/cross_entropy": rng.integers(8, 12, (size, size))},
                "batches": {"batch/0": np.zeros((32, 2), np.float32)},
            }
            found += watch.evaluate(full_step(kinds, at))

        assert ["guessing"] == [one.condition for one in found]


class TestFewLabels:
    @pytest.mark.parametrize(("loss", "found"), [(2.30, ["guessing"]), (2.15, [])])
    def test_ten_labels_of_each_class_tell_what_guessing_costs(self, loss, found):
        """As of a short training of which few steps were observed in full."""
        watch, rng, told = Watch(["chance_level:num_steps=100"]), np.random.default_rng(0), []
        for at in range(300):
            kinds = {"losses": {"loss/cross_entropy": np.float32(loss + rng.normal(0, 0.01))}}
            if at % 60 == 0:
                labels = rng.permutation(32) % 10
                counts = np.zeros((10, 10), np.int64)
                np.add.at(counts, (labels, rng.integers(0, 10, 32)), 1)
                kinds |= {
                    "predictions": {"prediction/cross_entropy": np.zeros((32, 10), np.float32)},
                    "labels": {"label/cross_entropy": labels},
                    "classes": {"confusion/cross_entropy": counts},
                    "batches": {"batch/0": np.zeros((32, 2), np.float32)},
                }
            told += [one.condition for one in watch.evaluate(full_step(kinds, at))]

        assert found == told


class TestAbsoluteErrors:
    @pytest.mark.parametrize(
        ("loss", "found"), [(2200.0, ["guessing"]), (1600.0, ["guessing"]), (900.0, [])]
    )
    def test_they_are_no_better_than_guessing_above_the_standard_deviation(self, loss, found):
        """Targets of thousands, by a layer whose bias takes long to get there."""
        watch, rng, told = Watch(["chance_level:num_steps=50"]), np.random.default_rng(0), []
        for at in range(120):
            kinds = {
                "losses": {"loss/l1_loss": np.float32(loss)},
                "predictions": {"prediction/l1_loss": np.zeros(32, np.float32)},
                "labels": {"label/l1_loss": rng.normal(2200, 1500, 32).astype(np.float32)},
            }
            told += [one.condition for one in watch.evaluate(full_step(kinds, at))]

        assert found == told


class TestEnd:
    @pytest.mark.parametrize(
        ("last", "found"),
        [(2.0, ["guessing"]), (0.5, [])],  # of what the mean costs
    )
    def test_unscaled_targets_not_reached_at_the_end_are_reported(self, last, found):
        """It still falls, as where steps of Adam are small beside prices in dollars."""
        watch, rng, told = Watch(["chance_level:num_steps=50"]), np.random.default_rng(0), []
        mean = 4000.0
        for at in range(120):
            way = at / 120
            error = (1 - way) ** 4 * mean**2 + last * 1500.0**2
            kinds = {
                "losses": {"loss/mse_loss": np.float32(error)},
                "predictions": {"prediction/mse_loss": np.full(32, way * mean, np.float32)},
                "labels": {"label/mse_loss": rng.normal(mean, 1500, 32).astype(np.float32)},
            }
            told += watch.evaluate(full_step(kinds, at))
        told += watch.finish()

        assert found == [one.condition for one in told]


class TestSmallEdge:
    """Two classes near 50:50, as of returns of the next day: little can be known of the labels."""

    def found(self, *, losses=lambda at: 0.695, labels=512, epochs=0.0):
        """Return the conditions that are found in 200 steps, of which few are full."""
        watch, rng, found = Watch(["chance_level:num_steps=100"]), np.random.default_rng(0), []
        for at in range(200):
            kinds = {
                "losses": {"loss/cross_entropy": np.float32(losses(at) + rng.normal(0, 0.004))}
            }
            if at < 10 or at % 50 == 0:
                counts = labels // 4 + np.array([[2, 2], [-2, -2]])
                kinds |= {
                    "predictions": {"prediction/cross_entropy": np.zeros((labels, 2), np.float32)},
                    "labels": {"label/cross_entropy": np.arange(labels) % 2},
                    "classes": {"confusion/cross_entropy": counts},
                    "batches": {"batch/0": np.zeros((labels, 2), np.float32)},
                    "loop": {"loop/epoch": np.float64(at / 200 * epochs)},
                }
            found += watch.evaluate(full_step(kinds, at))
        return [one.condition for one in found]

    def test_chance_level_on_many_labels_is_found(self):
        assert ["guessing"] == self.found()

    def test_few_labels_do_not_exclude_an_edge(self):
        assert [] == self.found(labels=64)

    def test_few_labels_are_enough_after_several_epochs(self):
        assert ["guessing"] == self.found(labels=64, epochs=8)

    @pytest.mark.parametrize("epochs", [0, 8])
    @pytest.mark.parametrize(
        "losses", [lambda at: 0.69, lambda at: 0.6955 - 0.00006 * at], ids=["below", "falling"]
    )
    def test_a_loss_that_is_below_or_still_falls_is_none_of_guesses(self, losses, epochs):
        """By more than batches scatter, be it by less than a hundredth of guessing."""
        assert [] == self.found(losses=losses, epochs=epochs)


class TestWeakSignal:
    """A mean square near the variance of its targets, of which few steps are known in full."""

    def found(self, explained):
        """Return the conditions found where a model explains this share of the variance."""
        watch, rng, found = Watch(["chance_level:num_steps=100"]), np.random.default_rng(3), []
        for at in range(600):
            known, noise = rng.normal(size=(2, 32, 1))
            targets = explained**0.5 * known + (1 - explained) ** 0.5 * noise
            error = float(np.mean((targets - explained**0.5 * known) ** 2))
            kinds = {"losses": {"loss/mse_loss": np.float32(error)}}
            if at < 10 or at % 50 == 0:
                kinds |= {
                    "predictions": {"prediction/mse_loss": known.astype(np.float32)},
                    "labels": {"label/mse_loss": targets.astype(np.float32)},
                }
            found += watch.evaluate(full_step(kinds, at))
        return {one.condition for one in found}

    def test_what_predicts_the_mean_is_found(self):
        assert {"guessing"} == self.found(0.0)

    def test_a_small_share_that_is_explained_is_no_guess(self):
        """Though few targets tell their variance to some hundredths only."""
        assert set() == self.found(0.08)


class TestMeanHeldOut:
    """A regression that is worse than the mean of its targets where it is evaluated."""

    def found(
        self, *, train=0.1, evaluated=1.5, shift=0.0, rounds=1, shape=(32, 1), trained_last=False
    ):
        watch, at = Watch(["chance_level:num_steps=40"]), 0
        targets = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        parts = [(Mode.TRAIN, train, 60, 0.0), (Mode.EVAL, evaluated, 4, shift)] * rounds
        for mode, loss, count, away in [*parts, *parts[:1]] if trained_last else parts:
            for _ in range(count):
                values = {
                    "losses": {"loss/mse_loss": np.float32(loss)},
                    "predictions": {"prediction/mse_loss": targets},
                    "labels": {"label/mse_loss": targets + np.float32(away)},
                }
                watch.evaluate(full_step(values, at, mode))
                at += 1
        return [one.condition for one in watch.finish()]

    def test_one_evaluation_after_the_training_is_enough(self):
        assert ["held_out"] == self.found()

    def test_so_are_several_within_it(self):
        assert ["held_out"] == self.found(rounds=6, trained_last=True)

    @pytest.mark.parametrize(
        ("train", "evaluated", "found"),
        [(0.55, 0.75, ["held_out"]), (0.67, 0.75, []), (0.55, 0.65, [])],
    )
    def test_so_are_shares_by_their_cross_entropy(self, train, evaluated, found):
        """Ratings from 0 to 1, of which few are either: their mean costs 0.69, the best 0.55."""
        watch = Watch(["chance_level:num_steps=40"])
        shares = np.random.default_rng(0).uniform(size=(32, 1)).astype(np.float32)
        loss = "binary_cross_entropy"
        for at, mode in enumerate([Mode.TRAIN] * 60 + [Mode.EVAL] * 4):
            values = {
                "losses": {f"loss/{loss}": np.float32(train if mode is Mode.TRAIN else evaluated)},
                "predictions": {f"prediction/{loss}": shares},
                "labels": {f"label/{loss}": shares},
            }
            watch.evaluate(full_step(values, at, mode))

        assert found == [one.condition for one in watch.finish()]

    def test_labels_of_classes_have_no_mean(self):
        """Whatever their numbers are: what guessing costs is told by how often each comes."""
        watch = Watch(["chance_level:num_steps=40"])
        labels = (np.arange(32) % 3)[:, None]
        for at, mode in enumerate([Mode.TRAIN] * 60 + [Mode.EVAL] * 4):
            values = {
                "losses": {"loss/cross_entropy": np.float32(0.1 if mode is Mode.TRAIN else 0.9)},
                "predictions": {"prediction/cross_entropy": np.zeros((32, 3))},
                "labels": {"label/cross_entropy": labels},
            }
            watch.evaluate(full_step(values, at, mode))

        assert [] == list(watch.finish())

    @pytest.mark.parametrize(
        "but",
        [
            {"evaluated": 0.5},
            {"train": 0.8},  # it has learned little
            {"shift": 2.0},  # the mean of the training is far off there, too
            {"shape": (32, 8)},  # as images are, of which some are harder
            {"trained_last": True},  # one evaluation, which was early
        ],
    )
    def test_else_it_is_not(self, but):
        assert [] == self.found(**but)


class TestWhatIsLacking:
    def test_a_loss_of_many_steps_may_lack_its_targets_at_the_last(self):
        """As where a budget observes no later step in full; the loss alone was there throughout."""
        kinds = {
            "predictions": {"prediction/mse_loss": np.zeros(32)},
            "labels": {"label/mse_loss": np.ones(32)},
        }
        steps = [
            step_of({"losses": {"loss/mse_loss": [1.0]}} | (kinds if at < 20 else {}), at)
            for at in range(80)
        ]

        for num_steps, why in ((50, "at none of the 30 TRAIN steps after"), (90, "more than 90")):
            _, status = judged(f"chance_level:num_steps={num_steps}", steps)

            assert why in status.details


class TestWeightedLosses:
    @pytest.mark.parametrize("named", ["setup/class_weight/mse_loss", "setup/weighted/mse_loss"])
    def test_what_guessing_costs_is_not_known_of_them(self, named):
        rng = np.random.default_rng(0)
        kinds = {"predictions": {"prediction/mse_loss": np.zeros(32)}}
        for setup in ({}, {"setup": {named: [1.0, 20.0]}}):
            watch = Watch(["chance_level:num_steps=50"])
            found = []
            for at in range(60):
                given = {"labels": {"label/mse_loss": rng.normal(size=32)}}
                losses = {"losses": {"loss/mse_loss": [4.0 + at]}}
                found += watch.evaluate(step_of(kinds | given | losses | setup, at))

            assert ([] if setup else ["worse"]) == [one.condition for one in found]

    @pytest.mark.parametrize(("mean", "found"), [(4.0, ["worse"]), (0.1, [])])
    def test_one_that_is_a_sum_is_judged_by_its_mean(self, mean, found):
        """As by ``MSELoss(reduction="sum")``, also where only the loss of a step is known."""
        rng = np.random.default_rng(0)
        watch = Watch(["chance_level:num_steps=50"])
        said = []
        for at in range(121):
            kinds = {"losses": {"loss/mse_loss": [32 * mean * (1 + at / 30)]}}
            if at < 60 or at % 10 == 0:
                kinds |= {
                    "predictions": {"prediction/mse_loss": np.zeros(32)},
                    "labels": {"label/mse_loss": rng.normal(size=32)},
                    "loop": {"loop/summed_losses": [1.0]},
                }
            said += watch.evaluate(step_of(kinds, at))

        assert found == [one.condition for one in said]


@pytest.mark.parametrize(
    ("spreads", "looks", "found"),
    [
        ([0.104, 0.096, 0.107, 0.092, 0.085, 0.076], range(300, 306), [304]),  # one may lie above
        ([0.05, 0.06, 0.07, 0.08, 0.09, 0.095], range(300, 306), []),  # learns to tell them apart
        ([0.04, 0.05, 0.041, 0.045, 0.05, 0.06], range(300, 306), [305]),  # so slowly to the end
        ([0.2, 0.19, 0.18, 0.17, 0.16, 0.15], range(300, 306), []),
        ([0.24, 0.18, 0.14, 0.12, 0.08, 0.06], [0, 10, 100, 200, 400, 800], [800]),
        ([0.24, 0.18, 0.14, 0.12, 0.08, 0.06], range(300, 306), []),
    ],
)
def test_decoder_output_equal_to_data_mean_is_found(spreads, looks, found):
    """On average over the steps, of which some are looked at."""
    steps = [
        step_of({"classes": {"spread/loss": [value]}}, number)
        for number, value in zip(looks, spreads, strict=True)
    ]
    assert found == steps_at("chance_level", steps)
