"""Parts of a whole, as a ring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..optional import require
from .theme import as_text, colors, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: More parts than these are joined to one.
MOST_PARTS = 8


def shares(parts: Mapping[str, float], *, title: str, about: str = "", unit: str = "") -> Figure:
    """Draw how a whole is divided.

    Args:
        parts: The size of each, not negative; the smallest of many are joined.
        title: What the whole is.
        about: Small print under the title.
        unit: Of the sizes, shown on hover.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    shown = largest(parts)
    figure = go.Figure(
        {
            "type": "pie",
            "labels": [as_text(shortened(name, 28)) for name in shown],
            "values": [*shown.values()],
            "hole": 0.62,
            "domain": {"x": [0, 0.5]},
            "sort": False,
            "direction": "clockwise",
            "marker": {"colors": colors(len(shown))},
            "textinfo": "none",
            "hovertemplate": f"%{{label}}<br><b>%{{percent}}</b>, %{{value:.4g}} {as_text(unit)}"
            "<extra></extra>",
        }
    )
    figure.update_layout(
        template=template(),
        height=260,
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        legend={"orientation": "v", "x": 0.56, "xanchor": "left", "y": 0.5, "yanchor": "middle"},
        margin={"t": 16, "b": 16, "l": 16, "r": 16},
    )
    return figure


def largest(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the largest parts, in their order, and the sum of the rest.

    Example:
        >>> largest({"a": 1.0, "b": 0.0, "c": 3.0})
        {'a': 1.0, 'c': 3.0}
    """
    there = {name: size for name, size in parts.items() if size > 0}
    if len(there) <= MOST_PARTS:
        return there
    kept = sorted(there, key=lambda name: -there[name])[: MOST_PARTS - 1]
    rest = sum(size for name, size in there.items() if name not in kept)
    left = len(there) - len(kept)
    return {name: there[name] for name in there if name in kept} | {f"{left} others": rest}
