"""The page on JAX holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepwatch.trial import Trial

pytestmark = pytest.mark.framework
PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "jax.md"
TEXT = PAGE.read_text(encoding="utf-8")
SCRIPT = re.findall(r"```python\n(# train.py\n.*?)```", TEXT, re.DOTALL)[0]
FOUND = re.findall(r"```text\n(.*?)\n```", TEXT, re.DOTALL)[0]


class TestPage:
    def test_the_fault_of_the_example_is_found(self, tmp_path):
        """By ``stepwatch run`` in an empty folder; what the page names is there."""
        (tmp_path / "train.py").write_text(SCRIPT)
        command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"]
        ran = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )

        assert 0 == ran.returncode, ran.stderr
        assert FOUND in ran.stderr
        names = set(Trial(tmp_path / "run").tensor_names())
        assert {
            "encoder.kernel",
            "gradient/encoder.kernel",
            "loss/cross_entropy",
            "output/encoder",
        } <= names
