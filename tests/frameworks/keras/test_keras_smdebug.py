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
        assert [0] == trial.steps(mode=smd.modes.EVAL)
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
