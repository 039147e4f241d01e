"""Gradients of embeddings, which TensorFlow gives as the rows that were looked up."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from stepwatch.hooks.keras import KerasHook
from stepwatch.hooks.tensorflow import TensorFlowHook
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others have none"),
]
ROWS = np.array([3, 7, 7], np.int32)


@pytest.fixture
def never_dense(monkeypatch):
    """Let a sparse gradient that is made dense fail; a training itself makes none so."""
    convert = tf.convert_to_tensor

    def strict(value, *args, **named):
        assert not isinstance(value, tf.IndexedSlices)
        return convert(value, *args, **named)

    monkeypatch.setattr(tf, "convert_to_tensor", strict)


@pytest.mark.usefixtures("never_dense")
class TestSparseGradients:
    @pytest.mark.parametrize("decorate", [lambda function: function, tf.function])
    @pytest.mark.parametrize("on_host", [True, False])
    def test_of_a_tape_are_the_rows_that_were_looked_up(self, tmp_path, decorate, on_host):
        """One for each time, at once or inside of a graph, whose batch has no known size."""
        table = tf.Variable(tf.ones([1000, 4]), name="table")

        def step(rows):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(2 * tf.gather(table, rows))
            return tape.gradient(loss, table)

        if decorate is tf.function:
            step = tf.function(step, input_signature=[tf.TensorSpec([None], tf.int32)])
        with TensorFlowHook(
            run=tmp_path / "run", say=lambda _: None, strict=True, policy=["gradients:raw"]
        ) as hook:
            hook._tapes._at_hand._reader.on_host = on_host
            step(tf.constant(ROWS))
            step(tf.constant(ROWS[:2]))

        seen = Trial(tmp_path / "run").tensor("gradient/table")
        assert [12, 8] == list(seen.statistics()["count"])
        np.testing.assert_array_equal(np.full([3, 4], 2.0), seen.value(0))

    @pytest.mark.parametrize("policy", [["gradients:raw"], ["gradients:none"]])
    def test_of_keras_are_the_rows_that_were_looked_up(self, tmp_path, policy):
        """And nothing where no gradients are wanted."""
        layers = keras.layers
        model = keras.Sequential(
            [keras.Input((3,), dtype="int32"), layers.Embedding(1000, 4), layers.Flatten()]
        )
        model.compile("sgd", "mse")
        with KerasHook(run=tmp_path / "run", say=lambda _: None, strict=True, policy=policy):
            model.fit(ROWS[None], np.zeros((1, 12), "float32"), verbose=0)

        trial = Trial(tmp_path / "run")
        shapes = [trial.tensor(name).value(0).shape for name in gradients(trial)]
        assert ([] if policy == ["gradients:none"] else [(3, 4)]) == shapes


def gradients(trial):
    """Return the names of gradients."""
    return trial.tensor_names(collection="gradients")
