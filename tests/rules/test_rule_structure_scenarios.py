"""Faults in how a training is put together: each is found, and its twin is not."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.scenarios import first_of_each_rule
from tests.support.rules.structure_programs import STRUCTURE, classifies, contrasts, plain

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", first_of_each_rule(STRUCTURE))
def test_a_fault_of_structure_is_found_while_it_trains_and_afterwards(scenario, tmp_path):
    """A fault gives a finding and its twin none, live as from the files."""
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, found if not scenario.must_fire else True) == (
        statuses[0].status,
        [] if not scenario.must_fire else bool(found),
    ), statuses[0].details
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)


def test_a_loss_that_compares_all_samples_is_not_judged_by_what_depends_on_what(tmp_path):
    """Each sample is to be told from all others."""
    program = partial(classifies, plain, loss=contrasts)
    found, statuses = judge(program, "dependence", tmp_path / "run")

    assert ([], "NotEvaluated") == (found, statuses[0].status)
