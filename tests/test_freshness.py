"""A step is seen soon, wherever a run lies, and to look for it costs the same in a long run."""

from __future__ import annotations

import itertools
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from stepwatch.store import open_store
from stepwatch.store.memory import MemoryStore

FOLDER = Path(__file__).parents[1] / "bench"
with patch.object(sys, "path", [str(FOLDER), *sys.path]):
    BENCH = runpy.run_path(str(FOLDER / "freshness.py"))

_numbers = itertools.count()
ROUNDS = 3


@pytest.fixture
def far():
    """A store of which each request takes 50 ms."""
    name = f"freshness-{next(_numbers)}"
    return BENCH["LatentStore"](MemoryStore(name), BENCH["LATENCY_S"])


class TestFreshness:
    def test_on_a_local_disk_it_is_two_seconds(self, tmp_path):
        """From the end of a step to the steps of another reader."""
        url = str(tmp_path / "run")

        assert 2 > max(BENCH["delays"](url, open_store(url), ROUNDS))

    def test_in_a_store_far_away_it_is_ten(self, far):
        """For whom each request takes 50 ms, training and reader alike."""
        with patch("stepwatch.capture.recorder.open_store", lambda _: far):
            assert 10 > max(BENCH["delays"](far.url, far, ROUNDS))

    def test_in_a_copy_far_away_it_is_ten(self, far, tmp_path):
        """As the run is written to a local disk."""
        run = str(tmp_path / "run")
        with patch("stepwatch.capture.mirror.open_store", lambda _: far):
            assert 10 > max(BENCH["delays"](run, far, ROUNDS, mirror=far.url))


class TestLook:
    @pytest.mark.parametrize(
        "steps", [1_000, 10_000, pytest.param(100_000, marks=pytest.mark.slow)]
    )
    def test_it_does_not_grow_with_the_run(self, tmp_path, steps):
        """Of a run with one new part: three listings, ``run.json``, and the part's footer."""
        cost = BENCH["look_cost"](str(tmp_path), steps)

        assert (6, True) == (cost.requests, cost.keys < 30)
