"""Every rule that SageMaker documents, on runs that are saved as its documentation says."""

from __future__ import annotations

import pytest

from stepwatch import Trial, Watch, watch
from stepwatch.model.steps import Mode
from stepwatch.rules.compat import compat_rule, compat_status
from tests.support.rules.documented_runs import DOCUMENTED, LOSS, PROFILED, SUMMARIES, losses, save
from tests.support.rules.made_steps import full_step

SECOND = 10**9


def verdict(folder, rule, parameters=None):
    """Return the status of a rule, as SageMaker configures it and calls it."""
    engine = Watch([compat_rule("mine", {"rule_to_invoke": rule, **(parameters or {})})])
    list(watch(Trial(folder), engine))
    return compat_status(engine.statuses()[0])


def other_run(case, tmp_path):
    """Return the parameters of a case, with the run that it is to be compared with."""
    if "other_trial_0" not in case.parameters:
        return case.parameters
    case.healthy(tmp_path / "other")
    return {**case.parameters, "other_trial_0": str(tmp_path / "other")}


@pytest.mark.parametrize("case", [*DOCUMENTED, *PROFILED], ids=lambda case: case.rule)
class TestEveryRule:
    def test_finds_what_it_is_for(self, case, tmp_path):
        case.faulty(tmp_path / "run")
        status, details = verdict(tmp_path / "run", case.rule, other_run(case, tmp_path))
        assert "IssuesFound" == status, details

    def test_finds_nothing_in_a_healthy_run(self, case, tmp_path):
        """And has judged it."""
        case.healthy(tmp_path / "run")
        status, details = verdict(tmp_path / "run", case.rule, other_run(case, tmp_path))
        assert "NoIssuesFound" == status, details


@pytest.mark.parametrize("rule", SUMMARIES)
def test_what_only_summarizes_finds_nothing(rule, tmp_path):
    SUMMARIES[rule](tmp_path / "run")
    assert "NoIssuesFound" == verdict(tmp_path / "run", rule)[0]


@pytest.mark.parametrize("every", [1, 3, 5, 10, 20])
@pytest.mark.parametrize("mode", [None, "TRAIN", "GLOBAL"])
def test_a_loss_is_judged_however_often_it_is_saved(every, mode, tmp_path):
    """``num_steps`` counts steps of the training, not those that are saved."""
    told = {"num_steps": "10", **({"mode": mode} if mode else {})}
    losses([1.0] * 20, every)(tmp_path / "flat")
    losses([0.9**n for n in range(20)], every)(tmp_path / "falling")

    assert "IssuesFound" == verdict(tmp_path / "flat", "LossNotDecreasing", told)[0]
    assert "NoIssuesFound" == verdict(tmp_path / "falling", "LossNotDecreasing", told)[0]


@pytest.mark.parametrize("before", [True, False])
def test_an_evaluation_too_short_to_judge_leaves_the_training_to_be_judged(before, tmp_path):
    """Such as a check of the validation loop before the first step."""
    evaluated = [(0 if before else 100, Mode.EVAL, 0, {LOSS: [5.0]})]
    trained = [(n + 1, Mode.TRAIN, n, {LOSS: [1.0]}) for n in range(0, 60, 5)]
    save(tmp_path / "run", sorted(evaluated + trained, key=lambda step: step[0]))

    status, details = verdict(tmp_path / "run", "LossNotDecreasing", {"num_steps": "10"})
    assert "IssuesFound" == status, details


@pytest.mark.parametrize(("pause_s", "expected"), [(1799, "NoIssuesFound"), (1802, "IssuesFound")])
def test_a_training_is_stalled_after_half_an_hour(pause_s, expected):
    """While it goes on, by a clock of our own."""
    engine = Watch([compat_rule("mine", {"rule_to_invoke": "StalledTrainingRule"})])
    for second in range(10 + pause_s):
        if second < 10:
            engine.evaluate(full_step({"losses": {LOSS: [1.0]}}, second))
        list(engine.tick(second * SECOND))
    engine.finish()

    assert expected == compat_status(engine.statuses()[0])[0]


def test_no_rule_of_the_catalogue_is_left_out():
    """20 about tensors, one of which needs a clock, and 11 about profiles; and reports."""
    assert 19 == len(DOCUMENTED)
    assert 11 + 1 == len(PROFILED) + len(SUMMARIES)
