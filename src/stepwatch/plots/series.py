"""One statistic of one tensor over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..optional import require
from .downsample import Envelope, columns, envelope
from .marks import MARK_AXIS, vertical_lines
from .scale import suits_log
from .theme import COLORWAY, MODE_COLORS, as_text, faded, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def series(
    steps: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    name: str,
    statistic: str,
    modes: Sequence[str] | None = None,
    findings: Iterable[Finding] = (),
    points: int = 2000,
    log: bool | None = None,
) -> Figure:
    """Draw a statistic over the steps, a line for each mode, with findings as vertical lines.

    Up to ``points`` values are drawn one by one. Of more, the line is the mean of neighbouring
    steps and a band reaches from the lowest to the highest of them, so that no spike is lost.
    Values that are nan or infinite break the line and are marked below it.

    Args:
        steps: Shape ``[n]``, integers, ascending.
        values: Shape ``[n]``, real numbers.
        name: The tensor.
        statistic: What the values are, such as ``l2`` or ``value``.
        modes: Shape ``[n]``, the mode of each step; one line if not given.
        findings: Those to be marked.
        points: How many points a line may have, at least 1.
        log: Whether the values are on a logarithmic axis; by default where they ask for it.
            Those that are not positive cannot be drawn there and are counted under the title.

    Returns:
        The figure, in the light scheme; empty axes for no values.

    Raises:
        ValueError: Columns of different lengths, descending steps, or fewer than one point.
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    steps_, values_ = columns(steps, values)
    log = suits_log(values_) if log is None else log
    drawn = np.where(values_ > 0, values_, np.nan) if log else values_
    traces: list[dict[str, Any]] = []
    for number, (mode, rows) in enumerate(_by_mode(modes, len(steps_)).items()):
        color = MODE_COLORS.get(mode, COLORWAY[number % len(COLORWAY)])
        traces += _line(envelope(steps_[rows], drawn[rows], points=points), mode, color)
    traces += _not_finite(steps_[~np.isfinite(values_)], points)
    traces += vertical_lines(findings)
    figure = go.Figure(traces)
    figure.update_layout(
        template=template(),
        height=340,
        hovermode="closest",
        title={
            "text": as_text(shortened(name, 90)),
            "subtitle": {"text": as_text(_subtitle(statistic, values_, points, log=log))},
        },
        xaxis={"title": {"text": "step"}},
        yaxis={"type": "log" if log else "linear"},
        yaxis2=MARK_AXIS,
        showlegend=len(traces) > 1,
    )
    return figure


def _by_mode(modes: Sequence[str] | None, length: int) -> dict[str, npt.NDArray[np.bool_]]:
    """Return which rows belong to each mode, the modes in the order of their first step."""
    if modes is None:
        return {"": np.ones(length, bool)}
    if len(modes) != length:
        raise ValueError(f"modes must be as many as steps, got {len(modes)} and {length}")
    names = np.array([str(mode) for mode in modes], dtype=object)
    return {mode: names == mode for mode in dict.fromkeys(names)}


def _line(column: Envelope, mode: str, color: str) -> list[dict[str, Any]]:
    """Return the traces of one mode: the line, under it the band where values share a bucket."""
    middle = (column.first + column.last) // 2
    bucketed = bool((column.first != column.last).any())
    label = as_text(mode) or "value"
    line = {
        "type": "scatter",
        "x": middle,
        "y": column.mean,
        "name": label,
        "legendgroup": as_text(mode),
        "showlegend": bool(mode),
        "mode": "lines" if len(column) > 1 else "markers",
        "line": {"color": color, "width": 1.8},
        "hovertemplate": f"step %{{x}}<br>{label} <b>%{{y:.5g}}</b><extra></extra>",
    }
    # Few steps, or one between two gaps, are no line; dots show them.
    if 1 < len(column) <= 60:
        line |= {"mode": "lines+markers", "marker": {"size": 4}}
    if not bucketed:
        return [line]
    about = np.column_stack([column.first, column.last, column.low, column.high])
    line["customdata"] = about
    line["hovertemplate"] = (
        "steps %{customdata[0]:d} to %{customdata[1]:d}"
        f"<br>{label} mean <b>%{{y:.5g}}</b>"
        "<br>lowest %{customdata[2]:.5g}, highest %{customdata[3]:.5g}<extra></extra>"
    )
    return [_band(column, middle, mode, color), line]


def _band(column: Envelope, middle: npt.NDArray[np.int64], mode: str, color: str) -> dict[str, Any]:
    """Return the area from lowest to highest, an outline around each stretch without a gap."""
    (drawn,) = np.nonzero(~np.isnan(column.low))
    x: list[float | None] = []
    y: list[float | None] = []
    for stretch in np.split(drawn, np.flatnonzero(np.diff(drawn) > 1) + 1):
        there, back = middle[stretch].tolist(), middle[stretch[::-1]].tolist()
        x += [*there, *back, *there[:1], None]
        high, low = column.high[stretch].tolist(), column.low[stretch[::-1]].tolist()
        y += [*high, *low, *high[:1], None]
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": "lowest to highest",
        "legendgroup": as_text(mode),
        "showlegend": False,
        "hoverinfo": "skip",
        "mode": "lines",
        "line": {"color": faded(color, 0.5), "width": 0.8},
        "fill": "toself",
        "fillcolor": faded(color, 0.18),
    }


def _not_finite(steps: npt.NDArray[np.int64], points: int) -> list[dict[str, Any]]:
    """Return the crosses at the foot of the figure where a value is nan or infinite."""
    if not len(steps):
        return []
    buckets = envelope(steps, np.zeros(len(steps)), points=points)
    return [
        {
            "type": "scatter",
            "x": buckets.first,
            "y": np.zeros(len(buckets)),
            "yaxis": "y2",
            "name": "not finite",
            "mode": "markers",
            "marker": {"symbol": "x", "size": 8, "color": "#d6394c"},
            "hovertemplate": "step %{x}<br>not finite<extra></extra>",
            "cliponaxis": False,
        }
    ]


def _subtitle(statistic: str, values: npt.NDArray[np.float64], points: int, *, log: bool) -> str:
    """Return what the reader must know: the statistic, and what is not drawn as it is."""
    parts = [statistic]
    if len(values) > points:
        parts.append(f"{len(values):,} steps; the band is lowest to highest")
    non_finite = int((~np.isfinite(values)).sum())
    if non_finite:
        parts.append(f"{non_finite:,} not finite")
    hidden = int((values <= 0).sum()) if log else 0
    if hidden:
        parts.append(f"{hidden:,} at or below zero have no place on a logarithmic axis")
    return " · ".join(parts)
