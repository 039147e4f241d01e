"""The same findings live in the process, in replay, and while following the run's files."""

from __future__ import annotations

import pytest

from stepwatch.rules import DEFAULT_RULES
from tests.support.rules.rule_programs import (
    accumulated,
    noisy_regression,
    small_classifier,
    true_labels,
)
from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.scenarios import HEALTHY, SCENARIOS, Scenario, first_of_each_rule

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(value):
    if isinstance(value, Scenario):
        return f"{value.rule}-{_name(value.program)}"
    return f"{getattr(value, 'func', value).__name__}{getattr(value, 'keywords', '')}"


#: These take seconds each under the real hook; on hand-made records all are judged quickly.
_LONG = (accumulated, noisy_regression, small_classifier, true_labels)


def _scenarios():
    for one in first_of_each_rule(SCENARIOS):
        is_long = isinstance(one, Scenario) and getattr(one.program, "func", one.program) in _LONG
        yield pytest.param(one, marks=pytest.mark.slow) if is_long else one


@pytest.mark.slow
@pytest.mark.parametrize("scenario", list(_scenarios()), ids=_name)
def test_a_rule_speaks_up_when_it_must_wherever_it_runs(scenario, tmp_path):
    """Under the real hook; each finding equal to the last byte, each status, and as stored."""
    findings, statuses = judge(scenario.program, scenario.rule, tmp_path)

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, scenario.must_fire) == (statuses[0].status, bool(findings))
    assert_live_is_replay(tmp_path, scenario.rule, findings, statuses)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [pytest.param(one, marks=[pytest.mark.slow] if one in _LONG else []) for one in HEALTHY],
    ids=_name,
)
def test_the_default_rules_are_silent_on_a_healthy_program_wherever_they_run(program, tmp_path):
    """Under the real hook as on hand-made records."""
    findings, statuses = judge(program, DEFAULT_RULES, tmp_path)

    assert [] == findings
    assert {"NoIssuesFound", "NotEvaluated"} >= {status.status for status in statuses}
    assert_live_is_replay(tmp_path, DEFAULT_RULES, findings, statuses)
