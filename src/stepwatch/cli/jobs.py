"""``stepwatch jobs``: trainings in processes of their own, and how they stand."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

import click

from ..errors import ConfigError
from ..jobs import Job, attach, list_jobs
from ..jobs.job import as_rules
from ..jobs.records import JobRecord
from ..jobs.spec import RuleSpec
from ..judge.parameters import rule_specs
from ..rules import DEFAULT_RULES
from ..runtime.terminal import print_text, visible_log
from .console import console, print_json, table
from .script_command import SCRIPT_EPILOG, SCRIPT_SETTINGS

HEADINGS = ("job", "status", "at", "rules with issues", "since", "for")


@click.group(invoke_without_command=True)
@click.pass_context
def jobs(context: click.Context) -> None:
    """Run trainings as jobs that outlive this terminal.

    Rules judge beside them.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@jobs.command(context_settings=SCRIPT_SETTINGS, options_metavar="[OPTIONS]", epilog=SCRIPT_EPILOG)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", default="", help="Of the job; by default the script's name and the time.")
@click.option("--rules", multiple=True, help="Rules, as for: stepwatch run; none by default.")
@click.option("--on-finding", multiple=True, help="What to do about findings, such as 'stop'.")
@click.option("--save", multiple=True, help="What to save, as for: stepwatch run.")
@click.option("--hook-config", "hook", metavar="FILE", help="What to save, as for: stepwatch run.")
@click.option("--tensorboard", is_flag=True, help="Also write files for TensorBoard.")
@click.option("--processes", default=1, help="How many processes train together.")
@click.option("--input", "inputs", multiple=True, metavar="CHANNEL=FOLDER", help="Data it reads.")
@click.option("-o", "--output", default="", help="Folder or URL where its results go, too.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME=REGEX", help="A number that it prints."
)
@click.option("--max-run", "max_run_s", default=86_400.0, help="Seconds it may train at most.")
@click.option("--retries", default=0, help="How often it is started again if it fails.")
@click.option("--python", default=sys.executable, help="The interpreter that trains.")
@click.option("--ray", default="", metavar="RESOURCES", help="Train on a Ray cluster: CPU=2,GPU=1.")
@click.option(
    "--audit/--no-audit", "audits", default=True, help="Fail if what it saved is not finite."
)
@click.option("--wait", is_flag=True, help="Show its log until it has ended.")
@click.option("--json", "as_json", is_flag=True, help="Print its status as JSON, last.")
def submit(
    script: str,
    arguments: tuple[str, ...],
    name: str,
    rules: tuple[str, ...],
    on_finding: tuple[str, ...],
    save: tuple[str, ...],
    hook: str | None,
    processes: int,
    inputs: tuple[str, ...],
    output: str,
    metrics: tuple[str, ...],
    max_run_s: float,
    retries: int,
    python: str,
    ray: str,
    *,
    tensorboard: bool,
    audits: bool,
    wait: bool,
    as_json: bool,
) -> int:
    """Run SCRIPT with its ARGUMENTS as a job, and go on here at once.

    With --wait the exit status is 0 where it completed, 1 where it did not.
    """
    job = Job(
        script,
        arguments,
        name=name,
        rules=_rules(rules, on_finding),
        save=save,
        hook=hook,
        tensorboard=tensorboard,
        processes=processes,
        inputs=dict(_pair(text, "--input", "training=data/train") for text in inputs),
        output=output,
        metrics=dict(_pair(text, "--metric", r"'loss=loss: (\S+)'") for text in metrics),
        max_run_s=max_run_s,
        retries=retries,
        python=python,
        ray=ray,
        audits=audits,
    ).submit()
    told = console(stderr=as_json)
    told.print(f"submitted {job.name}; its run is {job.run}", markup=False)
    if not wait:
        told.print(f"look at it with: stepwatch jobs status {job.name}", markup=False)
    for line in job.logs(follow=True) if wait else ():
        print(visible_log(line), file=told.file, flush=True)
    if wait or as_json:
        _show(job, as_json=as_json)
    return 0 if not wait or job.status().status == "Completed" else 1


@jobs.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_list(*, as_json: bool) -> None:
    """List all jobs, the newest first."""
    rows = [_row(job.status()) for job in list_jobs()]
    if as_json:
        keys = [heading.replace(" ", "_") for heading in HEADINGS]
        print_json({"jobs": [dict(zip(keys, row, strict=True)) for row in rows]})
    elif rows:
        console().print(table(HEADINGS, rows))
    else:
        print("no jobs; begin one with: stepwatch jobs submit train.py")


@jobs.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(name: str, *, as_json: bool) -> None:
    """Say how the job NAME stands, what it went through, and what its rules say."""
    _show(attach(name), as_json=as_json)


@jobs.command()
@click.argument("name")
@click.option("--follow", "-f", is_flag=True, help="Wait for more until it has ended.")
def logs(name: str, *, follow: bool) -> None:
    """Print what the job NAME wrote to its outputs."""
    for line in attach(name).logs(follow=follow):
        print(visible_log(line), flush=True)


@jobs.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print its status as JSON.")
def stop(name: str, *, as_json: bool) -> None:
    """Ask the job NAME to stop."""
    job = attach(name)
    job.stop()
    _tell(job, f"{name} is asked to stop", as_json=as_json)


@jobs.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print its status as JSON.")
def resume(name: str, *, as_json: bool) -> None:
    """Begin the job NAME again, which failed or was stopped; it finds its checkpoints."""
    job = attach(name)
    job.resume()
    _tell(job, f"{name} begins again", as_json=as_json)


def _rules(texts: Sequence[str], actions: Sequence[str]) -> list[RuleSpec]:
    if actions and not texts:
        raise ConfigError(
            "--on-finding needs rules that find; for example --rules exploding_tensor"
        )
    specs = rule_specs(texts, DEFAULT_RULES) if texts else []
    return [replace(rule, actions=tuple(actions)) for rule in as_rules(specs)]


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not (name and value):
        raise ConfigError(f"{option} {text!r} is no name with a value, such as {example}")
    return name, value


def _row(record: JobRecord) -> tuple[object, ...]:
    issues = sum(rule.status == "IssuesFound" for rule in record.rules)
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created_ns / 1e9))
    until_ns = record.ended_ns or time.time_ns()
    lasted_s = (until_ns - (record.started_ns or until_ns)) / 1e9
    at = record.secondary if not record.has_ended else record.failure
    return record.spec.name, record.status, at, issues, since, f"{lasted_s:.0f} s"


def _tell(job: Job, line: str, *, as_json: bool) -> None:
    if as_json:
        _show(job, as_json=True)
    else:
        print_text(line)


def _show(job: Job, *, as_json: bool) -> None:
    output, record = console(), job.status()
    if as_json:
        print_json({**asdict(record), "metrics": job.metrics()})
        return
    why = record.failure or record.stop_asked or ""
    output.print(f"{record.spec.name}: {record.status}{f' ({why})' if why else ''}", markup=False)
    for one in record.transitions:
        begun = time.strftime("%H:%M:%S", time.localtime(one.started_ns / 1e9))
        output.print(f"  {begun} {one.status:12} {one.message}", style="dim", markup=False)
    for name, value in job.metrics().items():
        output.print(f"  {name} = {value:g}", markup=False)
    if record.rules:
        rows = [(rule.name, rule.status, rule.details) for rule in record.rules]
        output.print(table(("rule", "status", "details"), rows))
