"""The pages on Keras and TensorFlow hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from stepwatch.trial import Trial

pytestmark = [pytest.mark.framework, pytest.mark.timeout(600)]
DOCS = Path(__file__).parents[3] / "docs" / "frameworks"
BACKEND = keras.backend.backend()


def page(name):
    """Return the text of a page, its script and what is found in that."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    script = re.findall(r"```python\n(# train.py\n.*?)```", text, re.DOTALL)[0]
    return text, script, re.findall(r"```text\n(.*?)\n```", text, re.DOTALL)[0]


def run(folder, script):
    """Run a script under ``stepwatch run`` and return what that said."""
    (folder / "train.py").write_text(script)
    ran = subprocess.run(
        [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"],
        cwd=folder,
        env={**os.environ, "KERAS_BACKEND": BACKEND},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert 0 == ran.returncode, ran.stderr
    return ran.stderr


class TestKerasPage:
    def test_the_fault_of_the_example_is_found(self, tmp_path):
        """By ``stepwatch run`` in an empty folder; nothing is captured twice."""
        _, script, found = page("keras")
        said = run(tmp_path, script)

        trial = Trial(tmp_path / "run")
        expected = "in gradient/features/kernel" if BACKEND == "jax" else found
        assert expected in said
        assert (60, 6) == (len(trial.steps("TRAIN")), len(trial.steps("EVAL")))
        assert ["loss/loss"] == trial.tensor_names(collection="losses")

    def test_the_table_names_the_collections_of_the_example(self, tmp_path):
        """All that it names are there, but for what the example has not."""
        text, script, _ = page("keras")
        run(tmp_path, script.replace("epochs=3", "epochs=1"))

        rows = re.findall(r"^\|[^|]*\|([^|]*)\|", text.partition("## Losses")[0], re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", " ".join(rows)))
        trial = Trial(tmp_path / "run")
        without = {kind for kind in named if not trial.tensor_names(collection=kind)}
        assert {"buffers", "embeddings", "log_partition", "scalars", "tensors"} == without


@pytest.mark.skipif(BACKEND != "tensorflow", reason="tapes are of TensorFlow")
class TestTensorFlowPage:
    def test_the_fault_of_the_example_is_found(self, tmp_path):
        """By ``stepwatch run`` in an empty folder."""
        _, script, found = page("tensorflow")

        assert found in run(tmp_path, script)
        assert 60 == len(Trial(tmp_path / "run").steps("TRAIN"))
