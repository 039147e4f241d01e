"""One statistic of many tensors over the steps: where in the model, and since when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..model.finding import Finding
from .downsample import bucket_starts, farthest, row_medians
from .theme import (
    DIVERGING,
    HATCHED,
    MARK_AXIS,
    MOST_MARKS,
    SEQUENTIAL,
    as_text,
    by_severity,
    color_of,
    count_label,
    draw,
    hover_text,
    shortened,
    vertical_lines,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Matrix = npt.NDArray[np.float64]

#: Below what is healthy, within it, and above it.
BELOW, HEALTHY, ABOVE = "#2166ac", "#c9ced4", "#b2182b"
#: Exactly 0 on a logarithmic scale, which has no place for it; and none, where others have one.
ZERO, NONE = "#f29bd4", "#9aa4b1"
_MOST_HEIGHT = 900
_ROW_HEIGHT = 20
_FRAME = 150


def heatmap(
    steps: npt.ArrayLike,
    names: Sequence[str],
    values: npt.ArrayLike,
    *,
    statistic: str,
    what: str = "tensors",
    findings: Iterable[Finding] = (),
    points: int = 500,
    log: bool = False,
    band: tuple[float, float] | None = None,
    above: Sequence[str] = (),
    unfit: npt.ArrayLike | None = None,
    over: tuple[int, int] | None = None,
    last: npt.ArrayLike | None = None,
    measured: int | None = None,
) -> Figure:
    """Draw a row for each tensor and a column for each step, coloured by a statistic.

    With more than ``points`` steps, a cell holds several and shows the value that is farthest
    from the row's median, so that no spike is lost. What was not measured stays blank; a tensor
    of which there is nothing at a step at which others were measured is hatched there.
    Findings are marked in their row, those about no row shown as vertical lines.

    Args:
        steps: Shape ``[n]``, integers, ascending.
        names: The tensors, from top to bottom; unique.
        values: Shape ``[len(names), n]``, real numbers; nan where nothing is known.
        statistic: What the values are, such as ``l2``.
        what: What the tensors are, such as ``gradients``.
        findings: Those to be marked.
        points: How many columns there may be, at least 1.
        log: Whether the colour follows the logarithm; zero and below then have a colour of their
            own, which the legend names.
        band: What is healthy, from and to: grey on a logarithmic scale, blue below, red above.
        above: The tensors that are drawn on top and outlined.
        unfit: Where something is not finite, of the shape of ``values``: red, whatever the value.
        over: The first and the last step of the axis; by default those that there are.
        last: The last step of each column, of the shape of ``steps``: cells are as wide as that.
            By default they reach half-way to their neighbours.
        measured: At how many steps there was something, where ``steps`` are those of columns.

    Raises:
        ValueError: Other shapes, the same name twice, or fewer than one point.
    """
    steps_, matrix = _checked(steps, names, values)
    place = {name: number for number, name in enumerate(above)}
    order = sorted(range(len(names)), key=lambda row: place.get(names[row], len(place)))
    names, matrix = [names[row] for row in order], matrix[order]
    starts = bucket_starts(len(steps_), points)
    cells = _cells(matrix, points, log=log)
    colors, scale = _logarithmic(cells, band) if log else _linear(cells)
    if log and band is not None:
        scale["colorscale"] = _around_band(band, scale["cmin"], scale["cmax"])
    first = steps_[starts]
    bad = _unfit(unfit, order, starts, cells.shape)
    x, at = _columns(first, None if last is None else np.asarray(last, np.int64), starts)
    known = {name: as_text(name) for name in names}
    found = list(findings)
    inside = [finding for finding in found if finding.tensor in known]
    height = min(_MOST_HEIGHT, max(240, _FRAME + _ROW_HEIGHT * len(names)))
    return draw(
        [
            _cell_trace(
                x, list(known.values()), _spread(colors, at), _spread(cells, at), statistic
            ),
            *_overlays(x, at, names, cells, bad, log=log),
            *_marks(inside),
            *vertical_lines([finding for finding in found if finding.tensor not in known]),
        ],
        f"{statistic} of {len(names):,} {what}",
        _subtitle(len(steps_), len(first))
        if measured is None
        else f"measured at {measured:,} step{'s' if measured > 1 else ''} · blank: not measured",
        height=height,
        xaxis={
            "title": {"text": "step"},
            "showline": False,
            "range": None if over is None else [over[0] - 0.5, over[1] + 0.5],
        },
        yaxis=_name_axis(list(names), fits=(height - _FRAME) // 13),
        yaxis2=MARK_AXIS,
        coloraxis={**scale, "colorbar": {**scale["colorbar"], "thickness": 12, "outlinewidth": 0}},
        hovermode="closest",
        showlegend=True,
        shapes=_outline(first, sum(name in place for name in names), over),
    )


def _unfit(
    unfit: npt.ArrayLike | None,
    order: Sequence[int],
    starts: npt.NDArray[np.int64],
    shape: tuple[int, ...],
) -> npt.NDArray[np.bool_]:
    """Return which cells hold what is not finite."""
    if unfit is None or not len(starts):
        return np.zeros(shape, np.bool_)
    return np.add.reduceat(np.asarray(unfit, np.int64)[list(order)], starts, axis=1) > 0


def _columns(
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64] | None,
    starts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return where columns lie: their middles, or their edges with blank columns in gaps.

    Returns:
        The middles or the edges, of which there is one more; and which column is drawn at each
        place, -1 for a blank one.
    """
    if last is None or not len(first):
        return first, np.arange(len(first))
    ends = last[np.append(starts[1:], len(last)) - 1]
    edges, at = [float(first[0]) - 0.5], list[int]()
    for number, (begin, end) in enumerate(zip(first.tolist(), ends.tolist(), strict=True)):
        if begin - 0.5 > edges[-1]:
            edges.append(begin - 0.5)
            at.append(-1)
        edges.append(end + 0.5)
        at.append(number)
    return np.array(edges), np.array(at, np.int64)


