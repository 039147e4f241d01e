"""The examples find what they say; those of other frameworks run in ``tests/frameworks``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples import try_example
from tests.support import ROOT, fork_server

EXAMPLES = sorted(path.stem for path in ROOT.glob("examples/[0-9]*.py"))


@pytest.mark.slow
def test_the_mistake_of_the_pytorch_example_is_found(capsys):
    """By the command that stands in it."""
    try_example.main("01_pytorch", fork_server.run)

    printed = capsys.readouterr().out
    assert "2 calls of dropout and batch normalization were in eval mode" in printed


def test_every_example_is_tried_and_listed():
    """Each has a test, and a row in the index."""
    tests = [*ROOT.glob("tests/frameworks/*/test_*_example.py"), Path(__file__)]
    tried = {name for path in tests for name in re.findall(r'"(\d\d_\w+)"', path.read_text())}
    index = (ROOT / "docs/examples/index.md").read_text(encoding="utf-8")

    assert set(EXAMPLES) == tried
    assert EXAMPLES == re.findall(r"\]\(../../examples/(\d\d_\w+)\.py\)", index)
