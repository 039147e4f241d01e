"""``stepwatch runs``: which runs there are and how they went."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ..config import runs_folder
from ..errors import RunNotFound, StepwatchError
from ..trial import Trial
from ..trial.found import glance, runs_at
from .console import console, print_json, table

HEADINGS = ("run", "state", "steps", "last loss", "findings", "started")


@click.command()
@click.argument("folder", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(folder: str | None, *, as_json: bool) -> None:
    """List the runs in FOLDER, by default ./runs or $STEPWATCH_RUNS."""
    place = Path(folder) if folder else runs_folder()
    if not place.is_dir():
        raise RunNotFound(f"no folder {place}; runs are made by: stepwatch run train.py")
    rows = [_row(name, place) for name in runs_at(str(place))]
    if as_json:
        print_json([dict(zip(HEADINGS, row, strict=True)) for row in rows])
    elif rows:
        console().print(table(HEADINGS, rows))
    else:
        print(f"no runs in {place}")


def _row(name: str, place: Path) -> tuple[object, ...]:
    shown = name or str(place)
    try:
        one = glance(Trial(place / name))
    except StepwatchError as error:
        return shown, f"unreadable: {error}", "", "", "", ""
    loss = "" if one.last_loss is None else one.last_loss
    return shown, one.state, one.steps, loss, one.findings, _minute(one.started_ns)


def _minute(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1e9)) if time_ns else ""
