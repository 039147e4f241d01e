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
    @pytest.mark.slow
    def test_one_tensor_takes_much_less_memory_than_all(self, tmp_path):
        """All 20 take 430 MB."""
        assert cost_of(tmp_path, steps=100_000, tensors=20)["reading_mb"] < 250
