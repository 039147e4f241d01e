"""What the dashboard shows of one run, or of two: pure functions of trials, every answer bounded.

Each answer has at most as many entries, or figures of at most as many points, as ``points`` asks
for; what is left out is counted. Requests of a browser are not trusted: an invalid one raises
``ConfigError``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..diff.align import TwoRuns
from ..diff.divergence import Search, beyond_rounding
from ..diff.result import DiffResult, divergence_details, divergence_summary, not_compared
from ..errors import ConfigError, nearest
from ..judge.evaluate import evaluate, is_judged, load_verdict
from ..judge.verdict import Verdict
from ..model.finding import plain
from ..model.steps import Mode
from ..numerics.statistics import DERIVED, FIELDS
from ..plots.line_charts import of_envelopes
from ..rules import DEFAULT_RULES
from ..trial import Trial
from .ending import ending_of
from .runs import OpenRun
from .views import level, rules_view, search, tensor_view

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Query = Mapping[str, str]
# A heat map of a large run shows what can be read in this time, and more at the next request.
_PATIENCE_S = 0.25
_MOST_POINTS = 5000
# Judging these takes a few seconds.
_VERDICT_ROWS = 100_000


def overview(trial: Trial, query: Query) -> object:
    """Return how a run stands: the verdict first, its findings as chains, and what it holds."""
    points = number(query, "points", 20, most=200)
    judged = verdict(trial)
    chains = judged.to_dict()["chains"][:points]  # type: ignore[index]
    for chain in chains:
        chain["more"] = max(0, len(chain["consequences"]) - points)
        chain["consequences"] = chain["consequences"][:points]
    ending = ending_of(trial, judged.headline)
    return {
        **_facts(trial),
        "verdict": judged.headline.outcome,
        "headline": judged.headline.text,
        "health": judged.headline.to_json(),
        "ending": ending and asdict(ending),
        "findings": len(judged.findings),
        "chains": chains,
        "more": max(0, len(judged.chains) - points),
        "notes": notes(trial),
        "statistics": [*DERIVED, *FIELDS],
    }


def verdict(trial: Trial) -> Verdict:
    """Return what rules said of a run while it trained; of a small one that nobody judged, now."""
    stored = load_verdict(trial)
    num_rows = len(trial.step_numbers()) * len(trial.reader.tensors())
    if not is_judged(trial, stored) and trial.ended and num_rows <= _VERDICT_ROWS:
        found = evaluate(trial, DEFAULT_RULES)
        trial.plot.mark(found.findings)
        return found
    return stored


def notes(trial: Trial) -> list[str]:
    """Return what is not in a run, or went wrong with it, a line each."""
    lines = []
    for worker, end in trial.reader.ends().items():
        prefix = f"{worker}: " if len(trial.workers) > 1 else ""
        lost = end.lost or (
            f"{end.dropped} of {end.steps} steps were dropped" if end.dropped else ""
        )
        lines += [prefix + one for one in (end.coverage, lost, end.error) if one]
    return [*lines, *filter(None, [trial.death]), *trial.profile.notes]


def tensors(trial: Trial, query: Query) -> object:
    """Return a level of the tree of tensors, or those in which ``search`` is found."""
    names = list(trial.reader.tensors())
    points = number(query, "points", 200, most=1000)
    if query.get("search"):
        return search(names, query["search"], points=points)
    return level(names, query.get("under", ""), points=points)


def tensor(trial: Trial, query: Query) -> object:
    """Return what there is of a tensor: at which steps, of which workers, and its full values."""
    return tensor_view(trial, query.get("name", ""), points=number(query, "points", 500, most=5000))


def rules(trial: Trial, query: Query) -> object:
    """Return how each rule stands, what it looks for, and what was not checked."""
    del query
    return rules_view(verdict(trial))


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
        "place": trial.url.removeprefix("file://"),  # as people write it
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


def _whole(query: Query, name: str = "step") -> int:
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
        query.get("name", ""), _whole(query), points=_points(query, 200)
    ),
    "images": lambda trial, query: trial.plot.images(
        query.get("name", ""), _whole(query), points=number(query, "points", 64, most=256)
    ),
    "system": lambda trial, query: trial.plot.system(
        step=_whole(query) if query.get("step") else None, points=_points(query, 300)
    ),
    "phases": lambda trial, query: trial.plot.phases(points=_points(query, 500)),
    "timeline": lambda trial, query: trial.plot.timeline(
        _whole(query), points=_points(query, 2000)
    ),
}


_MOST_NAMES = 2000


def compare_runs(here: OpenRun, there: OpenRun, query: Mapping[str, str]) -> object:
    """Return what was asked about two runs: ``what`` is ``divergence`` or ``compared_series``."""
    if query.get("what") == "series":
        return compared_series(here.trial(), there.trial(), query)
    return divergence(here.trial(), there.trial(), query)


def divergence(here: Trial, there: Trial, query: Mapping[str, str]) -> object:
    """Return where two runs part, in words and as the tensors that differ first."""
    points = number(query, "points", 20, most=200)
    search = Search(TwoRuns(here, there))
    result = DiffResult(search, search.first_divergence())
    result.judge("rounding", beyond_rounding(search.of_kind))
    return plain(
        {
            "same": result.same,
            "verdict": divergence_summary(result),
            "details": divergence_details(result),
            "not_compared": not_compared(result),
            "step": result.runs.pair(result.divergence.index).here if result.divergence else None,
            "differences": [
                {
                    "tensor": one.found.name,
                    "worker": one.worker,
                    "here": one.found.recorded,
                    "there": one.found.replayed,
                    "apart": one.found.relative,
                }
                for one in result.differences(most=points)
            ],
            "tensors": list(result.runs.tensors)[:_MOST_NAMES],
        }
    )


def compared_series(here: Trial, there: Trial, query: Mapping[str, str]) -> Any:
    """Return the figure of one tensor, or of the first loss, in both runs."""
    points = number(query, "points", 800, most=5000)
    name = query.get("name") or next(iter(here.tensor_names(collection="losses")), "")
    statistic = query.get("statistic") or here.plot.usual_statistic(name)
    lines = {
        f"{label} {mode}": line
        for label, trial in (("first", here), ("second", there))
        for mode, line in trial.plot.lines(name, statistic, points=points).items()
    }
    return of_envelopes(lines, title=name, about=f"{statistic} · first and second run")
