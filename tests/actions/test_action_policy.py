"""What people write becomes a policy, or is refused in one line."""

from __future__ import annotations

import json
import sys

import pytest

from stepwatch.actions.notifications import Webhook
from stepwatch.actions.policy import build, check_rules, parse_actions
from stepwatch.actions.training import CaptureMore, LowerLr, Restore
from stepwatch.errors import ConfigError
from tests.support.actions.reacting import finding


def names(entries):
    return [entry.name for entry in entries]


class TestSpecs:
    def test_entries_are_separated_as_rules_are(self):
        """By ``;`` or one after the other, in any spelling of their names."""
        entries = parse_actions(["stop; skip-batch:spike=9", "LowerLr:factor=0.1"])

        assert ["warn", "stop", "skip_batch", "lower_lr"] == names(entries)
        assert 0.1 == entries[3].action.factor

    def test_every_finding_is_shown_unless_warn_is_told_when(self):
        """``warn`` is there by itself, before all others."""
        assert ["warn"] == names(parse_actions([]))
        entries = parse_actions("stop; warn:severity=error")
        assert ["stop", "warn"] == names(entries)
        assert not entries[1].wants(finding(severity="warning"))

    def test_parameters_of_all_actions_go_to_the_terms(self):
        """Beside those of the action itself; lists are separated by commas."""
        (_, entry) = parse_actions(
            "restore:every=5,rules=loss_*,non_finite*,at_most=2,cooldown_steps=9,dry_run=yes"
        )

        assert 5 == entry.action.every
        assert ("loss_*", "non_finite*") == entry.terms.rules
        assert (2, 9, True) == (entry.at_most, entry.terms.cooldown_steps, entry.terms.dry_run)

    def test_a_url_may_hold_what_separates(self):
        """Colons, commas and equal signs are part of a value."""
        (_, entry) = parse_actions("webhook:url=http://localhost:80/a?b=c,d&e=f,timeout_s=2")

        assert isinstance(entry.action, Webhook)
        assert "http://localhost:80/a?b=c,d&e=f" == entry.action._url

    def test_what_to_capture_is_a_list(self):
        """Of ``--save`` texts."""
        (_, entry) = parse_actions("capture_more:save=outputs:raw,/fc/:raw,steps=9")

        assert isinstance(entry.action, CaptureMore)
        assert ["outputs", "/fc/"] == [one.name for one in entry.action.collections]
        assert 9 == entry.action.steps

    def test_the_same_action_has_the_same_identity_whatever_its_terms(self):
        """So another process knows what was done already."""
        first, other = build("restore", {"at_most": "1"}), build("restore", {"at_most": "2"})

        assert first.entry_id == other.entry_id
        assert first.entry_id != build("restore", {"every": "7"}).entry_id

    @pytest.mark.parametrize(
        ("text", "clear"),
        [
            ("stopp", "did you mean stop?"),
            ("stop:severity=info", "severity warning or above, not info"),
            ("raise:severity=info", "severity warning or above, not info"),
            ("restore:severity=info", "severity warning or above, not info"),
            ("stop:severity=errors", "did you mean error?"),
            ("stop:at_most=0", "at_most must be at least 1"),
            ("stop:cooldown_steps=-1", "cooldown_steps must be at least 0"),
            ("stop:atmost=1", "did you mean at_most?"),
            ("stop:now", "'now' is not parameter=value"),
            ("skip_batch:rules=loss_*", "leave out rules and severity"),
            ("skip_batch:spike=0.5", "spike must be above 1"),
            ("lower_lr:factor=2", "factor must be above 0 and below 1"),
            ("restore:every=0", "every must be at least 1"),
            ("capture_more:steps=0", "steps must be at least 1"),
            ("profile:steps=11", "steps must be from 1 to 10"),
            ("capture_more:save=everything", "collection 'everything' is not built in"),
            ("webhook", "STEPWATCH_WEBHOOK_URL"),
            ("webhook:url=ftp://host", "must begin with https://"),
            ("webhook:url=https://host,format=teams", "format must be auto or json"),
            ("mail", "mail needs to"),
            ("mail:to=me", "to must be addresses"),
            ("mail:to=me@example.org", "set STEPWATCH_SMTP_HOST"),
            ("command", "command needs run"),
            ("command:run='", "No closing quotation"),
            ("callback:python=nowhere.py:act", "no callback file nowhere.py"),
            ("callback:python=act", "is not path/to/file.py:function"),
            ("nowhere.json", "the policy nowhere.json cannot be read"),
        ],
    )
    def test_what_cannot_be_meant_is_refused_in_one_line(self, text, clear):
        with pytest.raises(ConfigError) as refused:
            parse_actions(text)
        assert clear in str(refused.value)
        assert "\n" not in str(refused.value)


