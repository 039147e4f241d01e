"""``stepwatch check RUN``: let rules judge a run that is there."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console
from rich.progress import track

from ..finding import Finding
from ..record import StepRecord
from ..rules.places import Places
from ..rules.step_view import StepView
from ..rules.watch import Watch
from ..trial import Trial
from .console import console, print_chains, print_json, print_verdict
from .judgement import Judgement
from .run import rule_specs

_MOST_CHAINS = 5


@click.command()
@click.argument("run")
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--all", "show_all", is_flag=True, help="Print every finding, not only causes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(run: str, rules: tuple[str, ...], *, show_all: bool, as_json: bool) -> int:
    """Show every step of RUN to the rules, and say what began it and what followed.

    The exit status is 0 where they find nothing, 1 where they find something, 2 for an error.
    """
    watch = Watch(rule_specs(rules))
    trial = Trial(run)
    judgement = _judge(run, trial, watch)
    if as_json:
        about = {"run": trial.url, "state": trial.state, "steps": len(trial.steps())}
        print_json({**judgement.to_dict(), **about})
    else:
        output = console()
        print_chains(output, judgement, trial.workers, None if show_all else _MOST_CHAINS)
        print_verdict(output, judgement.findings, judgement.statuses)
    return judgement.exit_status


def _judge(run: str, trial: Trial, watch: Watch) -> Judgement:
    findings: list[Finding] = []
    places = Places()
    for records in _with_progress(trial):
        for record in records:
            places.add(record.layout)
        findings += watch.look(StepView(records, trial.patterns))
    findings += watch.finish()
    absent = trial.reader.manifest.num_workers - len(trial.workers)
    return Judgement(run, findings, watch.statuses(), places, max(0, absent))


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
