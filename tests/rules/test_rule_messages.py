"""Messages of findings read as plain English."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stepwatch import rules
from stepwatch.rules.shared import in_a_row
from stepwatch.rules.values import _share_of
from stepwatch.rules.weights import _of_one

SOURCES = sorted(Path(rules.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_message_counts_one_of_several(source):
    """A number that may be 1 is followed by its noun through ``in_a_row``."""
    texts = [
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.JoinedStr)
    ]

    odd = ("{} steps in a row", "{} looks in a row", "standard deviations more often")
    # by numbers that are above 1 whatever is asked for
    constants = {"classes", "embeddings", "policies"}
    assert source.stem in constants or not [
        text for text in texts if any(one in text for one in odd)
    ]


def test_one_step_is_not_several():
    """Nor is it in a row."""
    assert ("1 look", "2 looks in a row") == (in_a_row(1, "look"), in_a_row(2, "look"))


def test_what_is_said_of_several_parameters_is_said_of_one():
    """What follows a colon is about the training."""
    assert "is frozen, at 10 steps in a row: nothing is trained" == _of_one(
        "are frozen, at 10 steps in a row: nothing is trained"
    )
    assert "got gradients and is what it was" == _of_one("got gradients and are what they were")
    assert "was trained at first and has been frozen" == _of_one(
        "were trained at first and have been frozen"
    )


def test_all_is_no_percentage():
    """A threshold stands beside a share only."""
    assert "all of its 32 elements" == _share_of(100.0, 100.0, 32)
    assert "97.5% of its 200 elements (>= 95%)" == _share_of(97.5, 95.0, 200)
