"""Charts of a report: tensors over a run at a bounded size, and what machines did meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa

from ..formats.profile.tables import rows_by
from ..judge.evidence_view import blank_rows, is_marked, layer_view, of_collection, rows_of
from ..judge.rule import EvidenceView
from ..model.collection import of_one_quantity
from ..model.finding import Finding
from ..plots import heatmap, lines
from ..plots.downsample import Envelope
from ..plots.line_charts import of_envelopes
from ..plots.progressive_read import LayerRows, Lines
from ..plots.step_axis import StepAxis
from ..profile.statistics import natural_key, quantiles
from ..trial import Trial
from ..trial.profile import Profile
from ..trial.step_log import in_order
from .document import Chart, Table

POINTS = 1000
# Collections whose tensors are one number at a step, and are shown as such.
_NUMBERS = ("losses", "learning_rates", "scalars", "metrics", "optimizer", "updates")
_HEATMAPS = (("gradients", "l2"), ("outputs", "zero_fraction"))
_COLUMNS, _ROWS = 240, 60
# All rows of a large run would take minutes to read; what was read by then lies evenly over it.
_PATIENCE_S = 20.0


def tensor_chart(
    trial: Trial, name: str, findings: Sequence[Finding], statistic: str = ""
) -> Chart:
    """Return a tensor over all steps, with the findings about it.

    Args:
        trial: The run.
        name: The tensor.
        findings: Of the run; those about it are marked, and beside a loss those about no number.
        statistic: What to draw; ``""`` for what suits it.
    """
    collection = trial.tensor(name).collection
    what = statistic or ("mean" if collection in _NUMBERS else "rms")
    axis = StepAxis(trial)
    columns = Lines(trial, name, what, POINTS, axis=axis).read()
    kinds = trial.reader.tensors()
    about = (one for one in findings if one.tensor == name or is_marked(one, name, kinds))
    marks = axis.places(about)
    return marked_chart(columns, name, "value" if what == "mean" else what, marks)


def marked_chart(
    columns: Mapping[str, Envelope],
    title: str,
    about: str,
    findings: Sequence[Finding],
    *,
    over: str = "step",
) -> Chart:
    """Return columns as lines on which findings are marked; these do not stand in JSON."""
    options = {"lines": columns, "title": title, "about": about, "over": over}
    data = {**options, "findings": findings}
    return Chart(of_envelopes, data, {**options, "lines": numbers(columns)})


def lines_chart(
    columns: Mapping[str, Envelope], options: Mapping[str, object], **drawn: object
) -> Chart:
    """Return columns as lines; what is only ``drawn`` does not stand in JSON."""
    data = {**options, **drawn, "columns": columns}
    return Chart(lines, data, {**options, "columns": numbers(columns)})


def numbers(columns: Mapping[str, Envelope]) -> dict[str, dict[str, object]]:
    """Return columns for JSON: the steps or times, and the values."""
    return {
        name: {field.name: getattr(column, field.name) for field in fields(column)}
        for name, column in columns.items()
    }


def heatmap_charts(
    trial: Trial, findings: Sequence[Finding], view: EvidenceView
) -> Iterator[Chart]:
    """Yield a heat map of each collection: tensors by steps; the one that shows a fault first.

    That is drawn at the steps in question, and then over all of them, where they are few of these.

    Args:
        trial: The run.
        findings: Of the run.
        view: What shows what was found first.
    """
    kinds = trial.reader.tensors()
    first = layer_view(view, kinds)
    others = [of_collection(*one) for one in _HEATMAPS]
    same = first.collection, first.statistic
    for one in (first, *(one for one in others if (one.collection, one.statistic) != same)):
        names = trial.tensor_names(collection=one.collection) if one.collection else []
        if not names:
            continue
        names = in_order(of_one_quantity(names, one.collection), trial.order)
        axis, drawn = StepAxis(trial), replace(one, tensors=view.tensors)
        part = axis.around(first.first, first.last) if one is first else None
        for within in (part, None) if part else (None,):
            yield _heatmap_chart(trial, names, drawn, findings, axis, within)


def _heatmap_chart(
    trial: Trial,
    names: Sequence[str],
    view: EvidenceView,
    findings: Sequence[Finding],
    axis: StepAxis,
    part: tuple[int, int] | None,
) -> Chart:
    """Return a heat map of a part of the optimizer steps, or of all."""
    what = view.statistic, trial.modes[0]
    within = None if part is None else axis.window(*part)
    layers = LayerRows(trial, names, *what, points=_COLUMNS, rows=_ROWS, axis=axis, within=within)
    share = layers.read(time.monotonic() + _PATIENCE_S)
    steps, cells = layers.cells()
    present, absent = rows_of(names, view.tensors)
    blank = blank_rows(view.collection, absent, trial.reader.tensors())
    options = {
        "steps": steps,
        "names": [*layers.rows, *blank],
        "values": np.concatenate([cells, np.full((len(blank), len(steps)), np.nan)]),
        "statistic": view.statistic,
        "what": view.collection
        + ("" if part is None else f", steps {part[0]:,} to {part[1]:,}")
        + ("" if share == 1 else f", of {share:.0%} of the steps"),
        "log": view.scale == "log10",
        "band": view.band,
        "last": layers.envelopes.last,
        "measured": layers.num_measured,
        "unfit": np.concatenate([layers.unfit(), np.zeros((len(blank), len(steps)), np.bool_)]),
        "above": [*dict.fromkeys(layers.rows[layers.row_of[one]] for one in present), *blank],
    }
    first, last = options["over"] = part or (0, max(axis.last, 0))
    marks = [
        replace(one, tensor=layers.rows[layers.row_of[one.tensor]])
        for one in axis.places(findings)
        if one.tensor in layers.row_of and first <= one.step <= last
    ]
    return Chart(heatmap, {**options, "findings": marks}, options)


#: Of more machines only the first ones are drawn; tables list all.
MOST_MACHINES = 4
#: What is read of machines as shares of what they have: device, metric, and what it is called.
PERCENTAGES = (
    ("cpu", "busy_percent", "CPU"),
    ("cpu", "iowait_percent", "waiting for I/O"),
    ("memory", "used_percent", "memory"),
    (r"gpu\d+", "busy_percent", "{}"),
    (r"gpu\d+", "memory_percent", "{} memory"),
)
_DEVICES = "cpu|memory|gpu\\d+"
_METRICS = "busy_percent|iowait_percent|used_percent|memory_percent"


def machine_chart(
    profile: Profile,
    start_ns: int | None,
    end_ns: int | None,
    *,
    title: str,
    span: tuple[int, int] | None = None,
    points: int = 300,
) -> Chart | None:
    """Return what the machines did in a time; ``None`` if nothing was read.

    Args:
        profile: The profile of the run.
        start_ns: Where the time begins; ``None`` for that of the run.
        end_ns: Where it ends; ``None`` for that of the run.
        title: The title of the chart.
        span: The time to highlight.
        points: How many points a line may have.
    """
    rows = profile.system(start_ns, end_ns, device=_DEVICES, metric=_METRICS, points=points)
    columns = {name: as_envelope(one) for name, one in named_series(rows)}
    if not columns:
        return None
    options = {"title": title, "unit": "%", "over": "time", "span": span}
    return lines_chart(columns, options, limits=(0, 104))


def named_series(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each device and metric of ``PERCENTAGES``, under the name people use.

    Of more than ``MOST_MACHINES`` machines only the first ones.
    """
    found = dict(rows_by(rows, ("node", "device", "metric")))
    nodes = sorted({node for node, _, _ in found}, key=natural_key)
    for node in nodes[:MOST_MACHINES]:
        devices = sorted({device for of, device, _ in found if of == node}, key=natural_key)
        for pattern, metric, label in PERCENTAGES:
            for device in (one for one in devices if re.fullmatch(pattern, one)):
                if (node, device, metric) in found:
                    name = f"{node} " * (len(nodes) > 1) + label.format(device.upper())
                    yield name, rows.take(pa.array(found[node, device, metric]))


