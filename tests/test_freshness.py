"""A step is seen soon, wherever a run lies, and to look for it costs the same in a long run."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

FOLDER = Path(__file__).parents[1] / "bench"
with patch.object(sys, "path", [str(FOLDER), *sys.path]):
    BENCH = runpy.run_path(str(FOLDER / "freshness.py"))


class TestLook:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "steps", [1_000, 10_000, pytest.param(100_000, marks=pytest.mark.slow)]
    )
    def test_it_does_not_grow_with_the_run(self, tmp_path, steps):
        """Of a run with one new part: three listings, ``run.json``, and the part's footer."""
        cost = BENCH["look_cost"](str(tmp_path), steps)

        assert (6, True) == (cost.requests, cost.keys < 30)
