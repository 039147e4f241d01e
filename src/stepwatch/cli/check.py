"""``stepwatch check RUNS`` and ``stepwatch watch RUN``: let rules judge runs, done or running."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

import click
from rich.console import Console

from ..actions.policy import PolicyEntry, Warn, check_rules, parse_actions
from ..actions.reactions import Reactions
from ..errors import RunNotFound
from ..formats import format_names
from ..jobs.ray.rule_process import evaluate_on_ray
from ..judge.advice import advise
from ..judge.engine import Watch
from ..judge.engine import watch as watch_trial
from ..judge.evaluate import evaluate, verdict_of, verdict_so_far
from ..judge.parameters import parse_rules, rule_specs
from ..judge.rule import PROFILE_RULES
from ..judge.verdict import SCHEMA_VERSION, Verdict
from ..rules import DEFAULT_RULES
from ..runtime.terminal import print_text
from ..trial import Trial
from .console import (
    TONE_STYLES,
    console,
    print_chains,
    print_finding,
    print_hanging,
    print_headline,
    print_json,
    print_outcomes,
    track_progress,
)
from .fleets import RunVerdict, is_profile, judge_alone, on_each, ranked, summary
from .run_names import RunVerb, expand_runs, run_or_newest, runs_or_newest

_MOST_CHAINS = 5
# Of more runs a line of each is said.
_MOST_IN_FULL = 8
# The verdicts stand beneath each other, where names are no longer.
_MOST_NAME = 60
T = TypeVar("T")


@click.command(cls=RunVerb)
@runs_or_newest
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--all", "show_all", is_flag=True, help="Print every finding, not only causes.")
@click.option("-v", "--verbose", is_flag=True, help="List what was not checked, and why.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "junit", "sarif", "github", "markdown", "advice")),
    default="text",
    show_default=True,
    help="What to print: for people, programs, continuous integration, or a scheduler (advice).",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--ray", "on_ray", is_flag=True, help="Judge on a Ray cluster: of $RAY_ADDRESS, or of here."
)
def check(
    runs: tuple[str, ...],
    rules: tuple[str, ...],
    *,
    form: str,
    show_all: bool,
    verbose: bool,
    as_json: bool,
    on_ray: bool,
) -> int:
    """Judge every step of RUNS by rules, and say what began it.

    What followed from a cause stands with it. A folder or URL stands for all runs beneath it, and
    a pattern such as 'runs/2026-*' for those that it fits; of many each is a line of a table.

    The exit status is 1 where they find something, and where a run failed, was killed or has
    stalled; 2 for an error; else 0.
    """
    specs = rule_specs(rules, DEFAULT_RULES)
    parse_rules(specs)  # errors are reported before anything is read
    is_json = as_json or form == "json"
    found = expand_runs(runs)
    if len(found) > _MOST_IN_FULL and (is_json or form in ("text", "advice")):
        asked = specs if rules else None
        return _check_fleet(found, asked, form, is_json=is_json, show_all=show_all, on_ray=on_ray)
    trials = [Trial(run) for run in found]
    if not rules and all(is_profile(trial) for trial in trials):
        specs = list(PROFILE_RULES)
    judge = _judge_on_ray if on_ray else _judge_here
    verdicts = [
        replace(verdict, run=run) for run, verdict in zip(found, judge(trials, specs), strict=True)
    ]
    status = max(verdict.exit_status for verdict in verdicts)
    if is_json:
        documents = [one.document(of) for of, one in zip(trials, verdicts, strict=True)]
        print_json(_several(documents, status) if len(found) > 1 else documents[0])
    elif form == "text":
        _print_text(trials, verdicts, show_all=show_all, verbose=verbose)
    elif form == "advice":
        print_text("\n".join(advise(verdict.headline).line() for verdict in verdicts))
    else:
        from ..report.exchange import FORMATS, judged  # charts come with it

        print(FORMATS[form](judged(trials, verdicts)), end="")
    return status


def _several(documents: Sequence[Mapping[str, object]], status: int) -> dict[str, object]:
    return {"schema_version": SCHEMA_VERSION, "exit_status": status, "runs": documents}


def _check_fleet(
    runs: Sequence[str],
    specs: Sequence[str] | None,
    form: str,
    *,
    is_json: bool,
    show_all: bool,
    on_ray: bool,
) -> int:
    """Judge many runs, each by itself, and say of each in a line how it stands."""
    calls = [(run, specs, is_json) for run in runs]
    done = on_each(judge_alone, calls, on_ray=on_ray)
    verdicts = list(_with_progress(done, len(runs)))
    status = max(verdict.exit_status for verdict in verdicts)
    if is_json:
        documents = [one.document or {"run": one.run, "error": one.error} for one in verdicts]
        print_json(_several(documents, status))
    elif form == "advice":
        for one in verdicts:
            print_text(f"{one.run}: {one.advice}")
    else:
        _print_fleet(verdicts, show_all=show_all)
    return status


def _print_fleet(verdicts: Sequence[RunVerdict], *, show_all: bool) -> None:
    """Print a table of verdicts, what to look at first on top; healthy runs are only counted."""
    output = console()
    shown = [one for one in ranked(verdicts) if show_all or one.tone != "good"]
    width = min(_MOST_NAME, max((len(one.run) for one in shown), default=0))
    for one in shown:
        print_hanging(output, f"{one.mark} {one.run:{width}}  ", one.text, TONE_STYLES[one.tone])
    output.print(summary(verdicts), style="bold", markup=False)
    if shown:
        print_text("what stands behind one of them: stepwatch check RUN")


def _print_text(
    trials: Sequence[Trial], verdicts: Sequence[Verdict], *, show_all: bool, verbose: bool
) -> None:
    output = console()
    for trial, verdict in zip(trials, verdicts, strict=True):
        if len(trials) > 1:
            output.print(verdict.run, style="bold underline", markup=False)
        print_headline(output, verdict.headline)
        most = None if show_all else _MOST_CHAINS
        print_chains(output, verdict, trial.workers, most, verbose=verbose)
        print_outcomes(output, verdict, verbose=verbose)
        if trial.reader.manifest.run_format not in format_names():
            line = "only scalars were logged here; to know more, train by: stepwatch run train.py"
            output.print(line, style="dim", markup=False)


def _judge_here(trials: Sequence[Trial], specs: Sequence[str]) -> list[Verdict]:
    return [
        evaluate(trial, specs, shown=partial(_with_progress, total=len(trial.steps())))
        for trial in trials
    ]


def _judge_on_ray(trials: Sequence[Trial], specs: Sequence[str]) -> list[Verdict]:
    parts = evaluate_on_ray([trial.url for trial in trials], specs, _with_progress)
    return [verdict_of(trial, found) for trial, found in zip(trials, parts, strict=True)]


def _with_progress(items: Iterable[T], total: int) -> Iterable[T]:
    return track_progress(items, description="checking", total=total)


_POLL_S = 0.2


@click.command(cls=RunVerb)
@run_or_newest
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run.")
@click.option("--on-finding", multiple=True, help="What to do about them, as for: stepwatch run.")
@click.option("--wait", default=0.0, help="Seconds to wait for the run to appear.")
@click.option("-v", "--verbose", is_flag=True, help="List the rules that lacked data, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON, once it ends.")
def watch(
    run: str,
    rules: tuple[str, ...],
    on_finding: tuple[str, ...],
    wait: float,
    *,
    verbose: bool,
    as_json: bool,
) -> int:
    """Follow RUN until it ends and print what the rules find.

    The exit status is that of: stepwatch check.
    """
    engine = Watch(rule_specs(rules, DEFAULT_RULES))
    policy = parse_actions(on_finding)
    check_rules(policy, [status.rule for status in engine.statuses()])
    trial = _open_when_there(run, wait)
    output = console(stderr=as_json)
    reactions = _watch_reactions(policy, trial, output)
    output.print(f"watching {trial.path}, {len(trial.steps())} steps so far", markup=False)
    findings = []
    try:
        for finding in watch_trial(trial, engine):
            findings.append(finding)
            print_finding(output, finding, trial.workers)
            reactions.found(finding)
    finally:
        reactions.finish()
    output.print(f"the run {trial.state}, {len(trial.steps())} steps", markup=False)
    verdict = verdict_so_far(trial, findings, engine.statuses())
    if as_json:
        print_json(verdict.document(trial))
        return verdict.exit_status
    print_headline(output, verdict.headline)
    print_outcomes(output, verdict, verbose=verbose)
    return verdict.exit_status


def _watch_reactions(policy: Sequence[PolicyEntry], trial: Trial, output: Console) -> Reactions:
    """Return what reacts to findings; they are shown by this verb itself."""
    entries = [entry for entry in policy if not isinstance(entry.action, Warn)]
    reactions = Reactions(entries, partial(output.print, style="dim", markup=False))
    if entries:
        reactions.start(trial.store, f"watch-{uuid4().hex[:8]}", {})
    return reactions


def _open_when_there(run: str, wait: float) -> Trial:
    deadline = time.monotonic() + wait
    while True:
        try:
            return Trial(run)
        except RunNotFound:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_S)
