"""``stepwatch check RUN``: let rules judge a run that is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import click
from rich.console import Console
from rich.progress import track

from ..finding import Finding
from ..record import StepRecord
from ..rules.step_view import StepView
from ..rules.watch import Watch
from ..trial import Trial
from .console import console, print_finding, print_json, print_verdict
from .run import rule_specs


@click.command()
@click.argument("run")
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(run: str, rules: tuple[str, ...], *, as_json: bool) -> int:
    """Show every step of RUN to the rules.

    The exit status is 0 where they find nothing, 1 where they find something, 2 for an error.
    """
    watch = Watch(rule_specs(rules))
    trial = Trial(run)
    findings: list[Finding] = []
    for records in _with_progress(trial):
        findings += watch.look(StepView(records, trial.patterns))
    findings += watch.finish()
    if as_json:
        print_json(
            {
                "run": trial.url,
                "state": trial.state,
                "steps": len(trial.steps()),
                "findings": [finding.to_dict() for finding in findings],
                "rules": [asdict(status) for status in watch.statuses()],
            }
        )
    else:
        output = console()
        for finding in findings:
            print_finding(output, finding)
        print_verdict(output, findings, watch.statuses())
    return 1 if findings else 0


def _with_progress(trial: Trial) -> Iterator[tuple[StepRecord, ...]]:
    terminal = Console(stderr=True)
    steps = len(trial.steps())
    return iter(
        track(
            trial.records(),
            description="checking",
            total=steps,
            console=terminal,
            transient=True,
            disable=not terminal.is_terminal,
        )
    )
