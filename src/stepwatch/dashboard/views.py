"""What the dashboard shows of rules, of one tensor, and of the names of all tensors as a tree."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypedDict

import numpy as np
import pyarrow.compute as pc

from ..errors import StepwatchError
from ..formats.blackbox import TRIGGER_FRAME, read_frames
from ..formats.findings import ActionNote, read_actions
from ..judge.evidence_view import LAYERED, evidence_view, layer_view, numbers_of
from ..judge.parameters import GROUP
from ..judge.verdict import INCONCLUSIVE, Verdict, status_fields
from ..model.finding import Finding
from ..model.json_text import parse_json
from ..plots.downsample import bucket_starts
from ..plugins import registry
from ..trial import Trial
from ..trial.recording import replayable_steps
from .columns import columns_of
from .ending import last_steps

# What is worth a look comes first.
_ORDER = ("found", "failed", "passed", "lacked data", "does not apply")


def rules_view(verdict: Verdict) -> dict[str, object]:
    """Return a row for each rule that was asked, and the names of those that were not."""
    titles = {one.rule: one.title for one in reversed(verdict.findings)}
    rows = [
        {**status_fields(status), "title": titles.get(status.rule, ""), **_rule_view(status.rule)}
        for status in verdict.statuses
    ]
    evaluated = {status.rule for status in verdict.statuses}
    # Of what found something that which found the cause comes first.
    place: dict[str, int] = {}
    for one in (finding for chain in verdict.chains for finding in chain.findings):
        place.setdefault(one.rule, len(place))

    def in_order(row: dict[str, object]) -> tuple[int, int, str]:
        rule = str(row["rule"])
        return _ORDER.index(str(row["outcome"])), place.get(rule, len(place)), rule

    return {
        "headline": verdict.headline.title,
        "health": verdict.headline.to_json(),
        "verdict": verdict.headline.outcome,
        "rules": sorted(rows, key=in_order),
        "not_judged": sum(one.status in INCONCLUSIVE for one in verdict.statuses),
        "not_asked": [name for name in registry.names(GROUP) if name not in evaluated],
    }


def _rule_view(rule: str) -> dict[str, object]:
    """Return what a rule looks for and its parameters; nothing of one that is not installed."""
    try:
        kind = registry.load(GROUP, rule)
    except StepwatchError:
        return {"looks_for": "", "needs": [], "parameters": {}}
    parameters = {
        name: str(one.default)
        for name, one in inspect.signature(kind).parameters.items()  # type: ignore[arg-type]
        if one.default is not inspect.Parameter.empty
    }
    return {
        "looks_for": (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " "),
        "needs": list(getattr(kind, "needs", ())),
        "parameters": parameters,
    }


def tensor_view(trial: Trial, name: str, *, points: int) -> dict[str, object]:
    """Return what there is of a tensor, with at most ``points`` of the steps with a full value.

    Raises:
        TensorUnavailable: There is none of this name.
    """
    tensor = trial.tensor(name)
    steps = trial.step_numbers()
    last = int(steps[-1]) if len(steps) else 0
    near = trial.rows(frozenset([name]), ["dtype", "shape"], step=last)
    rows = near if len(near) else trial.rows(frozenset([name]), ["dtype", "shape"])
    shape = parse_json(rows.column("shape")[-1].as_py() or "[]") if len(rows) else []
    raw = np.array(_with_value(trial, name), np.int64)
    sample = raw[bucket_starts(len(raw), points)]
    about = [one for one in columns_of(trial).findings() if one.tensor == name]
    return {
        "name": name,
        "collection": tensor.collection,
        "dtype": rows.column("dtype")[-1].as_py() if len(rows) else "",
        "shape": shape,
        "statistic": columns_of(trial).usual_statistic(name),
        "values_at": sample.tolist(),
        "num_values": len(raw),
        "images": len(shape) >= 3,
        "findings": [one.to_dict() for one in about][:points],
    }


def _with_value(trial: Trial, name: str) -> list[int]:
    """Return the steps at which the full value was saved, ascending."""
    rows = trial.rows(frozenset([name]), ["blob"])
    there = rows.filter(pc.is_valid(rows.column("blob")))
    return np.unique(there.column("step").to_numpy()).tolist()  # type: ignore[no-any-return]


def view_fields(trial: Trial, verdict: Verdict) -> dict[str, object]:
    """Return what the page opens with: a heat map, and the lines that show what was found first."""
    cause = verdict.chains[0].cause if verdict.chains else None
    kinds = trial.reader.tensors()
    chosen = evidence_view(trial, cause)
    layers = layer_view(chosen, kinds)
    lines = "" if chosen.collection in LAYERED else chosen.collection
    part = columns_of(trial).axis.around(layers.first, layers.last)
    figures = () if cause is None else numbers_of(cause, kinds)
    return {**asdict(layers), "lines": lines, "figures": figures, "steps": part and [*part]}


def last_view(trial: Trial, *, steps: int) -> dict[str, object]:
    """Return the last steps that the black box holds, what can be run again, and actions taken."""
    try:
        frames = list(read_frames(trial.store))
    except (StepwatchError, OSError, ValueError):
        frames = []
    found = {one.finding_id: one for one in columns_of(trial).findings()}
    return {
        "last_steps": last_steps(frames, steps),
        "triggers": [dict(frame.meta) for frame in frames if frame.kind == TRIGGER_FRAME],
        "replayable": replayable_steps(frames) if len(trial.workers) == 1 else [],
        "actions": [_action(note, found) for note in read_actions(trial.store)],
        "place": trial.url.removeprefix("file://"),
    }


def _action(note: ActionNote, findings: Mapping[str, Finding]) -> dict[str, object]:
    """Return what was done, with the title and the TRAIN step of the finding that it is about."""
    about = findings.get(note.finding_id)
    if about is None:
        return {**asdict(note), "title": note.rule.replace("_", " "), "train_step": note.step}
    return {**asdict(note), "title": about.title, "train_step": about.train_step}


_LEVEL = re.compile(r"[^/.]*[/.]?")


class TreeEntry(TypedDict):
    """A tensor, or what the names of several begin with.

    ``label`` is what to show, ``path`` the name or its beginning, ``count`` how many tensors it
    stands for, and ``leaf`` whether it is one.
    """

    label: str
    path: str
    count: int
    leaf: bool


class Level(TypedDict):
    """Entries, and how many more there are."""

    entries: list[TreeEntry]
    more: int


def level(names: Sequence[str], under: str, *, points: int) -> Level:
    """Return what follows a beginning, cut at the next ``/`` or ``.``, in the order of names.

    Args:
        names: The names of all tensors.
        under: What the names begin with; ``""`` for the first level.
        points: How many entries there may be.

    Example:
        >>> found = level(["loss", "gradient/a.w", "gradient/a.b"], "", points=9)
        >>> [one["label"] for one in found["entries"]]
        ['loss', 'gradient/']
    """
    held: dict[str, list[str]] = {}
    for name in names:
        if name.startswith(under):
            held.setdefault(under + _LEVEL.match(name, len(under))[0], []).append(name)  # type: ignore[index]
    entries = [_entry(path, inside, under) for path, inside in held.items()]
    return {"entries": entries[:points], "more": max(0, len(entries) - points)}


def search(names: Sequence[str], text: str, *, points: int) -> Level:
    """Return the tensors in whose names every word of a text is found, whatever its case."""
    terms = text.lower().split()
    found = [name for name in names if all(term in name.lower() for term in terms)]
    entries = [_entry(name, [name], "") for name in found[:points]]
    return {"entries": entries, "more": len(found) - len(entries)}


def _entry(path: str, inside: list[str], under: str) -> TreeEntry:
    if len(inside) == 1:
        path = inside[0]
    return {
        "label": path[len(under) :],
        "path": path,
        "count": len(inside),
        "leaf": len(inside) == 1,
    }
