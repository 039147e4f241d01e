"""A hook, and a place for its runs.""" ""

from __future__ import annotations

import sys
from itertools import count

import pytest

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


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Let the compiler forget what other tests of this process compiled."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None:
        dynamo.counters.clear()
