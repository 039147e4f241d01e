"""``stepwatch watch RUN``: let rules judge a run from another process while it goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from uuid import uuid4

import click
from rich.console import Console

from ..actions.policy import Entry, check_rules, parse_actions
from ..actions.reactions import Reactions
from ..actions.warn import Warn
from ..errors import RunNotFound
from ..rules.watch import Watch
from ..rules.watch import watch as watch_trial
from ..trial import Trial
from .console import console, print_finding, print_verdict
from .run import rule_specs

_POLL_S = 0.2


@click.command()
@click.argument("run")
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--on-finding", multiple=True, help="What to do about them, as for: stepwatch run.")
@click.option("--wait", default=0.0, help="Seconds to wait for the run to appear.")
def watch(run: str, rules: tuple[str, ...], on_finding: tuple[str, ...], wait: float) -> int:
    """Follow RUN until it ends and print what the rules find, as it happens.

    The exit status is that of: stepwatch check.
    """
    engine = Watch(rule_specs(rules))
    policy = parse_actions(on_finding)
    check_rules(policy, [status.rule for status in engine.statuses()])
    trial = _open(run, wait)
    output = console()
    reactions = _reactions(policy, trial, output)
    output.print(f"watching {trial.url}, {len(trial.steps())} steps so far", markup=False)
    findings = []
    try:
        for finding in watch_trial(trial, engine):
            findings.append(finding)
            print_finding(output, finding, trial.workers)
            reactions.found(finding)
    finally:
        reactions.finish()
    output.print(f"the run {trial.state}, {len(trial.steps())} steps", markup=False)
    print_verdict(output, findings, engine.statuses())
    return 1 if findings else 0


def _reactions(policy: Sequence[Entry], trial: Trial, output: Console) -> Reactions:
    """Return what reacts to findings; they are shown by this verb itself."""
    entries = [entry for entry in policy if not isinstance(entry.action, Warn)]
    reactions = Reactions(entries, partial(output.print, style="dim", markup=False))
    if entries:
        reactions.start(trial.store, f"watch-{uuid4().hex[:8]}", {})
    return reactions


def _open(run: str, wait: float) -> Trial:
    deadline = time.monotonic() + wait
    while True:
        try:
            return Trial(run)
        except RunNotFound:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)
