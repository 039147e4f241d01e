"""Columns that were reduced to what can be drawn, as lines over steps or over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..optional import require
from .downsample import Envelope
from .marks import MARK_AXIS, vertical_lines
from .theme import as_text, colors, faded, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_NS_PER_MS = 1_000_000


def lines(
    columns: Mapping[str, Envelope],
    *,
    title: str,
    about: str = "",
    unit: str = "",
    over: Literal["step", "time"] = "step",
    span: tuple[int, int] | None = None,
    limits: tuple[float, float] | None = None,
    findings: Iterable[Finding] = (),
) -> Figure:
    """Draw several columns, a line each.

    Where a row of a column stands for several values, the line is their mean and a band reaches
    from the lowest to the highest of them.

    Args:
        columns: What is known of each, by its name.
        title: What is drawn.
        about: Small print under the title.
        unit: Of the values.
        over: What ``first`` and ``last`` count: steps, or nanoseconds since the Unix epoch.
        span: From where to where something is pointed out, in the same count.
        limits: Of the values that are shown; by default those that there are.
        findings: Those to be marked; only over steps.

    Returns:
        The figure, in the light scheme; empty axes for no columns.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    many = colors(len(columns))
    traces = [
        trace
        for (name, column), color in zip(columns.items(), many, strict=True)
        for trace in line(column, name, color, over=over, show_name=True)
    ]
    figure = go.Figure([*traces, *(vertical_lines(findings) if over == "step" else ())])
    figure.update_layout(
        template=template(),
        height=320,
        hovermode="closest",
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        xaxis={"title": {"text": "step"}} if over == "step" else {"type": "date"},
        yaxis={"title": {"text": as_text(unit)}, "range": limits},
        yaxis2=MARK_AXIS,
        showlegend=True,
        shapes=[_marked(span, over)] if span else [],
    )
    return figure


def line(
    column: Envelope, name: str, color: str, *, over: str = "step", show_name: bool
) -> list[dict[str, Any]]:
    """Return the traces of one column: the line, under it the band where values share a row."""
    middle = (column.first + column.last) // 2
    bucketed = bool((column.high > column.low).any() or (column.first != column.last).any())
    label = as_text(name) or "value"
    when = "step %{x}" if over == "step" else "%{x|%H:%M:%S}"
    drawn = {
        "type": "scatter",
        "x": _drawn_at(middle, over),
        "y": column.mean,
        "name": label,
        "legendgroup": as_text(name),
        "showlegend": show_name,
        "mode": "lines" if len(column) > 1 else "markers",
        "line": {"color": color, "width": 1.8},
        "hovertemplate": f"{when}<br>{label} <b>%{{y:.5g}}</b><extra></extra>",
    }
    # Few steps, or one between two gaps, are no line; dots show them.
    if 1 < len(column) <= 60:
        drawn |= {"mode": "lines+markers", "marker": {"size": 4}}
    if not bucketed:
        return [drawn]
    drawn["customdata"] = np.column_stack([column.first, column.last, column.low, column.high])
    between = "steps %{customdata[0]:d} to %{customdata[1]:d}" if over == "step" else when
    drawn["hovertemplate"] = (
        f"{between}<br>{label} mean <b>%{{y:.5g}}</b>"
        "<br>lowest %{customdata[2]:.5g}, highest %{customdata[3]:.5g}<extra></extra>"
    )
    return [_band(column, middle, name, color, over), drawn]


def _band(
    column: Envelope, middle: npt.NDArray[np.int64], name: str, color: str, over: str
) -> dict[str, Any]:
    """Return the area from lowest to highest, an outline around each stretch without a gap."""
    (drawn,) = np.nonzero(~np.isnan(column.low))
    x: list[object] = []
    y: list[float | None] = []
    for stretch in np.split(drawn, np.flatnonzero(np.diff(drawn) > 1) + 1):
        there = _drawn_at(middle[stretch], over)
        x += [*there, *there[::-1], *there[:1], None]
        high, low = column.high[stretch].tolist(), column.low[stretch[::-1]].tolist()
        y += [*high, *low, *high[:1], None]
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": "lowest to highest",
        "legendgroup": as_text(name),
        "showlegend": False,
        "hoverinfo": "skip",
        "mode": "lines",
        "line": {"color": faded(color, 0.5), "width": 0.8},
        "fill": "toself",
        "fillcolor": faded(color, 0.18),
    }


def _drawn_at(places: npt.NDArray[np.int64], over: str) -> list[object]:
    """Return where a line has its points: steps as they are, times as what Plotly calls dates."""
    if over == "step":
        return [*places.tolist()]
    return [*np.datetime_as_string((places // _NS_PER_MS).astype("datetime64[ms]")).tolist()]


def _marked(span: tuple[int, int], over: str) -> dict[str, Any]:
    """Return the area of what is pointed out."""
    first, last = _drawn_at(np.array(span, np.int64), over)
    return {
        "type": "rect",
        "x0": first,
        "x1": last,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "layer": "below",
        "fillcolor": "rgba(214,57,76,0.16)",
        "line": {"color": "rgba(214,57,76,0.7)", "width": 1},
    }
