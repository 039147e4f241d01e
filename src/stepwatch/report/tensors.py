"""Tensors over a run, as charts of bounded size."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..finding import Finding
from ..plots import heatmap
from ..plots.downsample import Envelope
from ..plots.layers import Layers
from ..plots.series import of_envelopes
from ..plots.tensor_lines import Lines
from ..trial import Trial
from ..trial.execution_order import in_order
from .document import Chart

POINTS = 1000
# What is one number at a step, and shown as such.
_NUMBERS = ("losses", "learning_rates", "scalars", "metrics", "optimizer", "updates")
_HEATMAPS = (("gradients", "l2"), ("outputs", "zero_fraction"))
_COLUMNS, _ROWS = 240, 60
# Of a large run all rows would be minutes of reading; what is read by then lies evenly over it.
_PATIENCE_S = 20.0


def tensor_chart(
    trial: Trial, name: str, findings: Sequence[Finding], statistic: str = ""
) -> Chart:
    """Return a tensor over all steps, with the findings about it.

    Args:
        trial: The run.
        name: The tensor.
        findings: Of the run; all of them are marked beside a loss.
        statistic: What to draw; ``""`` for what suits it.
    """
    collection = trial.tensor(name).collection
    what = statistic or ("mean" if collection in _NUMBERS else "rms")
    columns = Lines(trial, name, what, POINTS).read()
    marks = [one for one in findings if one.tensor == name or collection == "losses"]
    said = {"lines": columns, "title": name, "about": "value" if what == "mean" else what}
    return Chart(of_envelopes, {**said, "findings": marks}, {**said, "lines": numbers(columns)})


def numbers(columns: Mapping[str, Envelope]) -> dict[str, dict[str, object]]:
    """Return what machines are told of columns: the steps or times, and the values."""
    return {
        name: {
            "first": column.first,
            "last": column.last,
            "low": column.low,
            "mean": column.mean,
            "high": column.high,
            "non_finite": column.non_finite,
        }
        for name, column in columns.items()
    }


def heatmap_charts(trial: Trial, findings: Sequence[Finding]) -> Iterator[Chart]:
    """Yield where in the model, and since when: a chart for each collection."""
    for collection, statistic in _HEATMAPS:
        names = in_order(trial.tensor_names(collection=collection), trial.order)
        if not names:
            continue
        layers = Layers(trial, names, statistic, trial.modes[0], points=_COLUMNS, rows=_ROWS)
        share = layers.read(time.monotonic() + _PATIENCE_S)
        what = collection if share == 1 else f"{collection}, of {share:.0%} of the steps"
        steps, cells = layers.cells()
        said = {"steps": steps, "names": layers.rows, "values": cells, "statistic": statistic}
        about = {"what": what, "log": statistic == "l2"}
        marks = [
            replace(one, tensor=layers.rows[layers.row_of[one.tensor]])
            for one in findings
            if one.tensor in layers.row_of
        ]
        yield Chart(heatmap, {**said, **about, "findings": marks}, {**said, **about})
