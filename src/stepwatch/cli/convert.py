"""``stepwatch convert SRC DST --to FORMAT``: the same run in another format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from ..errors import ConfigError, RunExists
from ..formats import run_format
from ..formats.convert import TARGETS, clear, copy_findings
from ..formats.convert import convert as convert_run
from ..store import Store, open_store
from ..trial import Trial
from .console import print_json


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("destination", metavar="DST")
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    required=True,
    help="The format to write: Stepwatch's own, smdebug's, or TensorBoard's event files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress, and say only what is lost.")
def convert(source: str, destination: str, target: str, *, as_json: bool, quiet: bool) -> None:
    """Write the run SRC to DST in another format; SRC stays as it is.

    What the other format cannot hold is listed.
    """
    trial = Trial(source)
    if target == run_format(trial.store):
        raise ConfigError(f"{source} is in the {target} format already; copy its folder")
    store = open_store(destination)
    if run_format(store) is not None:
        raise RunExists(f"{destination} already holds a run; give another DST, or delete it")
    if store.list():
        raise ConfigError(f"{destination} is not empty; give another DST")
    with _undone_if_broken_off(store), _bar(trial, show=not quiet) as progress:
        losses = convert_run(trial.reader, store, target, lambda: progress.advance(_TASK)).lines()
        if target == "tensorboard":
            if trial.store.list("findings/"):
                losses.append("what rules found: TensorBoard has no place for it")
        else:
            copy_findings(trial.store, store)
    steps = trial.steps(incomplete=True)
    if as_json:
        told = {"source": source, "destination": destination, "format": target}
        print_json({**told, "state": trial.state, "steps": len(steps), "not_held": losses})
        return
    if not quiet:
        names = trial.tensor_names()
        print(f"{destination}: {len(steps)} steps of {len(names)} tensors in the {target} format")
    if not trial.ended:
        print(f"{source} has not ended; what it held just now was converted")
    if losses:
        print(f"the {target} format cannot hold:")
    for line in losses:
        print(f"  {line}")


@contextmanager
def _undone_if_broken_off(store: Store) -> Iterator[None]:
    """Leave nothing behind of a conversion that did not come to its end."""
    try:
        yield
    except BaseException:
        clear(store)
        raise


@contextmanager
def _bar(trial: Trial, *, show: bool) -> Iterator[Progress]:
    """Show how many steps were written, where somebody looks."""
    workers = trial.workers
    total = sum(range_.count for one in workers for range_ in trial.reader.step_ranges(one))
    columns = (TextColumn("converting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    output = Console(stderr=True)
    hidden = not (show and output.is_terminal and sys.stderr.isatty())
    with Progress(*columns, console=output, transient=True, disable=hidden) as progress:
        progress.add_task("steps", total=total)
        yield progress


_TASK = TaskID(0)  # the only one; rich counts from 0
