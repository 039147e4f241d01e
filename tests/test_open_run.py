"""A large run opens without being read: what it takes of memory; bench/ has the times."""

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
    @pytest.mark.parametrize(
        ("steps", "tensors"), [(10_000, 20), pytest.param(100_000, 20, marks=pytest.mark.slow)]
    )
    def test_it_takes_little_memory(self, tmp_path, steps, tensors):
        """Generous limits, for any machine."""
        assert cost_of(tmp_path, steps, tensors)["peak_mb"] < 300
