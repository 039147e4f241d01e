"""smdebug's hook for Keras: a callback, which saves under smdebug's names."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

import smdebug.tensorflow as smd

pytestmark = pytest.mark.framework
X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")


def trained(folder, **compiled):
    """Train two epochs with an evaluation after each; return model and trial."""
    keras.backend.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8, "relu"), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"], **compiled)
    hook = smd.KerasHook(
        str(folder),
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "biases", "losses", "metrics", "gradients", "layers"],
    )
    y = X.sum(1, keepdims=True)
    model.fit(
        X, y, batch_size=16, epochs=2, verbose=0, callbacks=[hook], validation_data=(X[:16], y[:16])
    )
    hook.close()
    return model, smd.create_trial(str(folder))


class TestFit:
    def test_names_and_collections(self, tmp_path):
        """As smdebug wrote them of Keras."""
        _, trial = trained(tmp_path / "run")

        weights = ["dense/weights/dense/kernel:0", "dense_1/weights/dense_1/kernel:0"]
        assert weights == sorted(trial.tensor_names(collection="weights"))
        biases = [name.replace("kernel", "bias") for name in weights]
        assert biases == sorted(trial.tensor_names(collection="biases"))
        assert {"loss", "val_loss"} == set(trial.tensor_names(collection="losses"))
        assert {"batch", "mae", "val_mae"} == set(trial.tensor_names(collection="metrics"))

    def test_weights_are_those_after_the_batch(self, tmp_path):
        """The step that was last in training holds, if it is due, what the model is left with."""
        model, trial = trained(tmp_path / "run")

        assert [0, 2, 4, 6] == trial.steps(mode=smd.modes.TRAIN)
        values = [
            trial.tensor("dense/weights/dense/kernel:0").value(step, mode=smd.modes.TRAIN)
            for step in (0, 6)
        ]
        last = np.asarray(model.layers[0].kernel)
        assert 0 < np.abs(values[1] - last).max() < np.abs(values[0] - last).max()

    def test_gradients_and_layers_of_steps_that_run_as_python(self, tmp_path):
        """As smdebug had them; with JAX, gradients only."""
        _, trial = trained(tmp_path / "run", run_eagerly=True)

        gradients = {"gradients/dense/kernelGrad", "gradients/dense_1/biasGrad"}
        assert gradients <= set(trial.tensor_names(collection="gradients"))
        if keras.backend.backend() != "jax":
            outputs = trial.tensor_names(collection="layers")
            assert {"dense/outputs", "dense_1/outputs"} <= set(outputs)

    def test_the_end_of_an_epoch_is_saved_whatever_is_due(self, tmp_path):
        """With its last step, which is that of its evaluation."""
        _, trial = trained(tmp_path / "run")

        assert [0, 1] == trial.tensor("val_loss").steps(mode=smd.modes.EVAL)
        assert [0, 2, 4, 6] == trial.tensor("loss").steps(mode=smd.modes.TRAIN)
        value = trial.tensor("batch").value
        assert [0, 1] == [value(step, mode=smd.modes.EVAL).item() for step in (0, 1)]

    def test_the_first_batch_is_there_when_it_is_over(self, tmp_path):
        """A training that is killed in the next moment has it."""
        stored = []
        run = str(tmp_path / "run")
        looks = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: stored.append(smd.create_trial(run).steps())
        )
        model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        model.compile("sgd", "mse")
        hook = smd.KerasHook(run, save_config=smd.SaveConfig(save_interval=1))
        model.fit(X, X.sum(1), batch_size=32, verbose=0, callbacks=[hook, looks])

        assert [[0], [0]] == stored

    def test_without_evaluation_it_is_the_last_step_of_training(self, tmp_path):
        """What else is saved keeps its rhythm."""
        model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
        model.compile("sgd", "mse")
        hook = smd.KerasHook(
            str(tmp_path / "run"),
            save_config=smd.SaveConfig(save_interval=100),
            include_collections=["often"],
        )
        often = hook.get_collection("often")
        often.include("kernel")
        often.save_config = smd.SaveConfig(save_interval=3)
        model.fit(X, X.sum(1), batch_size=16, epochs=2, verbose=0, callbacks=[hook])
        hook.close()

        trial = smd.create_trial(str(tmp_path / "run"))
        kernel = next(name for name in trial.tensor_names() if "kernel" in name)
        assert [0, 3, 7] == trial.tensor("loss").steps()
        assert [0, 3, 6] == trial.tensor(kernel).steps()


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are TensorFlow's")
class TestTape:
    def test_each_wrapped_tape_is_a_step(self, tmp_path):
        """Variables are as the tape found them; a tape that nobody wraps is none."""
        import tensorflow as tf

        weight = tf.Variable([[1.0], [2.0]], name="weight")
        table = tf.Variable(tf.ones([4, 2]), name="table")
        hook = smd.KerasHook(
            str(tmp_path / "run"),
            save_config=smd.SaveConfig(save_interval=2),
            include_collections=["weights", "gradients", "losses"],
        )
        for _ in range(3):
            with tf.GradientTape():
                pass
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = tf.reduce_sum(tf.gather(table, [1, 1]) @ weight)
            gradients = tape.gradient(loss, [weight, table])
            weight.assign_sub(gradients[0])
        hook.close()

        trial = smd.create_trial(str(tmp_path / "run"))
        assert [0, 2] == trial.steps(mode=smd.modes.TRAIN)
        assert {"weights/weight:0", "weights/table:0"} == set(trial.tensor_names(regex="^weights/"))
        assert "loss" in trial.tensor_names(collection="losses")
        assert [[1.0], [2.0]] == trial.tensor("weights/weight:0").value(0).tolist()
        assert [[-3.0], [-2.0]] == trial.tensor("weights/weight:0").value(2).tolist()
        dense = trial.tensor("gradients/tableGrad").value(0)
        assert [[0.0, 0.0], [2.0, 4.0], [0.0, 0.0], [0.0, 0.0]] == dense.tolist()

    def test_a_tape_inside_of_a_graph_is_passed_over(self, tmp_path):
        """It has no values; and what is computed stays what it is."""
        import tensorflow as tf

        weight = tf.Variable(3.0, name="weight")
        hook = smd.KerasHook(str(tmp_path / "run"), save_all=True)

        @tf.function
        def step():
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = weight**2
            return tape.gradient(loss, weight)

        assert 6.0 == step().numpy()
        hook.close()
        assert [] == smd.create_trial(str(tmp_path / "run")).steps()

    def test_tapes_are_left_alone_once_the_hook_is_closed(self, tmp_path):
        """Bit for bit the functions that were there."""
        import tensorflow as tf

        before = tf.GradientTape.__enter__, tf.GradientTape.gradient
        hook = smd.KerasHook(str(tmp_path / "run"))
        hook.wrap_tape(tf.GradientTape())
        assert before[0] is not tf.GradientTape.__enter__
        hook.close()

        assert before == (tf.GradientTape.__enter__, tf.GradientTape.gradient)
