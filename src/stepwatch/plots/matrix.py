"""Which class was taken for which, as a square of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..optional import require
from .theme import as_text, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: With more classes than these, counts are only told on hover.
MOST_WITH_TEXT = 12

# From the colour of the paper to blue: it stays clear on white and on near-black.
_SCALE = [[0.0, "rgba(58,127,196,0.04)"], [1.0, "rgba(58,127,196,0.8)"]]


def matrix(names: Sequence[str], counts: npt.ArrayLike, *, title: str, about: str = "") -> Figure:
    """Draw a confusion matrix, a row for what was true and a column for what was predicted.

    Args:
        names: Of the classes.
        counts: Shape ``[classes, classes]``; the share of each row gives the colour.
        title: What is drawn.
        about: Small print under the title.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    counts_ = np.asarray(counts, np.float64)
    totals = counts_.sum(axis=1, keepdims=True)
    parts = np.divide(counts_, totals, out=np.zeros_like(counts_), where=totals > 0)
    labels = [as_text(shortened(name, 20)) for name in names]
    figure = go.Figure(
        {
            "type": "heatmap",
            "x": labels,
            "y": labels,
            "z": parts,
            "customdata": counts_,
            "zmin": 0,
            "zmax": 1,
            "colorscale": _SCALE,
            "showscale": False,
            "xgap": 2,
            "ygap": 2,
            "hovertemplate": "true %{y}, predicted %{x}<br><b>%{customdata:,.0f}</b>, %{z:.1%}"
            " of the row<extra></extra>",
        }
    )
    if len(labels) <= MOST_WITH_TEXT:
        # A trace of its own: text in a heat map has one colour, and this one follows the scheme.
        cells = [(x, y) for y in range(len(labels)) for x in range(len(labels))]
        figure.add_scatter(
            x=[labels[x] for x, _ in cells],
            y=[labels[y] for _, y in cells],
            text=[f"{counts_[y, x]:,.0f}<br>{parts[y, x]:.0%}" for x, y in cells],
            mode="text",
            hoverinfo="skip",
            showlegend=False,
        )
    figure.update_layout(
        template=template(),
        height=min(760, 190 + 48 * max(2, len(labels))),
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        xaxis={"title": {"text": "predicted"}, "type": "category", "showline": False, "ticks": ""},
        yaxis={
            "title": {"text": "true"},
            "type": "category",
            "autorange": "reversed",
            "showgrid": False,
        },
    )
    return figure
