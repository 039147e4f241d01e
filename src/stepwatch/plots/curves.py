"""Curves of points that are drawn as they are: one number against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..optional import require
from .theme import INK, as_text, colors, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Points = tuple[Sequence[float], Sequence[float]]


def curves(
    points: Mapping[str, Points],
    *,
    title: str,
    about: str = "",
    x: str,
    y: str,
    hover: Mapping[str, Sequence[float]] | None = None,
    diagonal: bool = False,
    square: bool = False,
) -> Figure:
    """Draw curves, each through its points in their order.

    Args:
        points: Where each curve goes, first across and then up.
        title: What is drawn.
        about: Small print under the title.
        x: What lies across.
        y: What goes up.
        hover: One more number for each point, under the name that it is called by; only for a
            single curve.
        diagonal: Whether the line of what chance, or perfection, would give is drawn.
        square: Whether both axes go from 0 to 1.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    name, more = next(iter((hover or {}).items()), ("", None))
    also = f"<br>{as_text(name)} %{{customdata:.4g}}" if name else ""
    figure = go.Figure()
    for (label, (across, up)), color in zip(points.items(), colors(len(points)), strict=True):
        figure.add_scatter(
            x=across,
            y=up,
            name=as_text(label),
            mode="lines" if len(across) > 60 else "lines+markers",
            line={"color": color, "width": 1.8},
            marker={"size": 5},
            customdata=more,
            hovertemplate=(
                f"{as_text(x)} %{{x:.4g}}<br>{as_text(label)} <b>%{{y:.4g}}</b>{also}"
                "<extra></extra>"
            ),
        )
    if diagonal:
        color = INK["dark"]["muted"]
        line = {"color": color, "width": 1, "dash": "dot"}
        figure.add_scatter(
            x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip", showlegend=False
        )
    span = [-0.01, 1.01] if square else None
    figure.update_layout(
        template=template(),
        height=360,
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        xaxis={"title": {"text": as_text(x)}, "range": span},
        yaxis={"title": {"text": as_text(y)}, "range": span},
        showlegend=len(points) > 1,
        hovermode="closest",
    )
    return figure