def _spread(cells: Matrix, at: npt.NDArray[np.int64]) -> Matrix:
    """Return the cells of columns where these are drawn."""
    return np.where(at >= 0, cells[:, at], np.nan)


def _overlays(
    x: npt.NDArray[Any],
    at: npt.NDArray[np.int64],
    names: Sequence[str],
    cells: Matrix,
    unfit: npt.NDArray[np.bool_],
    *,
    log: bool,
) -> list[dict[str, Any]]:
    """Return a trace for each kind of cell that has no place on the scale: none, 0, not finite."""
    is_known = np.isfinite(cells) | unfit
    has_none = ~is_known & is_known.any(axis=0, keepdims=True)
    zero = (cells <= 0) & log & ~unfit
    word = "0 or less" if (cells < 0).any() else "exactly 0"
    kinds = [
        ("none where others have one", NONE, has_none),
        (word, ZERO, zero),
        ("not finite", color_of("error"), unfit),
    ]
    found = []
    for name, color, which in kinds:
        if which.any():
            drawn = _spread(np.where(which, 1.0, np.nan), at)
            if which is has_none:  # what was never there is not there in between either
                drawn = _joined(drawn, at)
            more = {"meta": HATCHED, "opacity": 0.4} if which is has_none else {}
            found.append({**_overlay(x, names, drawn, name, color), **more})
    return found


def _joined(drawn: Matrix, at: npt.NDArray[np.int64]) -> Matrix:
    """Return cells that are joined over the blank columns between them."""
    gaps = np.flatnonzero(at < 0)
    drawn[:, gaps] = drawn[:, gaps - 1] + drawn[:, gaps + 1]
    return drawn


def _overlay(
    x: npt.NDArray[Any], names: Sequence[str], cells: Matrix, name: str, color: str
) -> dict[str, Any]:
    """Return a trace of cells of one colour over a heat map, which the legend names."""
    return {
        "type": "heatmap",
        "x": x,
        "y": [as_text(row) for row in names],
        "z": cells.astype(np.float32),
        "name": name,
        "showlegend": True,
        "colorscale": [[0, color], [1, color]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": f"%{{y}}<br>step %{{x}}<br><b>{name}</b><extra></extra>",
    }


def _outline(
    steps: npt.NDArray[np.int64], num_above: int, over: tuple[int, int] | None
) -> list[dict[str, Any]]:
    """Return a frame around the first rows."""
    if not num_above or not len(steps):
        return []
    color = color_of("error")
    first, last = over or (int(steps[0]), int(steps[-1]))
    x = {"x0": first - 0.5, "x1": last + 0.5, "y0": -0.5, "y1": num_above - 0.5}
    return [{"type": "rect", "yref": "y", **x, "line": {"color": color, "width": 1.5}}]


def _around_band(band: tuple[float, float], low: float, high: float) -> list[tuple[float, str]]:
    """Return a scale of colors that is grey within a band of a logarithmic axis."""
    ends = [(math.log10(one) - low) / ((high - low) or 1.0) for one in band]
    stops = [0.0, *(min(1.0, max(0.0, one)) for one in ends), 1.0]
    colors = (BELOW, HEALTHY, HEALTHY, ABOVE)
    if ends[0] <= 0:
        colors = (HEALTHY, *colors[1:])
    if ends[1] >= 1:
        colors = (*colors[:3], HEALTHY)
    return list(zip(stops, colors, strict=True))


def _checked(
    steps: npt.ArrayLike, names: Sequence[str], values: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], Matrix]:
    steps_ = np.asarray(steps, dtype=np.int64)
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != (len(names), *steps_.shape) or steps_.ndim != 1:
        raise ValueError(
            f"values must be names by steps, got {matrix.shape} for {len(names)} names"
            f" and {steps_.shape} steps"
        )
    if len(set(names)) < len(names):
        raise ValueError("names must be unique")
    if (np.diff(steps_) < 0).any():
        raise ValueError("steps must ascend; sort them first")
    return steps_, matrix


