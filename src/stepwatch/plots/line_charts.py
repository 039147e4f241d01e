"""Values over steps or over time, as lines of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..model.finding import Finding
from .downsample import Envelope, columns, envelope
from .theme import (
    COLORWAY,
    MARK_AXIS,
    MODE_COLORS,
    as_text,
    colors,
    draw,
    faded,
    shortened,
    vertical_lines,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


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
        unit: The unit of the values.
        over: What ``first`` and ``last`` count: steps, or nanoseconds since the Unix epoch.
        span: From where to where something is pointed out, in the same count.
        limits: Of the values that are shown; by default those that there are.
        findings: Those to be marked; only over steps.
    """
    many = colors(len(columns))
    traces = [
        trace
        for (name, column), color in zip(columns.items(), many, strict=True)
        for trace in line(column, name, color, over=over, show_name=True)
    ]
    return draw(
        [*traces, *(vertical_lines(findings) if over == "step" else ())],
        title,
        about,
        height=320,
        hovermode="closest",
        xaxis={"title": {"text": "step"}} if over == "step" else {"type": "date"},
        yaxis={"title": {"text": as_text(unit)}, "range": limits},
        yaxis2=MARK_AXIS,
        showlegend=True,
        shapes=[_marked(span, over)] if span else [],
    )


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


def _drawn_at(positions: npt.NDArray[np.int64], over: str) -> list[object]:
    """Return the x of points: steps as they are, times as dates."""
    return [*positions.tolist()] if over == "step" else [*dates(positions)]


def dates(times_ns: npt.NDArray[np.int64]) -> list[str]:
    """Return times as Plotly reads them; it shows a date as it is written, in no time zone."""
    found: list[str] = np.datetime_as_string(times_ns.astype("datetime64[ns]"), unit="ms").tolist()
    return found


def _marked(span: tuple[int, int], over: str) -> dict[str, Any]:
    """Return the shape of the span that is highlighted."""
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


# Above this many times the median, a linear axis shows the largest value and nothing else; from so
# many times the smallest on, nothing of that.
_SPREAD, _FAR = 5.0, 1e6


def suits_log(values: npt.ArrayLike) -> bool:
    """Return whether a logarithmic axis suits: all positive, the largest far above the rest.

    Args:
        values: Any shape; nan and infinities are left aside.

    Example:
        >>> suits_log([27.0, 2.4, 2.3, 2.3]), suits_log([3.0, 2.0, 1.0]), suits_log([9.0, 0.0])
        (True, False, False)
        >>> suits_log([2.3, 2.2, 1e35, 1e35])
        True
    """
    array = np.asarray(values, np.float64)
    finite = array[np.isfinite(array)]
    if not finite.size or finite.min() <= 0:
        return False
    return bool(finite.max() > min(_SPREAD * np.median(finite), _FAR * finite.min()))


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

    Raises:
        ValueError: Columns of different lengths, descending steps, or fewer than one point.
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
    over: str = "step",
) -> Figure:
    """Draw lines that are bounded already, with findings as vertical lines; see ``series``.

    Args:
        lines: By mode, or by whatever tells them apart.
        title: What is drawn.
        about: Small print under the title.
        findings: Those to be marked.
        over: What the axis counts, such as ``step`` or ``round``.
    """
    unfit = [one.first[one.non_finite > 0] for one in lines.values()]
    steps = np.unique(np.concatenate([np.empty(0, np.int64), *unfit]))
    extremes = [extreme for one in lines.values() for extreme in (one.low, one.high)]
    figure = _figure(
        lines,
        title=title,
        about=about + (f" · not finite at {len(steps):,} places" if len(steps) else ""),
        not_finite=_not_finite(steps, max(1, len(steps))),
        findings=findings,
        log=suits_log(np.concatenate([np.empty(0), *extremes])),
    )
    return figure.update_xaxes(title_text=over)


def _figure(
    lines: Mapping[str, Envelope],
    *,
    title: str,
    about: str,
    not_finite: Sequence[dict[str, Any]],
    findings: Iterable[Finding],
    log: bool,
) -> Figure:
    traces: list[dict[str, Any]] = []
    for number, (mode, column) in enumerate(lines.items()):
        color = MODE_COLORS.get(mode, COLORWAY[number % len(COLORWAY)])
        traces += line(column, mode, color, show_name=bool(mode))
    traces += [*not_finite, *vertical_lines(findings)]
    return draw(
        traces,
        shortened(title, 90),
        about,
        height=340,
        hovermode="closest",
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
    """Return small print: the statistic, and what is not drawn as it is."""
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
