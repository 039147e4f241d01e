"""``stepwatch watch RUN``: let rules judge a run from another process while it goes on."""

from __future__ import annotations

import time

import click

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
@click.option("--wait", default=0.0, help="Seconds to wait for the run to appear.")
def watch(run: str, rules: tuple[str, ...], wait: float) -> int:
    """Follow RUN until it ends and print what the rules find, as it happens.

    The exit status is that of: stepwatch check.
    """
    engine = Watch(rule_specs(rules))
    trial = _open(run, wait)
    output = console()
    output.print(f"watching {trial.url}, {len(trial.steps())} steps so far", markup=False)
    findings = []
    for finding in watch_trial(trial, engine):
        findings.append(finding)
        print_finding(output, finding)
    output.print(f"the run {trial.state}, {len(trial.steps())} steps", markup=False)
    print_verdict(output, findings, engine.statuses())
    return 1 if findings else 0


def _open(run: str, wait: float) -> Trial:
    deadline = time.monotonic() + wait
    while True:
        try:
            return Trial(run)
        except RunNotFound:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)
