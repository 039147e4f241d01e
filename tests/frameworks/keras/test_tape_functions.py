"""Functions of the script that are traced again, dropped, or called by one another."""

from __future__ import annotations

import gc

import keras
import numpy as np
import pytest
import tensorflow as tf

from stepwatch.hooks.tensorflow import TensorFlowHook, tapes
from stepwatch.hooks.tensorflow.graphs import Slot
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are of TensorFlow"),
]


@pytest.fixture
def hook(tmp_path):
    """A hook that raises its own failures."""
    with TensorFlowHook(run=tmp_path / "run", say=lambda _: None, strict=True) as made:
        yield made


@pytest.fixture
def read(monkeypatch):
    """The slots that are read, in that order."""
    found, gather = [], Slot.gather

    def noting(slot):
        found.append(id(slot))
        return gather(slot)

    monkeypatch.setattr(Slot, "gather", noting)
    return found


def step_of(weight):
    """Return a function that is traced, and that differentiates by a weight."""

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight * x)
        return tape.gradient(loss, weight)

    return step


class TestSlots:
    def test_go_with_their_function(self, hook):
        """What a function had to tell takes no memory once the function is gone."""
        weight = tf.Variable(2.0, name="weight")
        kept = step_of(weight)
        for size in (1, 2):
            kept(tf.ones([size]))
        dropped = step_of(weight)
        dropped(tf.ones([1]))
        before = len(hook._tapes._slots)

        del dropped
        gc.collect()

        assert (3, 2) == (before, len(hook._tapes._slots))

    @pytest.mark.parametrize("most", [0, 1 << 22])
    def test_tensors_of_unknown_shapes_have_their_statistics(
        self, hook, monkeypatch, tmp_path, most
    ):
        """Whether values leave the graph or it computes what is stored of them."""
        monkeypatch.setattr(tapes, "_MOST_LEAVING", most)
        table = tf.Variable(tf.ones([4, 2]), name="table")
        weight = tf.Variable(tf.ones([2, 3], tf.float64), name="weight")

        @tf.function(
            input_signature=[tf.TensorSpec([None, 2], tf.float64), tf.TensorSpec(None, tf.int32)]
        )
        def step(x, rows):
            with tf.GradientTape() as tape:
                looked_up = tf.cast(tf.reduce_sum(tf.gather(table, rows)), tf.float64)
                loss = tf.reduce_sum(x @ weight) + looked_up
            return tape.gradient(loss, [table, weight])

        step(tf.constant([[1.0, 2.0], [3.0, 5.0]], tf.float64), tf.constant([0, 1, 3]))
        step(tf.constant([[1.0, 2.0]], tf.float64), tf.constant([[1], [2]]))
        hook.close()

        trial = Trial(tmp_path / "run")
        of_weight = trial.tensor("gradient/weight").statistics()
        assert ([4.0, 1.0], [7.0, 2.0]) == (of_weight["min"].tolist(), of_weight["max"].tolist())
        assert [6, 4] == trial.tensor("gradient/table").statistics()["count"].tolist()

    def test_only_those_of_the_function_that_ran_are_read(self, hook, read):
        """A call of another function does not wait for them."""
        one, other = (step_of(tf.Variable(2.0)) for _ in range(2))
        for step in (one, other):
            step(tf.ones([1]))
        assert 2 == len(set(read))
        read.clear()

        one(tf.ones([1]))
        tf.function(lambda x: x + 1)(tf.ones([1]))

        assert 1 == len(read)

    def test_of_a_function_that_another_calls_are_read(self, hook, tmp_path):
        """Though it was traced on its own before."""
        step = step_of(tf.Variable(2.0, name="weight"))
        outer = tf.function(lambda x: step(x) + 1)
        step(tf.ones([1]))
        outer(tf.fill([1], 5.0))
        outer(tf.fill([1], 7.0))
        hook.close()

        gradients = Trial(tmp_path / "run").tensor("gradient/weight").statistics()["mean"]
        np.testing.assert_array_equal([1, 5, 7], gradients)

    def test_of_a_function_within_a_function_live_with_the_outer_one(self, hook, tmp_path):
        """The inner one is gone when the outer one has been traced."""
        weight = tf.Variable(2.0, name="weight")
        outer = tf.function(lambda x: step_of(weight)(x) + 1)
        outer(tf.fill([1], 5.0))
        gc.collect()
        outer(tf.fill([1], 7.0))
        hook.close()

        gradients = Trial(tmp_path / "run").tensor("gradient/weight").statistics()["mean"]
        np.testing.assert_array_equal([5, 7], gradients)
