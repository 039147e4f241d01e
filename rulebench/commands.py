"""What can be asked of the benchmark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stepwatch.capture.budget import parse_budget
from stepwatch.judge.parameters import rule_specs
from stepwatch.rules import DEFAULT_RULES

from . import blind, catalogue, harm, page, proofs
from .crew import run_all
from .judging import Bench
from .outcome import Outcome, Outcomes
from .program import Program
from .scores import Verdict
from .trainings.char_lm import text
from .trainings.digits import Digits, digits

Job = tuple[Program, int]
_RUNS = Path("runs/rulebench")
_LIMIT_S = 300.0


class Seeds(click.ParamType[range]):
    """A number of seeds, or the first and the last one."""

    name = "seeds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """Return the seeds.

        Args:
            value: ``"2"`` for 0 and 1, ``"5-6"`` for 5 and 6.
            param: Whose value it is.
            ctx: In which command.
        """
        first, dash, last = str(value).rpartition("-")
        is_known = last.isdecimal() and (first.isdecimal() or not dash)
        seeds = range(int(first or 0), int(last) + bool(dash)) if is_known else range(0)
        if not seeds:
            self.fail(f"{value!r} is no number from 1 and no range such as 5-6", param, ctx)
        return seeds


_jobs = click.option(
    "--jobs", type=click.IntRange(min=1), default=2, show_default=True,
    help="How many trainings at once."
)  # fmt: skip


@click.group(invoke_without_command=True)
@click.option(
    "--only", multiple=True, help="Programs whose name matches, as 'lm_*'; several times."
)
@click.option("--sample", is_flag=True, help="A small fixed set.")
@click.option("--seeds", type=Seeds(), default="1", show_default=True,
              help="How many seeds, from 0; or which, as 5-6.")  # fmt: skip
@click.option(
    "--rules", multiple=True, help="As stepwatch run takes them; the default set if none."
)
@click.option("--runs", type=click.Path(path_type=Path), default=_RUNS, show_default=True,
              help="Folder for runs and outcomes; what is there is not trained again.")  # fmt: skip
@click.option("--budget", default="none", show_default=True,
              help="What observing may cost, as stepwatch run takes it.")  # fmt: skip
@click.option("--write", is_flag=True, help="Write the tables to docs/rulebench.md.")
@_jobs
@click.pass_context
def main(
    context: click.Context,
    only: tuple[str, ...],
    sample: bool,
    seeds: range,
    rules: tuple[str, ...],
    runs: Path,
    budget: str,
    write: bool,
    jobs: int,
) -> None:
    """Train faulty and healthy programs, let the rules judge them, and say how well they do."""
    if context.invoked_subcommand:
        return
    asked = catalogue.SAMPLE if sample else only or ("*",)
    chosen = [
        one for one in catalogue.programs() if any(fnmatchcase(one.name, name) for name in asked)
    ]
    if not chosen:
        raise click.UsageError(f"no program matches {asked}; see: python -m rulebench programs")
    bench = Bench.of(rule_specs(rules, DEFAULT_RULES), runs.resolve(), parse_budget(budget))
    verdicts = judge(bench, [(one, seed) for one in chosen for seed in seeds], jobs)
    told = page.tables(verdicts, catalogue.group_of)
    click.echo(told)
    if write:
        page.write(told)


@main.command()
def programs() -> None:
    """List all programs with their group and cause."""
    for program in catalogue.programs():
        cause = program.cause or "healthy"
        click.echo(f"{program.name:36} {catalogue.group_of(program.name):12} {cause}")


@main.command("blind")
@click.argument("batch", type=click.Choice(sorted(one.name for one in blind.BATCHES.iterdir())))
@click.option("--python", default=sys.executable, help="An interpreter that has the frameworks.")
def run_blind(batch: str, python: str) -> None:
    """Run a batch of the blind part as a user does, and count."""
    runs = []
    for run in blind.run_batch(blind.BATCHES / batch, python):
        runs.append(run)
        found = ", ".join(f"{one.rule} {one.condition}".strip() for one in run.alarms) or "nothing"
        if run.status:
            found += f", ended with status {run.status}"
        kind = "faulty" if run.answer.faulty else "healthy"
        click.echo(f"{run.name:34} {run.answer.framework:16} {kind:8} {found[:100]}")
    for kind, faulty in (("faulty, detected", True), ("healthy, accused", False)):
        chosen = [run for run in runs if run.answer.faulty is faulty]
        click.echo(
            f"{kind}: {sum(bool(run.alarms or run.status) for run in chosen)} of {len(chosen)}"
        )


@main.command("proved")
@click.option("--only", multiple=True, help="Programs whose name matches; all of some groups.")
@click.option("--seeds", type=Seeds(), default="1", show_default=True, help="As without proved.")
@click.option("--runs", type=click.Path(path_type=Path), default=_RUNS, show_default=True,
              help="Folder for runs; what is there is not recorded again.")  # fmt: skip
def proved(only: tuple[str, ...], seeds: range, runs: Path) -> None:
    """Have the causes of faults proved by replay, and count; also of their healthy twins."""
    groups = catalogue.faulty_groups()
    faulty = [program for group in proofs.GROUPS for program in groups[group]]
    twins = {one.twin.name: one.twin for one in faulty if one.twin is not None}
    known = {program.name for program in catalogue.programs()}
    attempts = []
    for program in (*faulty, *(twin for name, twin in twins.items() if name in known)):
        if not any(fnmatchcase(program.name, name) for name in only or ("*",)):
            continue
        for seed in seeds:
            one = proofs.attempt(program, catalogue.group_of(program.name), seed, runs.resolve())
            attempts.append(one)
            what = f"{one.program} {one.seed}"
            click.echo(f"{what:36} {one.outcome:10} {one.rule:20} {one.cause:10} {one.text}")
    click.echo(proofs.table(attempts))


@main.command()
@_jobs
def hurts(jobs: int) -> None:
    """Measure which mutants of transformers do harm, over five seeds."""
    _load_data()
    work = harm.jobs()
    losses: dict[tuple[str, int], float | None] = {}
    with _progress() as progress:
        task = progress.add_task("training", total=len(work))
        for (program, seed), loss, failure in run_all(
            work, harm.final_loss, at_once=jobs, limit_s=_LIMIT_S
        ):
            if failure:
                raise click.ClickException(f"{program.name}: {failure}")
            losses[program.name, seed] = loss  # type: ignore[assignment]
            progress.update(task, advance=1, refresh=True)
    catalogue.HURTS.write_text(harm.to_json(harm.table(losses)))


def judge(bench: Bench, work: Sequence[Job], jobs: int) -> list[Verdict]:
    """Return a verdict for each program and seed, from what is known or from training.

    Broken off, it keeps what it has, and returns that: asked again it goes on from there.
    """
    outcomes = Outcomes(bench.runs / "outcomes.jsonl")
    keys = [(program.name, seed, bench.version(program)) for program, seed in work]
    missing = [job for job, key in zip(work, keys, strict=True) if outcomes.judged(*key) is None]
    # in no order, so that what is there when it is broken off is a fair sample
    Random(0).shuffle(missing)
    try:
        _add_missing(outcomes, bench, missing, jobs)
    except KeyboardInterrupt:
        click.echo("broken off; what was judged is kept, and the same command goes on", err=True)
    judged = [
        (program, outcomes.judged(*key)) for (program, _), key in zip(work, keys, strict=True)
    ]
    return [Verdict.of(program, outcome) for program, outcome in judged if outcome is not None]


def _add_missing(outcomes: Outcomes, bench: Bench, missing: Sequence[Job], jobs: int) -> None:
    if not missing:
        return
    _load_data()

    def work(job: Job) -> object:
        return asdict(bench.outcome(*job))

    with _progress() as progress:
        task = progress.add_task("judging", total=len(missing))
        for (program, seed), fields, failure in run_all(
            missing, work, at_once=jobs, limit_s=_LIMIT_S
        ):
            if failure:
                progress.console.print(f"{program.name}, seed {seed}: {failure}", markup=False)
                outcome = Outcome(program.name, seed, bench.version(program), failure=failure)
            else:
                outcome = Outcome(**fields)  # type: ignore[arg-type]
            outcomes.add(outcome)
            progress.update(task, advance=1, refresh=True)


def _load_data() -> None:
    """Load once what every training needs, before processes are forked: data, and of torch what
    is only imported when something is trained.
    """
    digits()
    text()
    torch.set_num_threads(1)
    Digits(steps=2, eval_every=2).train()


def _progress() -> Progress:
    # no thread of its own: it would be forked, too
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    return Progress(*columns, TimeRemainingColumn(), console=console, auto_refresh=False)
