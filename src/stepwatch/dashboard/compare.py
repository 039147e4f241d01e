"""Two runs beside each other: where they part first, why that may be, and their series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..finding import plain
from ..plots.series import of_envelopes
from ..trial import Trial
from ..trial.bounds import Rounding
from ..trial.diff_result import DiffResult
from ..trial.diff_words import details, not_compared, verdict
from ..trial.divergence import Search
from ..trial.two_runs import TwoRuns
from .api import number
from .open_runs import OpenRun

_MOST_NAMES = 2000


def answer(here: OpenRun, there: OpenRun, query: Mapping[str, str]) -> object:
    """Return what was asked about two runs: ``what`` is ``parted`` or ``series``."""
    if query.get("what") == "series":
        return series(here.trial(), there.trial(), query)
    return parted(here.trial(), there.trial(), query)


def parted(here: Trial, there: Trial, query: Mapping[str, str]) -> object:
    """Return where two runs part, in words and as the tensors that differ first."""
    points = number(query, "points", 20, most=200)
    search = Search(TwoRuns(here, there))
    result = DiffResult(search, search.parted())
    result.judge("rounding", Rounding(search.of_kind))
    return plain(
        {
            "same": result.same,
            "verdict": verdict(result),
            "details": details(result),
            "not_compared": not_compared(result),
            "step": result.runs.pair(result.parted.index).here if result.parted else None,
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


def series(here: Trial, there: Trial, query: Mapping[str, str]) -> Any:
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