def as_envelope(rows: pa.Table) -> Envelope:
    """Return the rows of one device and metric as a column to draw."""
    times = rows.column("time_ns").to_numpy()
    low, high, mean = (rows.column(name).to_numpy() for name in ("min", "max", "value"))
    return Envelope(times, times, low, high, mean, np.zeros(len(rows), np.int64))


def then_and_usually(profile: Profile, start_ns: int, end_ns: int) -> Table | None:
    """Return what machines did in a time beside what is usual in the run; ``None`` for nothing."""
    rows = profile.system(device=_DEVICES, metric=_METRICS)
    found = []
    for name, one in named_series(rows):
        times, values = one.column("time_ns").to_numpy(), one.column("value").to_numpy()
        then = values[(times >= start_ns) & (times < end_ns)]
        if not len(then):  # shorter than it is between two readings: the one before it counts
            then = values[max(0, int(np.searchsorted(times, start_ns, "right")) - 1) :][:1]
        usual = quantiles(values, (0.05, 0.5, 0.95), one.column("count").to_numpy())
        low, middle, high = (round(one, 1) for one in usual)
        found.append((name, round(float(then.mean()), 1), low, middle, high))
    if not found:
        return None
    columns = ("%", "at this step", "p5 of the run", "median", "p95")
    return Table(columns, tuple(found), "What the machine did")
