"""A hook, and a place for its runs.""" ""

from __future__ import annotations

import sys
from itertools import count

import pytest

from stepwatch.capture import budget
from tests.support.hooks.torch.trainings import Watched


@pytest.fixture
def watched(tmp_path):
    """Return a function that hooks torch; each call writes a run of its own."""
    numbers = count()
    made = []

    def watch(**options):
        made.append(Watched(tmp_path / f"run{next(numbers)}", **options))
        return made[-1]

    yield watch
    for one in made:
        one.hook.close()


@pytest.fixture(params=[True, False], ids=["held", "at-once"])
def every_fifth(request, watched, monkeypatch):
    """Return a function that hooks torch and observes every fifth step in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watch(**options):
        seen = watched(budget=0.03, hold=request.param, **options)
        seen.hook.recorder.budget.period = 5
        return seen

    watch.holds = request.param
    return watch


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Let the compiler forget what other tests of this process compiled."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None:
        dynamo.counters.clear()
