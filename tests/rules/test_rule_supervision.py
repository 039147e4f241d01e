"""Targets that do not count, or are other tokens than they should be."""

from __future__ import annotations

import pytest

from stepwatch.rules import Finding
from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.supervision_programs import SCENARIOS

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if one.must_fire])
def test_wrong_targets_are_found(name, tmp_path):
    scenario = SCENARIOS[name]
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert {name.split()[0]} == {Finding.from_json(one).evidence["cause"] for one in found}
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if not one.must_fire])
def test_right_ones_are_not_accused(name, tmp_path):
    scenario = SCENARIOS[name]
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert [] == found
    assert ["NoIssuesFound"] == [one.status for one in statuses]