class TestRulesThatLook:
    def test_patterns_that_are_a_rule_which_looks_are_taken(self):
        policy = parse_actions("stop:rules=loss_*,overfit; checkpoint; warn:rules=loss_spike")

        check_rules(policy, ["loss_spike", "overfit"])

    def test_what_would_never_be_done_is_refused(self):
        """The message names what would be right."""
        clear = "stop: no rule that looks is named 'los_spike'; there are loss_spike, overfit; did"
        with pytest.raises(ConfigError, match=clear):
            check_rules(parse_actions("stop:rules=overfit,los_spike"), ["loss_spike", "overfit"])


class TestFiles:
    def test_a_policy_file_says_the_same_as_specs(self, tmp_path):
        """With JSON's own types."""
        path = tmp_path / "policy.json"
        entries = [
            {"action": "restore", "every": 5, "rules": ["loss_*"], "dry_run": True},
            {"action": "lower_lr", "factor": 0.1, "at_most": 1},
        ]
        path.write_text(json.dumps({"actions": entries}))

        assert parse_policy(path) == parse_policy(
            "restore:every=5,rules=loss_*,dry_run=true; lower_lr:factor=0.1,at_most=1"
        )
        assert ["warn", "restore", "lower_lr", "stop"] == names(parse_actions([f"{path}; stop"]))

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML is read from Python 3.11 on")
    def test_it_may_be_toml(self, tmp_path):
        """Which has comments."""
        path = tmp_path / "policy.toml"
        path.write_text('[[actions]]\naction = "restore"  # once\nat_most = 1\nevery = 5\n')

        assert parse_policy(path) == parse_policy("restore:every=5,at_most=1")

    @pytest.mark.parametrize(
        ("content", "clear"),
        [
            ("{", "cannot be read"),
            ("{}", "needs a list 'actions'"),
            ('[{"rule": "stop"}]', "needs the key 'action'"),
            ('["stop"]', "needs the key 'action'"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, tmp_path, content, clear):
        path = tmp_path / "policy.json"
        path.write_text(content)
        with pytest.raises(ConfigError, match=clear):
            parse_actions(str(path))


def parse_policy(text):
    """Return what tells entries apart."""
    entries = parse_actions(str(text))
    kinds = (Restore, LowerLr)
    assert all(isinstance(entry.action, kinds) for entry in entries[1:])
    return [(entry.entry_id, vars(entry.action), entry.terms) for entry in entries]


class TestWants:
    def test_rules_and_severities_choose_findings(self):
        (_, entry) = parse_actions("capture_more:rules=loss_*,severity=warning")

        assert entry.wants(finding(rule="loss_spike", severity="error"))
        assert not entry.wants(finding(rule="overfit", severity="error"))
        assert not entry.wants(finding(rule="loss_spike", severity="info"))

    @pytest.mark.parametrize("name", ["stop", "raise", "restore", "lower_lr"])
    def test_what_is_only_informative_changes_nothing(self, name):
        """Severity info ends and changes no training."""
        (_, entry) = parse_actions(name)

        assert not entry.wants(finding(severity="info"))
        assert entry.wants(finding(severity="warning"))
