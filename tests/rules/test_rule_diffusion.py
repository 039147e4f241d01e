"""Diffusion models that are given too little noise, and others that are meant so."""

from __future__ import annotations

import pytest

from stepwatch.rules import Finding
from tests.support.rules.diffusion_programs import CASES, SAMPLED
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.condition])
def test_noise_of_one_step_is_named(name, tmp_path):
    """By its condition, once, live and in replay."""
    case = CASES[name]
    found, statuses = judge(case.program, case.rule, tmp_path / "run")

    assert [case.condition] == [Finding.from_json(one).condition for one in found]
    assert_live_is_replay(tmp_path / "run", case.rule, found, statuses)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.condition])
def test_noise_that_is_meant_so_is_not_accused(name, tmp_path):
    case = CASES[name]
    found, _ = judge(case.program, case.rule, tmp_path / "run")

    assert [] == found


@pytest.mark.parametrize("name", SAMPLED)
def test_what_is_sampled_is_as_large_as_in_training(name, tmp_path):
    """Or the sampler takes off too much noise, or too little: named once, live and in replay."""
    program, condition = SAMPLED[name]
    found, statuses = judge(program, "input_drift", tmp_path / "run")

    assert [condition] * bool(condition) == [Finding.from_json(one).condition for one in found]
    assert_live_is_replay(tmp_path / "run", "input_drift", found, statuses)
