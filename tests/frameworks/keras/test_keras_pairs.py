"""Siamese models of Keras whose labels mean the contrary to the loss, and such as are meant."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
OPS = keras.ops


def _squares(same, distance):
    push = OPS.square(OPS.maximum(1.0 - distance, 0.0))
    return OPS.mean(same * OPS.square(distance) + (1 - same) * push)


def _halves(same, distance):
    return 0.5 * _squares(same, distance)


def _linear(same, distance):
    return OPS.mean(same * distance + (1 - same) * OPS.maximum(0.7 - distance, 0.0))


def found_in(run, loss, *, label_of_same, pulls, spread=1.0):
    """Fit a siamese model; return the conditions that are found.

    Args:
        loss: Of pairs that are the same, and distances.
        label_of_same: The label of pairs of one kind.
        pulls: The label of what the loss pulls together.
        spread: Of the kinds; 0 where numbers do not tell them.
    """
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    kinds, are_same = rng.integers(0, 6, 4096), rng.random(4096) < 0.5
    others = np.where(are_same, kinds, (kinds + rng.integers(1, 6, 4096)) % 6)
    centers = 1.5 * spread * rng.normal(size=(6, 12))
    x = [(centers[one] + rng.normal(size=(4096, 12))).astype("float32") for one in (kinds, others)]
    tower = keras.Sequential(
        [keras.Input((12,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(4)]
    )
    inputs = [keras.Input((12,)) for _ in range(2)]
    first, second = (tower(one) for one in inputs)
    squares = OPS.sum(OPS.square(first - second), axis=1, keepdims=True)
    model = keras.Model(inputs, OPS.sqrt(squares + 1e-9), name="siamese")

    def compared(label, distance):
        label = OPS.reshape(label, (-1, 1))
        return loss(label if pulls else 1 - label, distance)

    model.compile(keras.optimizers.Adam(0.01), compared)
    y = (are_same == label_of_same).astype("float32")
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x, y, batch_size=32, epochs=1, verbose=0)
    return [one.condition for one in watch(Trial(run), ["setup"])]


@pytest.mark.parametrize("loss", [_squares, _halves, _linear])
@pytest.mark.parametrize("label", [0, 1])
class TestLabels:
    def test_those_that_mean_the_contrary_to_the_loss_are_named(self, loss, label, tmp_path):
        found = found_in(tmp_path / "run", loss, label_of_same=label, pulls=1 - label)

        assert ["turned"] == found

    def test_those_that_mean_what_the_loss_takes_them_for_are_not(self, loss, label, tmp_path):
        assert [] == found_in(tmp_path / "run", loss, label_of_same=label, pulls=label)


def test_pairs_that_numbers_do_not_tell_are_not_accused(tmp_path):
    found = found_in(tmp_path / "run", _squares, label_of_same=1, pulls=0, spread=0.0)

    assert [] == found
