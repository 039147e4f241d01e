"""A large run opens without being read: the promise, measured."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCH = runpy.run_path(str(Path(__file__).parents[1] / "bench" / "open_run.py"))


def cost_of(tmp_path, steps, tensors):
    name = BENCH["write_run"](str(tmp_path), steps, tensors)
    cost = BENCH["measure"](str(tmp_path), name)
    assert steps == cost["steps"]
    return cost


class TestOpenRun:
    def test_ten_thousand_steps(self, tmp_path):
        """Generous limits, for any machine."""
        cost = cost_of(tmp_path, 10_000, 20)

        assert cost["together_s"] < 1.5
        assert cost["peak_mb"] < 300

    @pytest.mark.slow
    @pytest.mark.parametrize(("steps", "tensors"), BENCH["SIZES"])
    def test_full_size(self, tmp_path, steps, tensors):
        """Under a second to open and read one tensor of 100,000 steps, or open a million."""
        cost = cost_of(tmp_path, steps, tensors)

        assert cost["open_s"] < 1
        if steps <= 100_000:
            assert cost["together_s"] < 1
            assert cost["peak_mb"] < 300
