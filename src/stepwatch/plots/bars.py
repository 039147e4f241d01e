"""A number for each of several things, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..optional import require
from .theme import COLORWAY, as_text, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The most bars drawn; more are counted under the title.
MOST_BARS = 40


def bars(values: Mapping[str, float], *, title: str, about: str = "", unit: str) -> Figure:
    """Draw a horizontal bar for each thing, the first on top.

    Args:
        values: By the name of each; the first ``MOST_BARS`` are drawn.
        title: What is drawn.
        about: Small print under the title.
        unit: Of the values.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    shown = dict([*values.items()][:MOST_BARS])
    left = len(values) - len(shown)
    notes = [about, f"{left:,} more are not drawn" if left > 0 else ""]
    figure = go.Figure(
        {
            "type": "bar",
            "orientation": "h",
            "x": [*shown.values()],
            "y": [as_text(name) for name in shown],
            "marker": {"color": COLORWAY[0]},
            "hovertemplate": f"%{{y}}<br><b>%{{x:.4g}}</b> {as_text(unit)}<extra></extra>",
        }
    )
    figure.update_layout(
        template=template(),
        height=130 + 22 * max(2, len(shown)),
        title={
            "text": as_text(title),
            "subtitle": {"text": as_text("; ".join(filter(None, notes)))},
        },
        xaxis={"title": {"text": as_text(unit)}, "showgrid": True, "rangemode": "tozero"},
        yaxis={
            "autorange": "reversed",
            "type": "category",
            "showgrid": False,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
            "tickvals": [as_text(name) for name in shown],
            "ticktext": [as_text(shortened(name, 28)) for name in shown],
        },
        bargap=0.3,
    )
    return figure
