"""``stepwatch check RUNS``: let rules judge runs that are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import track

from ..jobs.ray.checking import check_on_ray
from ..rules.judgement import SCHEMA_VERSION, Judgement
from ..rules.parameters import parse_rules
from ..rules.profile import PROFILE_RULES
from ..rules.shares import Share, join_shares, judge_share
from ..rules.step_view import StepView
from ..trial import Trial
from .console import console, print_chains, print_json, print_verdict
from .run import rule_specs

_MOST_CHAINS = 5
T = TypeVar("T")


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--all", "show_all", is_flag=True, help="Print every finding, not only causes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--ray", "on_ray", is_flag=True, help="Judge on a Ray cluster: of $RAY_ADDRESS, or of here."
)
def check(
    runs: tuple[str, ...],
    rules: tuple[str, ...],
    *,
    show_all: bool,
    as_json: bool,
    on_ray: bool,
) -> int:
    """Show every step of RUNS to the rules, and say what began it and what followed.

    The exit status is 0 where they find nothing, 1 where they find something, 2 for an error.
    """
    specs = rule_specs(rules)
    parse_rules(specs)  # what is wrong with them is said before anything is read
    trials = [Trial(run) for run in runs]
    if not rules and all(_is_profile(trial) for trial in trials):
        specs = list(PROFILE_RULES)
    judge = _judge_on_ray if on_ray else _judge_here
    judgements = [
        _judgement(run, trial, shares)
        for run, trial, shares in zip(runs, trials, judge(trials, specs), strict=True)
    ]
    status = max(judgement.exit_status for judgement in judgements)
    if as_json:
        documents = [_document(*one) for one in zip(trials, judgements, strict=True)]
        several = {"schema_version": SCHEMA_VERSION, "exit_status": status, "runs": documents}
        print_json(several if len(runs) > 1 else documents[0])
        return status
    output = console()
    for trial, judgement in zip(trials, judgements, strict=True):
        if len(runs) > 1:
            output.print(judgement.run, style="bold underline", markup=False)
        print_chains(output, judgement, trial.workers, None if show_all else _MOST_CHAINS)
        print_verdict(output, judgement.findings, judgement.statuses)
    return status


def _is_profile(trial: Trial) -> bool:
    """Return whether a run has no step, and a profile."""
    return not trial.steps() and trial.profile.bounds is not None


def _judge_here(trials: Sequence[Trial], specs: Sequence[str]) -> list[list[Share]]:
    shares = []
    for trial in trials:
        records = _with_progress(trial.records(), len(trial.steps()))
        steps = (StepView(step, trial.patterns) for step in records)
        shares.append([judge_share(steps, specs, profile=trial.profile)])
    return shares


def _judge_on_ray(trials: Sequence[Trial], specs: Sequence[str]) -> list[list[Share]]:
    return check_on_ray([trial.url for trial in trials], specs, _with_progress)


def _judgement(run: str, trial: Trial, shares: Sequence[Share]) -> Judgement:
    findings, statuses, places = join_shares(shares)
    absent = trial.reader.manifest.num_workers - len(trial.workers)
    return Judgement(run, findings, statuses, places, max(0, absent))


def _document(trial: Trial, judgement: Judgement) -> dict[str, object]:
    about = {"run": trial.url, "state": trial.state, "steps": len(trial.steps())}
    return {**judgement.to_dict(), **about}


def _with_progress(items: Iterable[T], total: int) -> Iterable[T]:
    terminal = Console(stderr=True)
    return track(
        items,
        description="checking",
        total=total,
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    )
