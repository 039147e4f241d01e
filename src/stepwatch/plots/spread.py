"""How the elements of a tensor are spread, over the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..exponents import LOWEST, NUM_BINS
from ..optional import require
from .downsample import Envelope, bucket_starts
from .theme import COLORWAY, SEQUENTIAL, as_text, faded, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The statistics that ``spread`` needs.
PARTS = ("min", "mean", "std", "max")


def spread(lines: Mapping[str, Mapping[str, Envelope]], *, name: str) -> Figure:
    """Draw the mean of a tensor, its standard deviation around it, and its extremes.

    Args:
        lines: Of each statistic of ``PARTS`` the lines by mode; the first mode is drawn.
        name: The tensor.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    first = {what: next(iter(by_mode.values()), None) for what, by_mode in lines.items()}
    low, mean, std, high = (first[what] for what in PARTS)
    traces = []
    if low is not None and mean is not None and std is not None and high is not None:
        x = (mean.first + mean.last) // 2
        traces = [
            *_band(x, low.low, high.high, "lowest to highest", 0.14),
            *_band(x, mean.mean - std.mean, mean.mean + std.mean, "one standard deviation", 0.3),
            {
                "type": "scatter",
                "x": x,
                "y": mean.mean,
                "name": "mean",
                "mode": "lines" if len(x) > 1 else "markers",
                "line": {"color": COLORWAY[0], "width": 1.8},
                "hovertemplate": "step %{x}<br>mean <b>%{y:.5g}</b><extra></extra>",
            },
        ]
    figure = go.Figure(traces)
    figure.update_layout(
        template=template(),
        height=340,
        title={
            "text": f"spread of {as_text(shortened(name, 80))}",
            "subtitle": {"text": "mean, standard deviation and extremes at each step"},
        },
        xaxis={"title": {"text": "step"}},
        hovermode="closest",
    )
    return figure


def _band(
    x: npt.NDArray[np.int64],
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    label: str,
    opacity: float,
) -> list[dict[str, Any]]:
    line = {"type": "scatter", "x": x, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fill = faded(COLORWAY[0], opacity)
    return [
        {**line, "y": low, "showlegend": False},
        {**line, "y": high, "fill": "tonexty", "fillcolor": fill, "name": label},
    ]


def exponents(rows: pa.Table, *, name: str, points: int) -> Figure:
    """Draw how many elements have which magnitude, a column for each step.

    Args:
        rows: Columns ``step`` and ``exponents``, ascending by step.
        name: The tensor.
        points: How many columns there may be; of more steps one holds the sum of several.

    Returns:
        The figure, in the light scheme; the colour is the share of the elements.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    rows = rows.filter(rows.column("exponents").is_valid())
    counts = rows.column("exponents").combine_chunks().flatten().to_numpy().reshape(-1, NUM_BINS)
    starts = bucket_starts(len(rows), points)
    sums = np.add.reduceat(counts.astype(np.float64), starts, axis=0)
    totals = sums.sum(axis=1, keepdims=True)
    shares = np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)
    seen = np.flatnonzero(sums.sum(axis=0))
    low, high = (int(seen[0]), int(seen[-1])) if len(seen) else (0, NUM_BINS - 1)
    shares[shares == 0] = np.nan
    figure = go.Figure(
        {
            "type": "heatmap",
            "x": rows.column("step").to_numpy()[starts],
            "y": np.arange(low, high + 1) + LOWEST,
            "z": shares[:, low : high + 1].T.astype(np.float32),
            "colorscale": SEQUENTIAL,
            "zmin": 0,
            "colorbar": {"thickness": 12, "outlinewidth": 0, "tickformat": ".0%"},
            "hoverongaps": False,
            "hovertemplate": "step %{x}<br>2<sup>%{y}</sup>: <b>%{z:.2%}</b><extra></extra>",
        }
    )
    figure.update_layout(
        template=template(),
        height=380,
        title={
            "text": f"magnitudes of {as_text(shortened(name, 80))}",
            "subtitle": {"text": "share of the elements between two powers of two"},
        },
        xaxis={"title": {"text": "step"}, "showline": False},
        yaxis={"title": {"text": "exponent of two"}, "showgrid": False},
    )
    return figure
