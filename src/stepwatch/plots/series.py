"""One statistic of one tensor over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..optional import require
from .downsample import Envelope, columns, envelope
from .lines import line
from .marks import MARK_AXIS, vertical_lines
from .scale import suits_log
from .theme import COLORWAY, MODE_COLORS, as_text, shortened, template

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
    steps_, values_ = columns(steps, values)
    log = suits_log(values_) if log is None else log
    drawn = np.where(values_ > 0, values_, np.nan) if log else values_
    lines = {
        mode: envelope(steps_[rows], drawn[rows], points=points)
        for mode, rows in _by_mode(modes, len(steps_)).items()
    }
    return _figure(
        lines,
        title=name,
        about=_subtitle(statistic, values_, points, log=log),
        not_finite=_not_finite(steps_[~np.isfinite(values_)], points),
        findings=findings,
        log=log,
    )


def of_envelopes(
    lines: Mapping[str, Envelope],
    *,
    title: str,
    about: str,
    findings: Iterable[Finding] = (),
) -> Figure:
    """Draw lines that are bounded already, with findings as vertical lines; see ``series``.

    Args:
        lines: By mode, or by whatever tells them apart.
        title: What is drawn.
        about: Small print under the title.
        findings: Those to be marked.

    Returns:
        The figure, in the light scheme; on a logarithmic axis where the values ask for it.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    unfit = [one.first[one.non_finite > 0] for one in lines.values()]
    steps = np.unique(np.concatenate([np.empty(0, np.int64), *unfit]))
    extremes = [extreme for one in lines.values() for extreme in (one.low, one.high)]
    return _figure(
        lines,
        title=title,
        about=about + (f" · not finite at {len(steps):,} places" if len(steps) else ""),
        not_finite=_not_finite(steps, max(1, len(steps))),
        findings=findings,
        log=suits_log(np.concatenate([np.empty(0), *extremes])),
    )


def _figure(
    lines: Mapping[str, Envelope],
    *,
    title: str,
    about: str,
    not_finite: Sequence[dict[str, Any]],
    findings: Iterable[Finding],
    log: bool,
) -> Figure:
    go = require("plotly.graph_objects", extra="plots")
    traces: list[dict[str, Any]] = []
    for number, (mode, column) in enumerate(lines.items()):
        color = MODE_COLORS.get(mode, COLORWAY[number % len(COLORWAY)])
        traces += line(column, mode, color, show_name=bool(mode))
    traces += [*not_finite, *vertical_lines(findings)]
    figure = go.Figure(traces)
    figure.update_layout(
        template=template(),
        height=340,
        hovermode="closest",
        title={
            "text": as_text(shortened(title, 90)),
            "subtitle": {"text": as_text(about)},
        },
        xaxis={"title": {"text": "step"}},
        yaxis={
            "type": "log" if log else "linear",
            "range": None if log else _around_constant(lines),
            # Of more ticks Plotly writes every digit, one over the other.
            "nticks": 4 if log else None,
        },
        yaxis2=MARK_AXIS,
        showlegend=len(traces) > 1,
    )
    return figure


def _around_constant(lines: Mapping[str, Envelope]) -> tuple[float, float] | None:
    """Return the range of an axis for values that are all the same: it shows their size."""
    known = {value for line in lines.values() for value in (*line.low, *line.high)} - {0.0}
    (value, *others) = [one for one in known if one == one] or [float("nan")]
    return None if others or value != value else (min(0.0, 2 * value), max(0.0, 2 * value))


def _by_mode(modes: Sequence[str] | None, length: int) -> dict[str, npt.NDArray[np.bool_]]:
    """Return which rows belong to each mode, the modes in the order of their first step."""
    if modes is None:
        return {"": np.ones(length, bool)}
    if len(modes) != length:
        raise ValueError(f"modes must be as many as steps, got {len(modes)} and {length}")
    names = np.array([str(mode) for mode in modes], dtype=object)
    return {mode: names == mode for mode in dict.fromkeys(names)}


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
