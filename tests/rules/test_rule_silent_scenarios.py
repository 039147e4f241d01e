"""Faults that raise nothing: each is found in a real training, and its healthy twin is not."""

from __future__ import annotations

import pytest

from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.scenarios import first_of_each_rule
from tests.support.rules.silent_programs import SILENT

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(scenario):
    function = getattr(scenario.program, "func", scenario.program).__name__
    given = getattr(scenario.program, "args", ()), getattr(scenario.program, "keywords", {})
    shown = [getattr(value, "__name__", str(value)[:20]) for value in given[0]]
    return f"{scenario.rule}-{function}-{shown}-{[*given[1].items()]}"[:90]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", first_of_each_rule(SILENT), ids=_name)
def test_a_silent_fault_is_found_while_it_trains_and_afterwards(scenario, tmp_path):
    """A fault gives a finding and its twin none, live as from the files."""
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, found if not scenario.must_fire else True) == (
        statuses[0].status,
        [] if not scenario.must_fire else bool(found),
    ), statuses[0].details
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)