def _cells(matrix: Matrix, points: int, *, log: bool) -> Matrix:
    """Return one value for each row and bucket; on a logarithmic scale far means a factor."""
    if matrix.shape[1] <= points:
        return np.where(np.isfinite(matrix), matrix, np.nan)
    if not log:
        return farthest(matrix, from_=row_medians(matrix), points=points)
    positive = matrix > 0
    floor = float(matrix[positive & np.isfinite(matrix)].min(initial=1.0)) / 10
    logs = np.log10(np.where(positive, matrix, np.where(np.isnan(matrix), np.nan, floor)))
    cells = 10.0 ** farthest(logs, from_=row_medians(logs), points=points)
    return np.where(cells <= floor * 1.0001, 0.0, cells)


def _linear(cells: Matrix) -> tuple[Matrix, dict[str, Any]]:
    """Return colour values and scale: around zero where both signs occur."""
    low, high = _range(cells)
    if low < 0 < high:
        reach = max(-low, high)
        return cells, {"colorscale": DIVERGING, "cmin": -reach, "cmax": reach, "colorbar": {}}
    return cells, {"colorscale": SEQUENTIAL, "cmin": low, "cmax": high, "colorbar": {}}


def _logarithmic(cells: Matrix, band: tuple[float, float] | None) -> tuple[Matrix, dict[str, Any]]:
    """Return logarithms as colour values, none for zero and less; a band is within the scale."""
    positive = cells > 0
    colors = np.log10(np.where(positive, cells, np.nan))
    low, high = _range(colors)
    if band is not None:
        low, high = min(low, math.log10(band[0])), max(high, math.log10(band[1]))
    ticks = _decades(low, high)
    labels = [f"{10.0**tick:.2g}" for tick in ticks]
    return colors, {
        "colorscale": SEQUENTIAL,
        "cmin": low,
        "cmax": high,
        "colorbar": {"tickvals": ticks, "ticktext": labels},
        "showscale": bool(positive.any()),
    }


def _decades(low: float, high: float) -> list[float]:
    """Return where to label a logarithmic scale: at powers of ten, if there are enough."""
    decades = [float(decade) for decade in range(math.ceil(low), math.floor(high) + 1)]
    if len(decades) < 2:
        return [low, (low + high) / 2, high]
    return decades[:: -(-len(decades) // 7)]


def _range(values: Matrix) -> tuple[float, float]:
    """Return lowest and highest finite value, 0 and 1 where there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def _cell_trace(
    steps: npt.NDArray[Any], names: list[str], colors: Matrix, cells: Matrix, statistic: str
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": steps,
        "y": names,
        "z": _compact(colors),
        "customdata": _compact(cells),
        "coloraxis": "coloraxis",
        "hovertemplate": (
            f"%{{y}}<br>step %{{x}}<br>{as_text(statistic)} <b>%{{customdata:.4g}}</b>"
            "<extra></extra>"
        ),
        "hoverongaps": False,
    }


def _compact(values: Matrix) -> npt.NDArray[np.floating[Any]]:
    """Return values in half the bytes where that holds the largest of them, else as they are.

    Example:
        >>> _compact(np.array([[1e30, np.nan]])).dtype, _compact(np.array([[1e40]])).dtype
        (dtype('float32'), dtype('float64'))
    """
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return values.astype(np.float32) if largest <= np.finfo(np.float32).max else values


def _marks(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return a trace for each severity: a ring on every cell with findings."""
    traces = []
    for severity, found in by_severity(findings).items():
        cells: dict[tuple[int, str], list[Finding]] = {}
        for finding in found:
            cells.setdefault((finding.began, finding.tensor), []).append(finding)
        drawn = list(cells)[:MOST_MARKS]
        traces.append(
            {
                "type": "scatter",
                "x": [step for step, _ in drawn],
                "y": [as_text(tensor) for _, tensor in drawn],
                "text": [hover_text(cells[cell]) for cell in drawn],
                "name": count_label(severity, len(drawn), len(cells), "cells"),
                "mode": "markers",
                "marker": {
                    "symbol": "diamond",
                    "size": 11,
                    "color": color_of(severity),
                    "line": {"color": "#ffffff", "width": 1.5},
                },
                "hovertemplate": "%{text}<extra></extra>",
                "cliponaxis": False,
            }
        )
    return traces


def _name_axis(names: list[str], *, fits: int) -> dict[str, Any]:
    """Return the axis of the tensors, with as many labels as fit."""
    labelled = names[:: -(-len(names) // max(1, fits)) or 1]
    return {
        "type": "category",
        "autorange": "reversed",
        "showgrid": False,
        "tickvals": [as_text(name) for name in labelled],
        "ticktext": [as_text(shortened(name)) for name in labelled],
        "tickfont": {"size": 11},
    }


def _subtitle(num_steps: int, num_columns: int) -> str:
    if num_columns == num_steps:
        return f"{num_steps:,} steps"
    return f"{num_steps:,} steps; of those in one cell, the value farthest from the row's median"
