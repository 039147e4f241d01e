"""Helpers for tests that judge a real training live and from its files."""

from __future__ import annotations

import json
from dataclasses import asdict

from stepwatch import LiveWatch, TorchHook, Trial, Watch, watch
from stepwatch.formats.findings import read_findings, read_statuses


def judge(program, rules, run):
    """Run a program under the hook; return what was found live, and by whom."""
    live = LiveWatch(rules)
    with TorchHook(run=run, listeners=[live], say=lambda line: None, strict=True):
        program()
    return [finding.to_json() for finding in live.findings], live.statuses()


def replay(run, rules, *, follow):
    """Judge a run from its files, by a trial of its own."""
    engine = Watch(rules)
    findings = [finding.to_json() for finding in watch(Trial(run), engine, follow=follow)]
    return findings, engine.statuses()


def assert_live_is_replay(run, rules, findings, statuses):
    """Raise if a judgement from the run's files is not what was found live, and stored."""
    assert (findings, statuses) == replay(run, rules, follow=False)
    assert (findings, statuses) == replay(run, rules, follow=True)
    trial = Trial(run)
    assert findings == read_findings(trial.store)
    assert json.loads(json.dumps([*map(asdict, statuses)])) == read_statuses(trial.store)
