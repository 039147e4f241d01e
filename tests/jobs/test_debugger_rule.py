"""Rules that were written for smdebug, at work in ours."""

from __future__ import annotations

import pytest

from smdebug.rules import Rule
from stepwatch.errors import ConfigError
from stepwatch.judge.engine import Watch, watch
from stepwatch.judge.rule import Scope, Watched
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from stepwatch_smdebug.debugger_rule import DebuggerRule


class Late(Rule):
    """Its condition is met from a step on."""

    def __init__(
        self, base_trial, after=2, name="loss/mse_loss", *, strict: bool = False, other_trials=None
    ):
        super().__init__(base_trial, other_trials=other_trials)
        self.after, self.name, self.strict = after, name, strict

    def set_required_tensors(self, step):
        self.req_tensors.add(self.name, [step])

    def invoke_at_step(self, step):
        assert self.strict in (True, False)
        assert all(trial.steps() for trial in self.trials)
        return step >= self.after


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return str(make_run(tmp_path_factory.mktemp("runs") / "run", steps=5))


def judged(run, **parameters):
    """Return what the rule finds, and how it stands."""
    rule = DebuggerRule(Late, run, parameters)
    engine = Watch([Watched(rule, Scope(on_fire="stop"), "mine")])
    found = list(watch(Trial(run), engine))
    return [finding.step for finding in found], engine.statuses()[0]


class TestAtWork:
    def test_it_is_shown_every_step_until_its_condition_is_met(self, run):
        """With its own defaults."""
        steps, status = judged(run)
        assert ([2], "IssuesFound") == (steps, status.status)

    @pytest.mark.parametrize(("after", "steps"), [("3", [3]), ("3.5", [4]), ("9", [])])
    def test_texts_become_what_its_defaults_and_hints_say(self, run, after, steps):
        """Who writes 2 as a default may mean any number."""
        found, status = judged(run, after=after, strict="true", other_trial_0=run)
        assert steps == found
        assert ("IssuesFound" if steps else "NoIssuesFound") == status.status

    def test_what_it_never_saw_is_no_pass(self, run):
        """It says what was missing."""
        steps, status = judged(run, name="nosuch")
        assert ([], "NotEvaluated") == (steps, status.status)
        assert "nosuch" in status.details

    @pytest.mark.parametrize(
        ("parameters", "why"),
        [
            ({"afer": "2"}, r"Late has no parameter 'afer' \(accepted: after, name, strict"),
            ({"after": "late"}, "after must be a number, got 'late'"),
            ({"strict": "perhaps"}, "strict must be true or false"),
        ],
    )
    def test_what_it_cannot_be_given(self, run, parameters, why):
        """It is refused before the first step."""
        with pytest.raises(ConfigError, match=why):
            DebuggerRule(Late, run, parameters)
