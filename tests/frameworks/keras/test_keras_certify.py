"""``stepwatch certify`` of Keras on PyTorch."""

from __future__ import annotations

import json
import subprocess

import keras
import pytest

from tests.support.cli.commands import STEPWATCH, call

pytestmark = [
    pytest.mark.framework,
    pytest.mark.slow,
    pytest.mark.skipif(keras.backend.backend() != "torch", reason="relations are those of PyTorch"),
]
SCRIPT = """\
import keras
import numpy as np

keras.utils.set_random_seed(0)
inputs = np.random.default_rng(0).normal(size=(128, 8)).astype("float32")
model = keras.Sequential([LAYERkeras.layers.Dense(16, "tanh"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
model.fit(inputs, inputs.sum(1), batch_size=16, epochs=2, verbose=0)
"""


@pytest.mark.parametrize(
    ("layer", "outcome"),
    [("", "holds"), ("keras.layers.GaussianNoise(0.3), ", "does not apply")],
    ids=["no noise", "noise"],
)
def test_layers_that_draw_differ_from_row_to_row(layer, outcome, tmp_path):
    """They draw by generators of their own, and rows in another order get other noise."""
    (tmp_path / "train.py").write_text(SCRIPT.replace("LAYER", layer))
    done = call(
        STEPWATCH, "certify", "--steps", "6", "--only", "permuted-batch", "--json", "train.py",
        cwd=tmp_path, start=subprocess.run,
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    (found,) = json.loads(done.stdout)["relations"]
    assert outcome == found["outcome"]
