"""Whether samples that are evaluated are like those that are trained on."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.hooks.nearest import NearestLabels, NearestSamples
from stepwatch.model.steps import Mode

RNG = np.random.default_rng(0)


def texts(count, vocabulary):
    """Return texts of topics, words of which are more frequent than others."""
    rows = []
    for _ in range(count):
        topic = RNG.integers(6)
        words = np.concatenate([RNG.integers(0, 20, 6), 20 + 30 * topic + RNG.integers(0, 30, 6)])
        rows.append(vocabulary[words])
    return np.array(rows)


def tables(count):
    """Return rows whose columns belong together."""
    of_all = RNG.normal(size=(count, 3))
    return (of_all @ MIXING + 0.3 * RNG.normal(size=(count, 12))).astype(np.float32)


MIXING = RNG.normal(size=(3, 12))
WORDS = np.arange(1, 201)
OTHER_WORDS = np.concatenate([WORDS[:20], 20 + RNG.permutation(WORDS[:180])])


def share(train, evaluated, batch=32):
    """Return of how many evaluated samples the nearest one is another such, of all."""
    nearest = NearestSamples()
    for at in range(0, len(train), batch):
        assert {} == nearest.add(Mode.TRAIN, "0", train[at : at + batch])
    found = {}
    for at in range(0, len(evaluated), batch):
        found |= nearest.add(Mode.EVAL, "0", evaluated[at : at + batch])
    assert 128 == found["evaluation/nearest_of/0"]
    return found["evaluation/nearest_own/0"] / 128


@pytest.mark.parametrize(
    ("train", "evaluated"),
    [
        (texts(200, WORDS), texts(200, WORDS)),
        (tables(200), tables(200)),
        (tables(200).reshape(-1, 3, 4), tables(200).reshape(-1, 3, 4)),
    ],
)
def test_of_samples_that_are_drawn_alike_half_are_nearest_to_their_own(train, evaluated):
    assert 0.3 < share(train, evaluated) < 0.7


@pytest.mark.parametrize(
    ("train", "evaluated"),
    [
        (texts(200, WORDS), texts(200, OTHER_WORDS)),
        (tables(200), 5 * tables(200)),
        (tables(200), tables(200)[:, RNG.permutation(12)]),
        (
            tables(200).reshape(-1, 3, 4),
            tables(200).reshape(-1, 3, 4).swapaxes(1, 2).reshape(-1, 3, 4),
        ),
    ],
    ids=["other vocabulary", "other scale", "other order", "other axes"],
)
def test_those_that_are_prepared_otherwise_are_nearest_to_their_own(train, evaluated):
    assert share(train, evaluated) > 0.7


def test_what_is_evaluated_of_the_training_is_nearest_to_itself():
    rows = tables(200)
    assert 0 == share(rows, rows)


@pytest.mark.parametrize(
    "batch",
    [
        np.zeros(8, np.float32),
        np.zeros((0, 3), np.float32),
        np.array([["a"] * 3]),
        np.full((64, 3), np.nan),
    ],
)
def test_others_are_left_alone(batch):
    nearest = NearestSamples()
    for mode in (Mode.TRAIN, Mode.EVAL):
        assert {} == nearest.add(mode, "", batch)


def test_of_texts_of_many_lengths_the_first_few_are_kept():
    """Memory is bounded."""
    nearest = NearestSamples()
    for mode in (Mode.TRAIN, Mode.EVAL):
        told = [bool(nearest.add(mode, "", RNG.normal(size=(64, n)))) for n in range(1, 20)]
    assert 8 == sum(told)


def test_few_samples_say_nothing():
    nearest = NearestSamples()
    for mode in (Mode.TRAIN, Mode.EVAL):
        assert {} == nearest.add(mode, "", tables(31))


class TestLabels:
    """Two clusters, whose places tell their labels."""

    labels = np.arange(96) % 2
    rows = (RNG.normal(size=(96, 5)) + 6 * labels[:, None]).astype(np.float32)

    def compared(self, labels, predictions, number=64, mode=Mode.EVAL):
        nearest = NearestLabels()
        assert {} == nearest.add(
            Mode.TRAIN, "mse", self.rows[:number], labels[:number], labels[:number]
        )
        return nearest.add(mode, "mse", self.rows[number:], labels[number:], predictions[number:])

    def test_of_classes_those_that_are_wrong_are_counted(self):
        assert {
            "evaluation/compared/mse": 32.0,
            "evaluation/wrong/mse": 16.0,
            "evaluation/balanced_wrong/mse": 16.0,
            "evaluation/nearest_wrong/mse": 0.0,
            "evaluation/nearest_balanced_wrong/mse": 0.0,
        } == self.compared(self.labels, np.zeros_like(self.labels))

    def test_of_rare_classes_each_that_is_wrong_counts_more(self):
        """By how rare it is among the trained samples; a class that is not there says nothing."""
        nearest, classes = NearestLabels(), np.array([0] * 56 + [1] * 8 + [0] * 14 + [1, 2])
        nearest.add(Mode.TRAIN, "mse", self.rows[:64], classes[:64], classes[:64])
        found = nearest.add(Mode.EVAL, "mse", self.rows[64:80], classes[64:], np.zeros(16, int))

        assert [2.0, 64 / 2 / 8] == [
            found[f"evaluation/{name}wrong/mse"] for name in ("", "balanced_")
        ]

    def test_of_numbers_squares_are_added_up(self):
        targets = 3.0 * self.labels[:, None]
        found = self.compared(targets, np.full_like(targets, 1.0))

        assert {
            "evaluation/compared/mse": 32.0,
            "evaluation/squares/mse": 16 * 1.0 + 16 * 4.0,
            "evaluation/nearest_squares/mse": 0.0,
            "evaluation/mean_squares/mse": 32 * 1.5**2,
        } == found

    def test_few_samples_of_the_training_tell_nothing(self):
        assert {} == self.compared(self.labels, self.labels, number=16)

    def test_samples_that_were_trained_on_are_left_out(self):
        nearest = NearestLabels()
        nearest.add(Mode.TRAIN, "mse", self.rows, self.labels, self.labels)

        assert {} == nearest.add(Mode.EVAL, "mse", self.rows, self.labels, self.labels)

    def test_what_is_not_finite_is_not_compared(self):
        predictions = np.full((96, 1), np.nan)
        assert {} == self.compared(3.0 * self.labels[:, None], predictions)
