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
) -> Figure:
    """Draw a row for each tensor and a column for each step, coloured by a statistic.

    With more than ``points`` steps, a cell holds several and shows the value that is farthest
    from the row's median, so that no spike is lost. Cells without a finite value stay blank.
    Findings are marked in their row, those about no row shown as vertical lines.

    Args:
        steps: Shape ``[n]``, integers, ascending.
        names: The tensors, from top to bottom; unique.
        values: Shape ``[len(names), n]``, real numbers; nan where nothing is known.
        statistic: What the values are, such as ``l2``.
        what: What the tensors are, such as ``gradients``.
        findings: Those to be marked.
        points: How many columns there may be, at least 1.
        log: Whether the colour follows the logarithm; zero and below then have the lowest
            colour.
        band: What is healthy, from and to: grey on a logarithmic scale, blue below, red above.
        above: The tensors that are drawn on top and outlined.
        unfit: Where something is not finite, of the shape of ``values``: red, whatever the value.
        over: The first and the last step of the axis; by default those that there are.

    Raises:
        ValueError: Other shapes, the same name twice, or fewer than one point.
    """
    steps_, matrix = _checked(steps, names, values)
    place = {name: number for number, name in enumerate(above)}
    order = sorted(range(len(names)), key=lambda row: place.get(names[row], len(place)))
    names, matrix = [names[row] for row in order], matrix[order]
    starts = bucket_starts(len(steps_), points)
    cells = _cells(matrix, points, log=log)
    colors, scale = _logarithmic(cells) if log else _linear(cells)
    if log and band is not None:
        is_none = cells <= 0
        if is_none.any():  # none at all is below what is healthy, whatever else is drawn
            scale["cmin"] = min(scale["cmin"], math.log10(band[0]) - 1)
            colors = np.where(is_none, scale["cmin"], colors)
        scale["colorscale"] = _around_band(band, scale["cmin"], scale["cmax"])
    first = steps_[starts]
    known = {name: as_text(name) for name in names}
    found = list(findings)
    inside = [finding for finding in found if finding.tensor in known]
    height = min(_MOST_HEIGHT, max(240, _FRAME + _ROW_HEIGHT * len(names)))
    return draw(
        [
            _cell_trace(first, list(known.values()), colors, cells, statistic),
            *_unfit_traces(first, names, unfit, order, starts),
            *_marks(inside),
            *vertical_lines([finding for finding in found if finding.tensor not in known]),
        ],
        f"{statistic} of {len(names):,} {what}",
        _subtitle(len(steps_), len(first)),
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
        shapes=_outline(first, sum(name in place for name in names), over),
    )


def _unfit_traces(
    steps: npt.NDArray[np.int64],
    names: Sequence[str],
    unfit: npt.ArrayLike | None,
    order: Sequence[int],
    starts: npt.NDArray[np.int64],
) -> list[dict[str, Any]]:
    if unfit is None or not len(starts):
        return []
    cells = np.add.reduceat(np.asarray(unfit, np.int64)[list(order)], starts, axis=1) > 0
    return [unfit_cells(steps, names, cells)] if cells.any() else []


def unfit_cells(
    steps: npt.NDArray[np.int64], rows: Sequence[str], unfit: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Return a trace over a heat map that points out the cells with what is not finite."""
    color = color_of("error")
    return {
        "type": "heatmap",
        "x": steps,
        "y": [as_text(row) for row in rows],
        "z": np.where(unfit, 1.0, np.nan).astype(np.float32),
        "colorscale": [[0, color], [1, color]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{y}<br>step %{x}<br><b>not finite</b><extra></extra>",
    }


def _outline(
    steps: npt.NDArray[np.int64], num_above: int, over: tuple[int, int] | None
) -> list[dict[str, Any]]:
    """Return a frame around the first rows."""
    if not num_above or not len(steps):
        return []
    color = color_of("error")
    first, last = over or (int(steps[0]), int(steps[-1]))
    x = {"x0": first, "x1": last, "y0": -0.5, "y1": num_above - 0.5}
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


def _logarithmic(cells: Matrix) -> tuple[Matrix, dict[str, Any]]:
    """Return logarithms as colour values, a step below the lowest one for zero and less."""
    positive = cells > 0
    low, high = _range(np.log10(np.where(positive, cells, np.nan)))
    ticks = _decades(low, high)
    labels = [f"{10.0**tick:.2g}" for tick in ticks]
    floor = low - max(0.05 * (high - low), 0.1)
    with np.errstate(divide="ignore", invalid="ignore"):
        colors = np.where(positive, np.log10(cells), np.where(np.isnan(cells), np.nan, floor))
    below = bool((cells <= 0).any())
    if below:
        ticks, labels = [floor, *ticks], ["≤ 0", *labels]
    return colors, {
        "colorscale": SEQUENTIAL,
        "cmin": floor if below else low,
        "cmax": high,
        "colorbar": {"tickvals": ticks, "ticktext": labels},
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
    steps: npt.NDArray[np.int64], names: list[str], colors: Matrix, cells: Matrix, statistic: str
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": steps,
        "y": names,
        "z": colors.astype(np.float32),
        "customdata": cells.astype(np.float32),
        "coloraxis": "coloraxis",
        "hovertemplate": (
            f"%{{y}}<br>step %{{x}}<br>{as_text(statistic)} <b>%{{customdata:.4g}}</b>"
            "<extra></extra>"
        ),
        "hoverongaps": False,
    }


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
