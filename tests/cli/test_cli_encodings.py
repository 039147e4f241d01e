"""Categories that a script numbers twice, while and after it trains."""

from __future__ import annotations

import pytest

from stepwatch import Trial
from stepwatch.rules import watch
from tests.support.cli.commands import STEPWATCH, TRAINING, call

FRAMES = """
import pandas as pd
train_df = pd.DataFrame({"city": ["Rome", "Oslo", "Bonn", "Oslo"]})
test_df = pd.DataFrame({"city": ["Oslo", "Bonn", "Rome", "Bonn"]})
labels, cities = pd.factorize(train_df["city"])
"""
ANEW = "test_labels, _ = pd.factorize(test_df['city'])\n"
LOOKED_UP = "test_labels = cities.get_indexer(test_df['city'])\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ANEW + "train(3)\n", ["recoded city"]),
        ("train(3)\n" + ANEW, ["recoded city"]),
        ("train(3)\n" + LOOKED_UP, []),
        (LOOKED_UP + "train(3)\n", []),
    ],
    ids=["before training", "after it", "looked up after it", "looked up before it"],
)
def test_they_are_found_whenever_the_test_is_encoded(program, expected, tmp_path):
    (tmp_path / "script.py").write_text(TRAINING + FRAMES + program)
    result = call(STEPWATCH, "run", "--run", "run", "script.py", cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    found = watch(Trial(tmp_path / "run"), ["setup"])
    assert expected == [one.condition for one in found]
    assert ("Categories have other numbers in evaluation" in result.stderr) == bool(expected)
