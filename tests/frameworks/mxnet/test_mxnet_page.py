"""The page on MXNet holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "mxnet.md"
TEXT = PAGE.read_text(encoding="utf-8")
SCRIPT = re.findall(r"```python\n(# train.py\n.*?)```", TEXT, re.DOTALL)[0]
FOUND = re.findall(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[0]


class TestPage:
    def test_the_fault_of_the_example_is_found(self, tmp_path):
        """By ``stepwatch run`` in an empty folder; and the run can be checked, shown, watched."""
        (tmp_path / "train.py").write_text(SCRIPT)
        ran = stepwatch(tmp_path, "run", "--run", "run", "train.py")

        assert 0 == ran.returncode, ran.stderr
        assert FOUND in ran.stderr
        for verb in ("check", "show", "watch"):
            told = stepwatch(tmp_path, verb, "run")
            said = " ".join((told.stdout + told.stderr).split())
            assert FOUND.lower() in said.lower(), verb

    def test_the_table_names_the_collections_of_the_example(self, tmp_path):
        """All that it names are there, but for what the example has not."""
        (tmp_path / "train.py").write_text(SCRIPT.replace("range(40)", "range(2)"))
        stepwatch(tmp_path, "run", "--run", "run", "train.py")

        rows = re.findall(r"^\|[^|]*\|([^|]*)\|", TEXT, re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", " ".join(rows)))
        trial = Trial(tmp_path / "run")
        without = {kind for kind in named if not trial.tensor_names(collection=kind)}
        absent = {"buffers", "inputs", "metrics", "optimizer_states", "scalars", "tensors"}
        assert absent == without


def stepwatch(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "stepwatch", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
