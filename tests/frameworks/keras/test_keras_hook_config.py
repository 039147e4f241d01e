"""``stepwatch run --hook-config`` on scripts of Keras that know nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys

import keras
import pytest

from stepwatch.model.steps import Mode
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework

FIT = """\
import keras
import numpy as np
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
model.fit(x, y, batch_size=16, epochs=2, verbose=0, validation_data=(x[:16], y[:16]))
"""
TAPE = """\
import tensorflow as tf
dense = tf.keras.layers.Dense(1)
x = tf.random.normal([8, 3])
dense(x)
for step in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(dense(x) ** 2)
    for weight, gradient in zip(dense.weights, tape.gradient(loss, dense.weights)):
        weight.assign_sub(0.1 * gradient)
"""
CONFIG = {
    "LocalPath": "out",
    "HookParameters": {"save_interval": "2"},
    "CollectionConfigurations": [
        {"CollectionName": name}
        for name in ("weights", "biases", "gradients", "optimizer_variables")
    ],
}


def configured(folder, script):
    """Run a script by a hook configuration; return its run, and what the command said."""
    (folder / "train.py").write_text(script)
    (folder / "hook.json").write_text(json.dumps(CONFIG))
    command = [sys.executable, "-m", "stepwatch", "run", "--hook-config", "hook.json", "train.py"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == told.returncode, told.stderr
    return Trial(folder / "out"), told.stderr


class TestFit:
    def test_the_file_says_what_is_saved(self, tmp_path):
        """Losses and metrics as always, and what is asked for, under smdebug's names."""
        trial, said = configured(tmp_path, FIT)

        assert {
            *("loss", "val_loss", "mae", "val_mae", "batch"),
            *("dense/weights/dense/kernel:0", "dense/weights/dense/bias:0"),
        } <= set(trial.tensor_names()), said
        assert any(name.startswith("Adam/dense/kernel/") for name in trial.tensor_names())
        assert [0, 2, 4, 6] == trial.tensor("dense/weights/dense/bias:0").steps(Mode.TRAIN)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tapes are TensorFlow's")
class TestTape:
    def test_a_loop_of_the_scripts_own_is_saved(self, tmp_path):
        """Each tape is a step."""
        trial, said = configured(tmp_path, TAPE)

        assert {
            *("loss", "weights/dense/kernel:0", "weights/dense/bias:0"),
            *("gradients/dense/kernelGrad", "gradients/dense/biasGrad"),
        } == set(trial.tensor_names()), said
        assert [0, 2] == trial.tensor("loss").steps(Mode.TRAIN)
