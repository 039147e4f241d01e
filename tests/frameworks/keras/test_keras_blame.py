"""``stepwatch blame`` of Keras runs: the script trains up to the step again."""

from __future__ import annotations

import json

import pytest

from tests.support.cli.commands import STEPWATCH, call

SCRIPT = """\
import keras
import numpy as np

SEED
inputs = np.random.default_rng(0).normal(size=(128, 8)).astype("float32")
targets = inputs.sum(1, keepdims=True)
targets[77] += 40
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
model.fit(inputs, targets, batch_size=16, epochs=2, shuffle=False, verbose=0)
"""


def recorded(folder, *, seed):
    (folder / "train.py").write_text(SCRIPT.replace("SEED", seed))
    made = call(
        STEPWATCH, "run", "--run", "run", "--rules", "none", "--quiet", "train.py", cwd=folder
    )
    assert 0 == made.returncode, made.stderr


def blame(folder, *options):
    return call(STEPWATCH, "blame", "run", "--trust", *options, cwd=folder)


@pytest.mark.slow
class TestBlame:
    def test_the_broken_row_comes_first_with_its_index_in_the_array(self, tmp_path):
        """In the second epoch as in the first."""
        recorded(tmp_path, seed="keras.utils.set_random_seed(0)")
        for step in (4, 12):
            (worst, *others) = json.loads(blame(tmp_path, "--step", step, "--json").stdout)["rows"]

            assert (77, 13, True) == (worst["index"], worst["row"], worst["checked"])
            assert worst["gradient_share"] > 0.5
            assert 15 == len(others)

    def test_a_script_that_seeds_nothing_trains_otherwise_and_is_refused(self, tmp_path):
        """What is wrong with one training says nothing of another."""
        recorded(tmp_path, seed="")
        done = blame(tmp_path, "--step", "4")

        assert (2, "") == (done.returncode, done.stdout)
        assert "trains otherwise than it did" in done.stderr
        assert "keras.utils.set_random_seed" in done.stderr

    def test_an_unrecorded_step_is_an_error(self, tmp_path):
        recorded(tmp_path, seed="keras.utils.set_random_seed(0)")

        assert "TRAIN step 99 was not recorded; there are 0-15" in (
            blame(tmp_path, "--step", "99").stderr
        )
