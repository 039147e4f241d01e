"""What the dashboard tells of a run: pure functions of a trial, every answer bounded.

Each answer has at most so many entries, or figures of at most so many points, as it is asked for by
``points``; of what is left out it says how much that is. What a browser asks is distrusted: it
becomes ``ConfigError`` if it cannot be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import ConfigError, nearest
from ..formats.findings import read_statuses
from ..rules.judged import judged, places
from ..rules.judgement import Judgement
from ..rules.places import Places
from ..rules.verdict import headline
from ..rules.watch import RuleStatus
from ..statistics import DERIVED, FIELDS
from ..steps import Mode
from ..trial import Trial
from .about_rules import about_rules
from .about_tensor import about_tensor
from .tree import level, search

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Query = Mapping[str, str]
# A heat map of a large run is drawn of what can be read in this time, and more at the next look.
_PATIENCE_S = 0.25
_MOST_POINTS = 5000
# Judging these takes a few seconds.
_JUDGED_ROWS = 100_000


def overview(trial: Trial, query: Query) -> object:
    """Return how a run stands: the verdict first, its findings as chains, and what it holds."""
    points = number(query, "points", 20, most=200)
    said = judgement(trial)
    told = said.to_dict()
    chains = told["chains"][:points]  # type: ignore[index]
    for chain in chains:
        chain["more"] = max(0, len(chain["consequences"]) - points)
        chain["consequences"] = chain["consequences"][:points]
    return {
        **_facts(trial),
        "verdict": said.verdict,
        "headline": headline(said.findings, said.statuses),
        "severity": next((chain["severity"] for chain in chains), ""),
        "findings": len(said.findings),
        "chains": chains,
        "more": max(0, len(said.chains) - points),
        "notes": notes(trial),
        "statistics": [*DERIVED, *FIELDS],
    }


def judgement(trial: Trial) -> Judgement:
    """Return what rules said of a run while it trained; of a small one that nobody judged, now."""
    statuses = [RuleStatus(**status) for status in read_statuses(trial.store)]  # type: ignore[arg-type]
    num_rows = len(trial.step_numbers()) * len(trial.reader.tensors())
    if not statuses and trial.ended and num_rows <= _JUDGED_ROWS:
        found = judged(trial)
        trial.plot.mark(found.findings)
        return found
    findings = trial.plot.findings()
    where = places(trial) if findings else Places()
    absent = max(0, trial.reader.manifest.num_workers - len(trial.workers))
    return Judgement(trial.url, findings, statuses, where, absent)


def notes(trial: Trial) -> list[str]:
    """Return what is not in a run, or went wrong with it, a line each."""
    told = []
    for worker, end in trial.reader.ends().items():
        whose = f"{worker}: " if len(trial.workers) > 1 else ""
        lost = end.lost or (
            f"{end.dropped} of {end.steps} steps were dropped" if end.dropped else ""
        )
        told += [whose + one for one in (end.coverage, lost, end.error) if one]
    if trial.state == "died":
        told.append("its process is gone and left no note; what came after its last step is lost")
    return told + trial.profile.notes


def tensors(trial: Trial, query: Query) -> object:
    """Return a level of the tree of tensors, or those in which ``search`` is found."""
    names = list(trial.reader.tensors())
    points = number(query, "points", 200, most=1000)
    if query.get("search"):
        return search(names, query["search"], points=points)
    return level(names, query.get("under", ""), points=points)


def tensor(trial: Trial, query: Query) -> object:
    """Return what there is of a tensor: at which steps, of which workers, and its full values."""
    return about_tensor(
        trial, query.get("name", ""), points=number(query, "points", 500, most=5000)
    )


def rules(trial: Trial, query: Query) -> object:
    """Return how each rule stands, what it looks for, and what was not checked."""
    del query
    return about_rules(judgement(trial))


def figure(trial: Trial, query: Query) -> Figure:
    """Return one of the figures of ``trial.plot``, as asked for by ``figure``."""
    kind = query.get("figure", "")
    if kind not in _FIGURES:
        known = ", ".join(_FIGURES)
        raise ConfigError(f"no figure {kind!r}; there are {known}{nearest(kind, _FIGURES)}")
    statistic = query.get("statistic", "")
    if statistic and statistic not in (*DERIVED, *FIELDS):
        raise ConfigError(f"no statistic {statistic!r}; there are {', '.join((*DERIVED, *FIELDS))}")
    return _FIGURES[kind](trial, query)


def number(query: Query, name: str, default: int, *, most: int, least: int = 1) -> int:
    """Return a number that was asked for; at most so much, as it is an answer's size.

    Raises:
        ConfigError: It is no number, or too low.
    """
    text = query.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{name} is {text!r}; it must be a whole number from {least} on")
    return min(int(text), most)


def _facts(trial: Trial) -> dict[str, object]:
    """Return what a run is, and what it holds."""
    manifest = trial.reader.manifest
    modes = (Mode.GLOBAL, *trial.modes)
    return {
        "state": trial.state,
        "url": trial.url,
        "command": " ".join(manifest.command),
        "versions": dict(manifest.versions),
        "started_ns": manifest.started_ns,
        "workers": len(trial.workers),
        "steps": {mode.value: len(trial.step_numbers(mode)) for mode in modes},
        "collections": _counts(trial),
        "profiled": bool(trial.profile.machines or trial.profile.workers),
    }


def _counts(trial: Trial) -> dict[str, int]:
    """Return how many tensors each collection has that has some."""
    kinds = trial.reader.tensors().items()
    counts = {
        name: sum(collection.holds(tensor, kind) for tensor, kind in kinds)
        for name, collection in trial.collections.items()
    }
    return {name: count for name, count in counts.items() if count}


def _points(query: Query, default: int) -> int:
    return number(query, "points", default, most=_MOST_POINTS)


def _step(query: Query) -> int:
    return _whole(query, "step")


def _whole(query: Query, name: str) -> int:
    return number(query, name, 0, most=2**62, least=0)


def _within(query: Query) -> tuple[int, int] | None:
    if not query.get("last"):
        return None
    return _whole(query, "first"), _whole(query, "last")


def _heatmap(trial: Trial, query: Query) -> Figure:
    return trial.plot.heatmap(
        query.get("collection") or "gradients",
        query.get("statistic") or "l2",
        under=query.get("under", ""),
        mode=query.get("mode") or None,
        points=_points(query, 300),
        rows=number(query, "rows", 150, most=500),
        patience=_PATIENCE_S,
    )


_FIGURES: dict[str, Callable[[Trial, Query], Figure]] = {
    "numbers": lambda trial, query: trial.plot.numbers(
        query.get("collection") or "losses", points=_points(query, 1000), within=_within(query)
    ),
    "heatmap": _heatmap,
    "tensor": lambda trial, query: trial.plot.tensor(
        query.get("name", ""),
        query.get("statistic", ""),
        points=_points(query, 1000),
        within=_within(query),
    ),
    "distribution": lambda trial, query: trial.plot.distribution(
        query.get("name", ""), points=_points(query, 300)
    ),
    "value": lambda trial, query: trial.plot.value(
        query.get("name", ""), _step(query), points=_points(query, 200)
    ),
    "images": lambda trial, query: trial.plot.images(
        query.get("name", ""), _step(query), points=number(query, "points", 64, most=256)
    ),
    "system": lambda trial, query: trial.plot.system(
        step=_step(query) if query.get("step") else None, points=_points(query, 300)
    ),
    "phases": lambda trial, query: trial.plot.phases(points=_points(query, 500)),
    "timeline": lambda trial, query: trial.plot.timeline(_step(query), points=_points(query, 2000)),
}
