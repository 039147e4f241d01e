"""Models of Keras that learn the values of actions, and the networks that their targets come of."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from stepwatch.hooks.keras import KerasHook
from stepwatch.hooks.keras.action_values import chosen_actions
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
ROWS = np.arange(16)


def network():
    """Return a small model that says the values of three actions in one of six states."""
    layers = [keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.layers.Input((6,)), *layers])
    model.compile(keras.optimizers.Adam(1e-2), "mse")
    return model


def learns_values(run, *, copies_every=0, by_row=False, leaves=True, steps=420):
    """Learn values of actions; return the conditions that are found.

    Args:
        copies_every: The target network is given the weights after so many steps; 0 for never.
        by_row: Each row is fitted alone, as in the first tutorials.
        leaves: Actions lead to other states.
        steps: How many.
    """
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    with KerasHook(run=run, say=lambda _: None, strict=True):
        model, target = network(), network()
        target.set_weights(model.get_weights())
        for step in range(steps):
            places, actions = rng.integers(0, 6, 16), rng.integers(0, 3, 16)
            states = np.eye(6, dtype="float32")[places]
            next_states = np.roll(states, 1, axis=1) if leaves else states.copy()
            best = keras.ops.convert_to_numpy(target(next_states)).max(1)
            goals = np.array(model.predict_on_batch(states))
            goals[ROWS, actions] = (actions == 0) + 0.9 * best
            if by_row:
                model.fit(states[:1], goals[:1], verbose=0)
            else:
                model.train_on_batch(states, goals)
            if copies_every and step % copies_every == 0:
                target.set_weights(model.get_weights())
    return [one.condition for one in watch(Trial(run), ["rl_update"])]


@pytest.mark.parametrize(
    ("options", "conditions"),
    [
        ({}, ["frozen_target"]),
        ({"copies_every": 50}, []),
        ({"copies_every": 50, "leaves": False, "steps": 20}, ["same_states"]),
        ({"by_row": True}, ["frozen_target"]),
    ],
)
def test_what_targets_are_made_of(tmp_path, options, conditions):
    assert conditions == learns_values(tmp_path / "run", **options)


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ([[1.0, 5.0], [9.0, 4.0]], ([0, 1], [1, 0])),
        ([[1.0, 5.0], [3.0, 4.0]], ([0], [1])),  # what was to be learned was known
        ([[1.0, 5.0], [9.0, 9.0]], None),
        ([[1.0, 2.0], [3.0, 4.0]], None),
        ([1.0, 2.0], None),
    ],
)
def test_labels_are_what_the_model_says_but_for_one_action(label, found):
    chosen = chosen_actions(np.array(label), np.array([[1.0, 2.0], [3.0, 4.0]]))

    assert found == (None if chosen is None else tuple(one.tolist() for one in chosen))


def test_classes_of_which_the_model_is_certain_are_no_actions():
    assert chosen_actions(np.eye(2), np.array([[0.9, 0.0], [0.0, 0.9]])) is None


def test_labels_of_a_batch_that_is_given_as_arrays_are_seen(tmp_path):
    with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        network().train_on_batch(np.ones((4, 6), "float32"), np.full((4, 3), 2.0))

    assert "label/loss" in Trial(tmp_path / "run").tensor_names()
