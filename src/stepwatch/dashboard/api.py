"""What the dashboard shows of one run, or of two: pure functions of trials, every answer bounded.

Each answer has at most as many entries, or columns of at most as many numbers, as ``points`` asks
for; what is left out is counted. Requests of a browser are not trusted: an invalid one raises
``ConfigError``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

from ..diff.align import TwoRuns
from ..diff.divergence import Search, beyond_rounding
from ..diff.result import DiffResult, divergence_details, divergence_summary, not_compared
from ..errors import ConfigError, nearest
from ..judge.evaluate import evaluate, is_judged, load_verdict
from ..judge.verdict import Episodes, Verdict, episodes
from ..model.collection import subject
from ..model.finding import Finding, plain
from ..model.steps import Mode
from ..model.subjects import subject_of
from ..numerics.statistics import DERIVED, FIELDS
from ..rules import DEFAULT_RULES
from ..trial import Trial
from ..trial.step_log import in_order
from .columns import COLUMNS, ROWS, Since, columns_of
from .ending import ending_of
from .machine import machine_view, timeline
from .settings import settings_of
from .values import spread_view, value_view
from .views import last_view, level, rules_view, search, tensor_view, view_fields

Query = Mapping[str, str]
_MOST_POINTS = 5000
# Judging these takes a few seconds.
_VERDICT_ROWS = 100_000
_MOST_WORKERS = 64
_MOST_NAMES = 2000


def overview(trial: Trial, query: Query) -> object:
    """Return how a run stands: the verdict first, its findings as chains, and what it holds."""
    points = number(query, "points", 20, most=200)
    judged = verdict(trial)
    causes = episodes(judged.chains)
    chains = [_cause(trial, judged, one, points) for one in causes[:points]]
    ending = ending_of(trial, judged.headline)
    return {
        **_facts(trial),
        "verdict": judged.headline.outcome,
        "headline": judged.headline.title,
        "health": judged.headline.to_json(),
        "ending": ending and asdict(ending),
        "findings": len(judged.findings),
        "chains": chains,
        "more": max(0, len(causes) - points),
        "view": view_fields(trial, judged),
        "notes": notes(trial),
        "statistics": [*DERIVED, *FIELDS],
    }


def _cause(trial: Trial, judged: Verdict, found: Episodes, points: int) -> dict[str, object]:
    """Return what is shown of a cause: what it is about, how often it was, what followed."""
    chain = found.chain
    return {
        "severity": chain.severity,
        "cause": _shown(trial, chain.cause),
        "again": found.again,
        "confirm": judged.confirm(chain),
        "consequences": [
            {**_shown(trial, one.finding), "certain": one.certain}
            for one in chain.consequences[:points]
        ],
        "more": max(0, len(chain.consequences) - points),
        "not_checked": asdict(judged.blind_spots(chain)),
    }


def _shown(trial: Trial, finding: Finding) -> dict[str, object]:
    """Return a finding, with what it is about and the tensor whose figure shows that."""
    about = subject_of(finding.tensor, trial.reader.tensors())
    beside = {"noticed": finding.noticed, "about": about.words, "shown": about.tensor}
    return {**finding.to_dict(), **beside}


def verdict(trial: Trial) -> Verdict:
    """Return what rules said of a run while it trained; of a small one that nobody judged, now."""
    stored = load_verdict(trial)
    num_rows = len(trial.step_numbers()) * len(trial.reader.tensors())
    if not is_judged(trial, stored) and trial.ended and num_rows <= _VERDICT_ROWS:
        found = evaluate(trial, DEFAULT_RULES)
        columns_of(trial).mark(found.chains)
        return found
    return stored


def notes(trial: Trial) -> list[str]:
    """Return what is not in a run, or went wrong with it, a line each.

    What was not measured of the machine stands with what was.
    """
    lines = []
    for worker, end in trial.reader.ends().items():
        prefix = f"{worker}: " if len(trial.workers) > 1 else ""
        lost = end.lost or (
            f"{end.dropped} of {end.steps} steps were dropped" if end.dropped else ""
        )
        error = "" if end.state == "failed" else end.error  # which the headline says
        lines += [prefix + one for one in (end.coverage, lost, error) if one]
    return lines


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
        "settings": settings_of(trial),
        "versions": dict(manifest.versions),
        "started_ns": manifest.started_ns,
        "workers": list(trial.workers)[:_MOST_WORKERS],
        "num_workers": len(trial.workers),
        "steps": {mode.value: len(trial.step_numbers(mode)) for mode in modes},
        "steps_by_mode": trial.steps_by_mode(),
        "sampling": next(
            (one.sampling for one in trial.reader.ends().values() if one.sampling), ""
        ),
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


def scalars(trial: Trial, query: Query) -> object:
    """Return what people follow of a run as lines: losses, metrics, gradient norm, rate, speed."""
    found = columns_of(trial).scalars(
        points=_points(query, 600),
        within=_within(query),
        since=_since(query),
        search=query.get("search", ""),
    )
    return {**found, **_knots(trial, query)}


def series(trial: Trial, query: Query) -> object:
    """Return a statistic of one tensor as lines."""
    name = query.get("name", "")
    columns = columns_of(trial)
    what = _statistic(query) or columns.usual_statistic(name)
    found = columns.tensor(
        name, what, points=_points(query, 800), within=_within(query), since=_since(query)
    )
    return {**found, "statistic": what, **_knots(trial, query)}


def matrix(trial: Trial, query: Query) -> object:
    """Return a statistic of many tensors: a row for each, a column for each step."""
    found = columns_of(trial).matrix(
        query.get("collection") or "gradients",
        _statistic(query) or "l2",
        under=query.get("under", ""),
        worker=query.get("worker", ""),
        points=_points(query, COLUMNS),
        rows=number(query, "rows", ROWS, most=500),
        within=_within(query),
        since=_since(query),
    )
    return {**found, **_knots(trial, query)}


def layers(trial: Trial, query: Query) -> object:
    """Return the last values of every layer, and how many other tensors there are."""
    del query
    return {
        "layers": columns_of(trial).table(),
        "order": _module_order(trial),
        "collections": _counts(trial),
    }


def machine(trial: Trial, query: Query) -> object:
    """Return where the time went and what the machine did; what ran around a step if asked."""
    if query.get("step"):
        return timeline(trial, _whole(query, "step"), points=_points(query, 2000))
    return machine_view(trial, points=_points(query, 300))


def last_words(trial: Trial, query: Query) -> object:
    """Return what the black box holds, what can be replayed, and what was done about findings."""
    return last_view(trial, steps=number(query, "points", 40, most=500))


def spread(trial: Trial, query: Query) -> object:
    """Return how the elements of a tensor are spread: by magnitude where that was saved."""
    return spread_view(trial, query.get("name", ""), points=_points(query, 300))


def value(trial: Trial, query: Query) -> object:
    """Return the full value of a tensor at a step, or its images."""
    return value_view(
        trial,
        query.get("name", ""),
        _whole(query, "step"),
        worker=query.get("worker") or None,
        images=number(query, "images", 0, most=256, least=0),
        points=_points(query, 200),
    )


def _points(query: Query, default: int) -> int:
    return number(query, "points", default, most=_MOST_POINTS)


def _whole(query: Query, name: str) -> int:
    return number(query, name, 0, most=2**62, least=0)


def _within(query: Query) -> tuple[int, int] | None:
    if not query.get("last"):
        return None
    return _whole(query, "first"), _whole(query, "last")


def _since(query: Query) -> Since:
    if not query.get("width"):
        return Since()
    return Since(_whole(query, "since"), _whole(query, "width"))


def _statistic(query: Query) -> str:
    statistic = query.get("statistic", "")
    if statistic and statistic not in (*DERIVED, *FIELDS):
        raise ConfigError(f"no statistic {statistic!r}; there are {', '.join((*DERIVED, *FIELDS))}")
    return statistic


#: In what the page can count along its axes beside optimizer steps.
AXES = ("step", "global", "time", "samples", "epoch")


def _knots(trial: Trial, query: Query) -> dict[str, object]:
    """Return where steps lie on the axis that was asked for, or that of steps if it is unknown."""
    axis = query.get("axis") or "step"
    if axis not in AXES:
        raise ConfigError(f"no axis {axis!r}; there are {', '.join(AXES)}{nearest(axis, AXES)}")
    of_run = columns_of(trial).axis
    known = ["step", *of_run.counts(trial)]
    axis = axis if axis in known else "step"
    knots = of_run.knots(trial, axis)
    return {"axis": axis, "axes": known, "rounds": of_run.counts_rounds, "knots": knots}


def _module_order(trial: Trial) -> list[str]:
    """Return the modules in the order in which they ran first, a name each."""
    outputs = trial.tensor_names(collection="outputs")
    return [subject(name) for name in in_order(outputs, trial.order)][:_MOST_NAMES]


def divergence(here: Trial, there: Trial, query: Query) -> object:
    """Return where two runs part, in words and as the tensors that differ first."""
    points = number(query, "points", 20, most=200)
    search = Search(TwoRuns(here, there))
    result = DiffResult(search, search.first_divergence())
    result.judge("rounding", beyond_rounding(search.of_kind))
    return plain(
        {
            "same": result.same and not result.are_unrelated,
            "unrelated": result.are_unrelated,
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
                    # of other shapes or digests there is no number
                    "kinds": one.found.at if math.isnan(one.found.recorded) else "",
                }
                for one in result.differences(most=points)
                if not result.are_unrelated
            ],
            "tensors": list(result.runs.tensors)[:_MOST_NAMES],
        }
    )
