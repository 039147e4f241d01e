"""Which runs lie at a location, and how each of them stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..formats import run_format
from ..formats.findings import read_findings
from ..formats.foreign import find_foreign, glance, names_foreign
from ..formats.manifest import END, FINDINGS, RUN_KEY
from ..formats.native.parts import OBSERVATIONS, TENSORS
from ..formats.smdebug.layout import COLLECTIONS, END_KEY, EVENTS, INDEX
from ..model.steps import Mode
from ..numerics.columns import numbers
from ..store import open_store, scheme_of
from .tensor import Series, fields_of
from .trial import Trial

Ints = npt.NDArray[np.int64]

_COLLECTIONS = COLLECTIONS.strip("/")
_INSIDE = [
    prefix.strip("/")
    for prefix in (OBSERVATIONS, TENSORS, FINDINGS, END, COLLECTIONS, EVENTS, INDEX)
]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run stands, in a few numbers.

    Args:
        state: See ``Trial.state``.
        steps: How many steps are complete.
        rate: Steps a second, of all modes: over the last ones of a run that goes on, else from the
            first step to the last; ``None`` if there are too few.
        last_loss: The last training loss; ``None`` if there is none.
        findings: How many there are.
        started_ns: When it began, nanoseconds since the Unix epoch; 0 if that is not known.
    """

    state: str
    steps: int
    rate: float | None
    last_loss: float | None
    findings: int
    started_ns: int


def find_runs(location: str) -> list[str]:
    """Return the runs at a location, sorted, each by its path from there; ``""`` for itself.

    Args:
        location: A folder or a URL that runs lie beneath, or that is one itself; or a file in
            which others keep several, each ``#NAME``.
    """
    if not scheme_of(location):
        root = Path(location)
        if root.is_file():
            return sorted(f"#{name}" if name else "" for name in find_foreign(root))
        return sorted(_names(root))
    found = set()
    for key in open_store(location).list():
        folder, _, name = key.rpartition("/")
        if name in (RUN_KEY, END_KEY):
            found.add(folder)
        elif f"/{key}".count(f"/{COLLECTIONS}"):
            found.add(f"/{key}".partition(f"/{COLLECTIONS}")[0].lstrip("/"))
    return sorted(found)


def summarize_at(location: str) -> RunSummary:
    """Return how the run at a location stands; of a run of others only the last values are read.

    Of such a run ``steps`` is how far its steps go, not how many of them were logged.
    """
    is_ours = scheme_of(location) or Path(location, RUN_KEY).is_file()
    there = None if is_ours or run_format(open_store(location)) else glance(location)
    if there is None:
        return summarize_run(Trial(location))
    started_ns = int(there.started_s * 1e9)
    return RunSummary(there.state, there.last_step + 1, None, there.last_loss, 0, started_ns)


def summarize_run(trial: Trial) -> RunSummary:
    """Return how a run stands; a few rows are read, however long it is."""
    steps = trial.step_numbers()
    names = trial.tensor_names(collection="losses")
    return RunSummary(
        trial.state,
        len(steps),
        _rate(trial, steps),
        _last_loss(trial, names[0]) if names else None,
        len(read_findings(trial.store)),
        trial.reader.manifest.started_ns or _first_ns(trial),
    )


#: Of so many parts of models gradients are looked at.
_MOST_PARTS = 64


def training_starts(trial: Trial) -> list[int]:
    """Return the TRAIN step with which each training of a run begins, where one follows another.

    So it is where a script trains a new model for each fold, or value of a setting: gradients
    of other parameters come, and those that came before come no more. Models that are trained in
    turn, and a model whose head is replaced, are one training. Empty for a run without gradients.
    """
    parts: dict[str, str] = {}
    for name in trial.tensor_names(collection="gradients"):
        parts.setdefault(name.partition("/")[2].partition(".")[0], name)
    steps = [trial.tensor(name).steps(Mode.TRAIN) for name in list(parts.values())[:_MOST_PARTS]]
    starts: list[int] = []
    end = -1
    for first, last in sorted((one[0], one[-1]) for one in steps if one):
        if first > end:
            starts.append(first)
        end = max(end, last)
    return starts


def _relative(path: Path, root: Path) -> str:
    return "" if path == root else path.relative_to(root).as_posix()


def _names(root: Path) -> Iterator[str]:
    """Yield the paths of the folders that hold a run, and of those that others logged."""
    for folder, folders, files in os.walk(root):
        inside = [name for name in _INSIDE if name in folders]
        if RUN_KEY in files or END_KEY in files or _COLLECTIONS in inside:
            yield _relative(Path(folder), root)
            # The parts of a run, of which there may be very many, hold no runs.
            folders[:] = [name for name in folders if name not in inside]
        else:
            for name, path in names_foreign(folder, folders, files).items():
                yield f"{_relative(path, root)}#{name}" if name else _relative(path, root)


def _rate(trial: Trial, steps: Ints) -> float | None:
    """Return how many steps a second were taken: over the last part while a run goes on.

    Not every step stores every tensor: what counts is how many steps lie between two rows.
    """
    if len(steps) < 2:
        return None
    last, times = _times(trial, int(steps[-1]))
    if len(last) < 2 or trial.state != "running":
        first, began = _times(trial, int(steps[0]))
        last, times = np.r_[first[:1], last], np.r_[began[:1], times]
    seconds = (times[-1] - times[0]) / 1e9 if len(times) else 0.0
    taken = np.searchsorted(steps, last[-1]) - np.searchsorted(steps, last[0]) if len(last) else 0
    return float(taken / seconds) if seconds > 0 and taken else None


def _times(trial: Trial, step: int) -> tuple[Ints, Ints]:
    """Return the steps that lie in the same part as this one, ascending, and when they were."""
    names = trial.tensor_names(collection="losses") or list(trial.reader.tensors())
    table = trial.rows(frozenset(names[:1]), ["time_ns"], step=step, worker=trial.workers[0])
    if not len(table):  # steps of an evaluation without a loss, or of one worker only
        table = trial.rows(None, ["time_ns"], step=step)
    steps, at = np.unique(numbers(table.column("step")), return_index=True)
    return steps, numbers(table.column("time_ns"))[at]


def _first_ns(trial: Trial) -> int:
    """Return when a run began that has no manifest: as early as its first step."""
    steps = trial.step_numbers()
    return int(min(_times(trial, int(steps[0]))[1], default=0)) if len(steps) else 0


def _last_loss(trial: Trial, name: str) -> float | None:
    """Return the last training loss; it is nearly always in the last part."""
    mode = Mode.TRAIN if Mode.TRAIN in trial.modes else Mode.GLOBAL
    wanted = frozenset([name])
    within = trial.steps(mode)[-1:] if len(trial.step_numbers(mode)) else []
    for step in (*within, None):
        table = trial.rows(wanted, fields_of("mean"), mode, step=step)
        if len(table):
            return float(Series(table)["mean"][-1])
    return None
