"""Charts of numbers that were worked out: bars, curves, a confusion matrix, parts of a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .theme import COLORWAY, INK, as_text, colors, draw, shortened

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
        unit: The unit of the values.
    """
    drawn = dict([*values.items()][:MOST_BARS])
    left = len(values) - len(drawn)
    notes = [about, f"{left:,} more are not drawn" if left > 0 else ""]
    return draw(
        {
            "type": "bar",
            "orientation": "h",
            "x": [*drawn.values()],
            "y": [as_text(name) for name in drawn],
            "marker": {"color": COLORWAY[0]},
            "hovertemplate": f"%{{y}}<br><b>%{{x:.4g}}</b> {as_text(unit)}<extra></extra>",
        },
        title,
        "; ".join(filter(None, notes)),
        height=130 + 22 * max(6, len(drawn)),
        xaxis={"title": {"text": as_text(unit)}, "showgrid": True, "rangemode": "tozero"},
        yaxis={
            "autorange": "reversed",
            "type": "category",
            "showgrid": False,
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
            "tickvals": [as_text(name) for name in drawn],
            "ticktext": [as_text(shortened(name, 28)) for name in drawn],
        },
        bargap=0.3,
    )


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
    """
    name, more = next(iter((hover or {}).items()), ("", None))
    also = f"<br>{as_text(name)} %{{customdata:.4g}}" if name else ""
    traces: list[dict[str, object]] = [
        {
            "type": "scatter",
            "x": across,
            "y": up,
            "name": as_text(label),
            "mode": "lines" if len(across) > 60 else "lines+markers",
            "line": {"color": color, "width": 1.8},
            "marker": {"size": 5},
            "customdata": more,
            "hovertemplate": f"{as_text(x)} %{{x:.4g}}<br>{as_text(label)} <b>%{{y:.4g}}</b>{also}"
            "<extra></extra>",
        }
        for (label, (across, up)), color in zip(points.items(), colors(len(points)), strict=True)
    ]
    if diagonal:
        line = {"color": INK["dark"]["muted"], "width": 1, "dash": "dot"}
        ends = {"x": [0, 1], "y": [0, 1], "mode": "lines", "line": line}
        traces.append({"type": "scatter", **ends, "hoverinfo": "skip", "showlegend": False})
    span = [-0.01, 1.01] if square else None
    return draw(
        traces,
        title,
        about,
        height=360,
        xaxis={"title": {"text": as_text(x)}, "range": span},
        yaxis={"title": {"text": as_text(y)}, "range": span},
        showlegend=len(points) > 1,
        hovermode="closest",
    )


#: With more classes than these, counts are only told on hover.
MOST_WITH_TEXT = 12

# From the colour of the paper to blue: it stays clear on white and on near-black.
# Light enough for dark text, in either scheme.
_SCALE, _ON_CELLS = [[0.0, "#edf3fa"], [1.0, "#5b9bd8"]], "#14202e"


def matrix(names: Sequence[str], counts: npt.ArrayLike, *, title: str, about: str = "") -> Figure:
    """Draw a confusion matrix, a row for what was true and a column for what was predicted.

    Args:
        names: The names of the classes.
        counts: Shape ``[classes, classes]``; the share of each row gives the colour.
        title: What is drawn.
        about: Small print under the title.
    """
    counts_ = np.asarray(counts, np.float64)
    totals = counts_.sum(axis=1, keepdims=True)
    parts = np.divide(counts_, totals, out=np.zeros_like(counts_), where=totals > 0)
    labels = [as_text(shortened(name, 20)) for name in names]
    traces: list[dict[str, object]] = [
        {
            "type": "heatmap",
            "x": labels,
            "y": labels,
            "z": parts,
            "customdata": counts_,
            "zmin": 0,
            "zmax": 1,
            "colorscale": _SCALE,
            "colorbar": {"title": {"text": "share of the row"}},
            "xgap": 2,
            "ygap": 2,
            "hovertemplate": "true %{y}, predicted %{x}<br><b>%{customdata:,.0f}</b>, %{z:.1%}"
            " of the row<extra></extra>",
        }
    ]
    if len(labels) <= MOST_WITH_TEXT:
        # A trace of its own: text in a heat map has one colour, and this one follows the scheme.
        cells = [(x, y) for y in range(len(labels)) for x in range(len(labels))]
        traces.append(
            {
                "type": "scatter",
                "x": [labels[x] for x, _ in cells],
                "y": [labels[y] for _, y in cells],
                "text": [f"{counts_[y, x]:,.0f}<br>{parts[y, x]:.0%}" for x, y in cells],
                "mode": "text",
                "textfont": {"color": _ON_CELLS},
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    return draw(
        traces,
        title,
        about,
        height=min(760, 190 + 48 * max(2, len(labels))),
        xaxis={"title": {"text": "predicted"}, "type": "category", "showline": False, "ticks": ""},
        yaxis={
            "title": {"text": "true"},
            "type": "category",
            "autorange": "reversed",
            "showgrid": False,
        },
    )


#: More parts than these are joined to one.
MOST_PARTS = 8


def shares(parts: Mapping[str, float], *, title: str, about: str = "", unit: str = "") -> Figure:
    """Draw how a whole is divided.

    Args:
        parts: The size of each, not negative; the smallest of many are joined.
        title: What the whole is.
        about: Small print under the title.
        unit: The unit of the sizes, shown on hover.
    """
    drawn = largest(parts)
    return draw(
        {
            "type": "pie",
            "labels": [as_text(shortened(name, 28)) for name in drawn],
            "values": [*drawn.values()],
            "hole": 0.62,
            "domain": {"x": [0, 0.5]},
            "sort": False,
            "direction": "clockwise",
            "marker": {"colors": colors(len(drawn))},
            "textinfo": "none",
            "hovertemplate": f"%{{label}}<br><b>%{{percent}}</b>, %{{value:.4g}} {as_text(unit)}"
            "<extra></extra>",
        },
        title,
        about,
        height=260,
        legend={"orientation": "v", "x": 0.56, "xanchor": "left", "y": 0.5, "yanchor": "middle"},
        margin={"t": 16, "b": 16, "l": 16, "r": 16},
    )


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
