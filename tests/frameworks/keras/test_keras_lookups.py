"""Recommenders of Keras whose embeddings are looked up by the ids of another one."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
USERS, ITEMS, SAMPLES = 60, 200, 1600


def found_in(run, negatives=ITEMS, *, borrows=False, named=False, ranks=False):
    """Fit a recommender; return the conditions that are found.

    Args:
        negatives: From so many what was not bought is drawn.
        borrows: Items are looked up by users.
        named: What it is given are a dictionary.
        ranks: It is given what was bought and what was not at once.
    """
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    users = rng.integers(0, USERS, SAMPLES)
    bought, others = rng.integers(0, ITEMS, SAMPLES), rng.integers(0, negatives, SAMPLES)
    is_bought = rng.integers(0, 2, SAMPLES)
    given = [keras.Input((), name=name, dtype="int32") for name in ("item", "other", "user")]
    item, other, user = given if ranks else (given[0], given[0], given[2])
    of_user, of_item = keras.layers.Embedding(USERS, 4), keras.layers.Embedding(ITEMS, 4)
    bias = keras.layers.Embedding(ITEMS, 1)
    dot = keras.layers.Dot(1)
    score = dot([of_user(user), of_item(user if borrows else item)]) + bias(item)
    if ranks:
        score = score - dot([of_user(user), of_item(other)]) - bias(other)
    output = keras.layers.Activation("sigmoid")(score)
    model = keras.Model(given if ranks else [item, user], output)
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
    x = {"item": bought, "other": others, "user": users}
    y = np.ones(SAMPLES)
    if not ranks:
        x, y = {"item": np.where(is_bought == 1, bought, others), "user": users}, is_bought
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model.fit(x if named else list(x.values()), y, batch_size=64, epochs=1, verbose=0)
    return [one.condition for one in watch(Trial(run), ["setup"])]


@pytest.mark.parametrize("named", [False, True], ids=["in a list", "by name"])
@pytest.mark.parametrize("ranks", [False, True], ids=["by label", "by input"])
class TestNegatives:
    def test_those_of_the_range_of_users_are_named(self, ranks, named, tmp_path):
        found = found_in(tmp_path / "run", USERS, ranks=ranks, named=named)

        assert ["other_range"] == found

    def test_those_of_all_items_are_not_accused(self, ranks, named, tmp_path):
        assert [] == found_in(tmp_path / "run", ranks=ranks, named=named)


def test_items_that_are_looked_up_by_users_are_named(tmp_path):
    assert ["other_ids"] == found_in(tmp_path / "run", borrows=True)
