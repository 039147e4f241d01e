"""``stepwatch runs``: which runs there are and how they went."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ..config import runs_folder
from ..errors import RunNotFound, StepwatchError
from ..formats.native.findings import read_findings
from ..trial import Trial
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
    found = sorted(path.parent for path in place.glob("**/run.json"))
    rows = [_row(path, place) for path in found]
    if as_json:
        print_json([dict(zip(HEADINGS, row, strict=True)) for row in rows])
    elif rows:
        console().print(table(HEADINGS, rows))
    else:
        print(f"no runs in {place}")


def _row(path: Path, place: Path) -> tuple[object, ...]:
    name = str(path.relative_to(place)) if path != place else str(path)
    try:
        trial = Trial(path)
        started = time.strftime(
            "%Y-%m-%d %H:%M", time.localtime(trial.reader.manifest.started_ns / 1e9)
        )
        findings = len(read_findings(trial.store))
        return name, trial.state, len(trial.steps()), last_loss(trial), findings, started
    except StepwatchError as error:
        return name, f"unreadable: {error}", "", "", "", ""


def last_loss(trial: Trial) -> object:
    """Return the last training loss of a run, ``""`` if it has none."""
    for name in trial.tensor_names(collection="losses"):
        series = trial.tensor(name).statistics()
        train = [row for row, mode in enumerate(series.modes) if mode == "TRAIN"]
        if train:
            return float(series["mean"][train[-1]])
    return ""
