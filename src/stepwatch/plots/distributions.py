"""How values are spread: histograms that were counted, boxes that were worked out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..optional import require
from .theme import INK, SEVERITY_COLORS, as_text, colors, faded, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: The lowest value, three quartiles and the highest: what a box is drawn of.
Box = tuple[float, float, float, float, float]


def histogram(
    edges: Sequence[float],
    counts: Mapping[str, Sequence[float]],
    *,
    title: str,
    about: str = "",
    unit: str,
    lines: Mapping[str, float] | None = None,
    curve: Sequence[float] | None = None,
) -> Figure:
    """Draw how often values lie in each bin, a colour for each series.

    Args:
        edges: Shape ``[bins + 1]``, ascending.
        counts: Of each series, shape ``[bins]``; a click on its name in the legend hides it.
        title: What is counted.
        about: Small print under the title.
        unit: Of the values.
        lines: Values to point out, by their names.
        curve: Shape ``[bins]``: what a model expects in each bin.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    widths = [high - low for low, high in itertools.pairwise(edges)]
    opacity = 0.9 if len(counts) == 1 else 0.55
    figure = go.Figure()
    for (name, heights), color in zip(counts.items(), colors(len(counts)), strict=True):
        figure.add_bar(
            x=middles,
            y=heights,
            width=widths,
            name=as_text(name),
            marker={"color": color, "opacity": opacity, "line": {"width": 0}},
            hovertemplate=f"{as_text(name)}<br>%{{x:.4g}} {as_text(unit)}: <b>%{{y:,}}</b>"
            "<extra></extra>",
        )
    if curve is not None:
        line = {"color": SEVERITY_COLORS["error"], "width": 1.8}
        figure.add_scatter(x=middles, y=curve, name="normal fit", mode="lines", line=line)
    for name, value in (lines or {}).items():
        line = {"color": INK["dark"]["muted"], "width": 1.2, "dash": "dash"}
        figure.add_vline(x=value, line=line, annotation_text=as_text(name))
    figure.update_layout(
        template=template(),
        height=320,
        barmode="overlay",
        bargap=0,
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        xaxis={"title": {"text": as_text(unit)}},
        yaxis={"title": {"text": "count"}, "rangemode": "tozero"},
        showlegend=len(counts) > 1 or curve is not None,
    )
    return figure


def boxes(values: Mapping[str, Box], *, title: str, about: str = "", unit: str) -> Figure:
    """Draw a box for each series: its quartiles, and whiskers to its extremes.

    Args:
        values: Of each series; see ``Box``.
        title: What is drawn.
        about: Small print under the title.
        unit: Of the values.

    Returns:
        The figure, in the light scheme.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    go = require("plotly.graph_objects", extra="plots")
    figure = go.Figure()
    for (name, box), color in zip(values.items(), colors(len(values)), strict=True):
        low, first, middle, third, high = box
        figure.add_box(
            y=[as_text(shortened(name, 32))],
            orientation="h",
            lowerfence=[low],
            q1=[first],
            median=[middle],
            q3=[third],
            upperfence=[high],
            name=as_text(name),
            line={"color": color, "width": 1.6},
            fillcolor=faded(color, 0.22),
            showlegend=False,
        )
    figure.update_layout(
        template=template(),
        height=130 + 46 * max(1, len(values)),
        title={"text": as_text(title), "subtitle": {"text": as_text(about)}},
        xaxis={"title": {"text": as_text(unit)}, "showgrid": True},
        yaxis={"autorange": "reversed", "showgrid": False},
        boxgap=0.35,
    )
    return figure
