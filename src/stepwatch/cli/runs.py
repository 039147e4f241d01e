"""``stepwatch runs``: which runs there are and how they went."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click

from ..config import runs_folder
from ..errors import RunNotFound, StepwatchError
from ..formats.findings import read_findings
from ..formats.native.layout import OBSERVATIONS, TENSORS
from ..formats.notes import END, FINDINGS, RUN_KEY
from ..formats.smdebug.layout import COLLECTIONS, END_KEY, EVENTS, INDEX
from ..trial import Trial
from .console import console, print_json, table

_COLLECTIONS = COLLECTIONS.strip("/")
_INSIDE = [
    prefix.strip("/")
    for prefix in (OBSERVATIONS, TENSORS, FINDINGS, END, COLLECTIONS, EVENTS, INDEX)
]

HEADINGS = ("run", "state", "steps", "last loss", "findings", "started")


@click.command()
@click.argument("folder", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(folder: str | None, *, as_json: bool) -> None:
    """List the runs in FOLDER, by default ./runs or $STEPWATCH_RUNS."""
    place = Path(folder) if folder else runs_folder()
    if not place.is_dir():
        raise RunNotFound(f"no folder {place}; runs are made by: stepwatch run train.py")
    rows = [_row(path, place) for path in sorted(_runs_in(place))]
    if as_json:
        print_json([dict(zip(HEADINGS, row, strict=True)) for row in rows])
    elif rows:
        console().print(table(HEADINGS, rows))
    else:
        print(f"no runs in {place}")


def _runs_in(place: Path) -> Iterator[Path]:
    """Yield the folders that hold a run, in either format."""
    for folder, folders, files in os.walk(place):
        inside = [name for name in _INSIDE if name in folders]
        if RUN_KEY in files or END_KEY in files or _COLLECTIONS in inside:
            yield Path(folder)
            # The parts of a run, of which there may be very many, hold no runs.
            folders[:] = [name for name in folders if name not in inside]


def _row(path: Path, place: Path) -> tuple[object, ...]:
    name = str(path.relative_to(place)) if path != place else str(path)
    try:
        trial = Trial(path)
        started = _started(trial)
        findings = len(read_findings(trial.store))
        return name, trial.state, len(trial.steps()), last_loss(trial), findings, started
    except StepwatchError as error:
        return name, f"unreadable: {error}", "", "", "", ""


def _started(trial: Trial) -> str:
    started_ns = trial.reader.manifest.started_ns
    if not started_ns:  # no manifest was written: as early as its first step
        for step in trial.steps()[:1]:
            table = trial.rows(None, ["time_ns"], step=step)
            started_ns = min(table.column("time_ns").to_pylist(), default=0)
    local = time.localtime(started_ns / 1e9)
    return time.strftime("%Y-%m-%d %H:%M", local) if started_ns else ""


def last_loss(trial: Trial) -> object:
    """Return the last training loss of a run, ``""`` if it has none."""
    for name in trial.tensor_names(collection="losses"):
        series = trial.tensor(name).statistics()
        train = [row for row, mode in enumerate(series.modes) if mode in ("TRAIN", "GLOBAL")]
        if train:
            return float(series["mean"][train[-1]])
    return ""
