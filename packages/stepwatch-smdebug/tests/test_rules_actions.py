"""Actions of rules are read in all their spellings, and never fail a rule."""

from __future__ import annotations

import json
import logging

import pytest

from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules import Rule
from smdebug.rules.action import Actions, MessageAction, StopTrainingAction
from smdebug.trials import create_trial
from smdebug_rulesconfig import SMS, ActionList, Email, StopTraining
from tests.support.compat.debugger_runs import finished

STOP = {"name": "stoptraining", "training_job_prefix": "My-Job"}


class TestReading:
    @pytest.mark.parametrize("text", [None, "", "  ", "[]"])
    def test_nothing(self, text):
        """No action."""
        assert () == Actions(text, "r").actions

    @pytest.mark.parametrize(
        "text",
        [
            json.dumps(STOP),
            json.dumps([STOP]),
            json.dumps(STOP).replace('"', '\\"'),
            json.dumps({**STOP, "name": "StopTraining"}),
        ],
        ids=["one", "list", "escaped", "capitals"],
    )
    def test_stopping_a_job(self, text):
        """The name of the job keeps its capitals."""
        assert (StopTrainingAction("r", "My-Job"),) == Actions(text, "r").actions

    def test_what_the_configuration_of_rules_makes(self):
        """All kinds, in order."""
        actions = ActionList(StopTraining("J"), Email("A.b@x.org"), SMS("+123"))
        expected = (
            StopTrainingAction("r", "J"),
            MessageAction("r", "email", "A.b@x.org"),
            MessageAction("r", "sms", "+123"),
        )

        assert expected == Actions(actions.serialize(), "r").actions

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("{not json", "no JSON"),
            ("3", "there are stoptraining"),
            ('{"name": "explode"}', "there are stoptraining"),
            ('{"name": "email"}', "needs endpoint"),
            ('{"name": "stoptraining"}', "needs training_job_prefix"),
            ("[null]", "there are stoptraining"),
        ],
    )
    def test_what_cannot_be_read(self, text, why, caplog):
        """It is left out, and the log says why."""
        actions = Actions(text, "MyRule").actions

        assert ((), True) == (actions, "MyRule" in caplog.text and why in caplog.text)


class Always(Rule):
    """A rule whose condition is always met."""

    def invoke_at_step(self, step):
        return True


class TestDue:
    def test_it_is_said_that_nothing_is_done(self, tmp_path, caplog):
        """The rule's own outcome is as ever."""
        trial = create_trial(finished(tmp_path, {0: {"w": 1.0}}))
        with caplog.at_level(logging.WARNING), pytest.raises(RuleEvaluationConditionMet):
            Always(trial, json.dumps(STOP)).invoke(0)

        assert "rule Always wants stoptraining for My-Job: not done" in caplog.text
