"""Every program in which a rule of SageMaker Debugger must, or must not, find something."""

from __future__ import annotations

import pytest

from tests.support.rules.classic_scenarios import CLASSIC
from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.scenarios import first_of_each_rule

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(scenario):
    program = scenario.program
    settings = getattr(program, "keywords", {}) or getattr(program, "args", "")
    return f"{scenario.rule}-{getattr(program, 'func', program).__name__}{settings or ''}"


@pytest.mark.slow
@pytest.mark.parametrize("scenario", first_of_each_rule(CLASSIC), ids=_name)
def test_a_classic_rule_speaks_up_when_it_must_wherever_it_runs(scenario, tmp_path):
    """Live under the real hook, which saves what the rule needs, and in replay."""
    findings, statuses = judge(scenario.program, scenario.rule, tmp_path)

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, scenario.must_fire) == (statuses[0].status, bool(findings))
    assert_live_is_replay(tmp_path, scenario.rule, findings, statuses)
