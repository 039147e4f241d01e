"""The steps around a finding: what its tensor was then, and what the machine did."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ..finding import Finding
from ..plots import lines
from ..plots.downsample import envelope
from ..trial import Series, Trial
from ..trial.profile import Profile
from .document import Block, Chart, Table, Text
from .machine import machine_chart, then_and_usually
from .tensors import numbers

#: How many steps are drawn on either side, and how many are listed.
DRAWN, LISTED = 50, 3
_OF_TENSOR = ("mean", "rms", "min", "max", "non_finite")
_MARGIN_NS = 15_000_000_000


def around(trial: Trial, profile: Profile, finding: Finding) -> Iterator[Block]:
    """Yield what is known of the steps around a finding.

    Args:
        trial: The run.
        profile: Its profile.
        finding: What was found.
    """
    names = trial.tensor_names()
    losses = trial.tensor_names(collection="losses")[:1]
    for name in [finding.tensor] if finding.tensor in names else losses:
        rows = trial.tensor(name).statistics().to_arrow(())
        if len(near := _near(rows, finding.step, DRAWN)):
            yield _listed(name, Series(_near(near, finding.step, LISTED)))
            yield _drawn(name, Series(near), finding)
    yield from _machine(profile, finding)


def _near(rows: pa.Table, step: int, reach: int) -> pa.Table:
    """Return the rows of so many steps before and after one."""
    numbers_ = rows.column("step").to_numpy()
    steps = np.unique(numbers_)
    place = int(np.searchsorted(steps, step))
    near = steps[max(0, place - reach) : place + reach + 1]
    return rows.filter(pa.array(np.isin(numbers_, near)))


def _listed(name: str, series: Series) -> Table:
    """Return the statistics of steps, a row for each worker."""
    columns = _OF_TENSOR if (series["count"] > 1).any() else ("mean",)
    several = len(set(series.workers)) > 1
    rows = tuple(
        (
            *((series.workers[row],) if several else ()),
            int(series.steps[row]),
            series.modes[row],
            *(_number(float(series[what][row])) for what in columns),
        )
        for row in range(len(series))
    )
    head = ("worker", "step", "mode") if several else ("step", "mode")
    return Table((*head, *(("value",) if columns == ("mean",) else columns)), rows, name)


def _number(value: float) -> float | int:
    return int(value) if value == value and abs(value) < 1e15 and value == int(value) else value


def _drawn(name: str, series: Series, finding: Finding) -> Chart:
    """Return a chart of the steps, a line for each worker."""
    what = "rms" if (series["count"] > 1).any() else "mean"
    workers = np.array(series.workers)
    columns = {
        (str(worker) if len(set(series.workers)) > 1 else what): envelope(
            series.steps[workers == worker], series[what][workers == worker], points=2 * DRAWN + 1
        )
        for worker in dict.fromkeys(series.workers)
    }
    shown = "value" if what == "mean" else what
    said = {"title": name, "about": f"{shown} of the steps around step {finding.step}"}
    told = {**said, "columns": numbers(columns)}
    return Chart(lines, {**said, "columns": columns, "findings": [finding]}, told)


def _machine(profile: Profile, finding: Finding) -> Iterator[Block]:
    """Yield what the machine did while the step ran."""
    if not profile.machines:
        yield Text("What the machine did then is not known: nobody read its devices.", "note")
    elif span := _time_of(profile, finding.step):
        chart = machine_chart(
            profile,
            span[0] - _MARGIN_NS,
            span[1] + _MARGIN_NS,
            title="What the machine did then",
            span=span,
        )
        table = then_and_usually(profile, *span)
        yield from (block for block in (table, chart) if block is not None)


def _time_of(profile: Profile, step: int) -> tuple[int, int] | None:
    """Return when a step began and ended, nanoseconds since the Unix epoch."""
    rows = profile.steps()
    found = rows.column("step").to_numpy() == step
    starts = rows.column("start_ns").to_numpy()[found]
    ends = starts + rows.column("longest_ns").to_numpy()[found]
    return (int(starts.min()), int(ends.max())) if len(starts) else None
