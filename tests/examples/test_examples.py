"""The examples find what they say; those of other frameworks run in ``tests/frameworks``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.stem for path in ROOT.glob("examples/[0-9]*.py"))


def test_the_mistake_of_the_pytorch_example_is_found():
    """By the command that stands in it."""
    command = [sys.executable, ROOT / "tests/examples/try_example.py", "01_pytorch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "2 calls of dropout and batch normalization were in eval mode" in done.stdout


def test_every_example_is_tried_and_listed():
    """Each has a test, and a row in the index."""
    tests = [*ROOT.glob("tests/frameworks/*/test_*_example.py"), Path(__file__)]
    tried = {name for path in tests for name in re.findall(r'"(\d\d_\w+)"', path.read_text())}
    index = (ROOT / "docs/examples/index.md").read_text(encoding="utf-8")

    assert set(EXAMPLES) == tried
    assert EXAMPLES == re.findall(r"\]\(../../examples/(\w+)\.py\)", index)
