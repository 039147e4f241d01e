"""How values are spread: histograms, boxes, all elements of a tensor, and spread over the steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import TensorUnavailable
from ..numerics.exponents import LOWEST, NUM_BINS
from .downsample import Envelope, bucket_starts
from .theme import (
    COLORWAY,
    DIVERGING,
    INK,
    SEQUENTIAL,
    SEVERITY_COLORS,
    as_text,
    colors,
    draw,
    faded,
    shortened,
)

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
        unit: The unit of the values.
        lines: Values to point out, by their names.
        curve: Shape ``[bins]``: what a model expects in each bin.
    """
    middles = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    widths = [high - low for low, high in itertools.pairwise(edges)]
    opacity = 0.9 if len(counts) == 1 else 0.55
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": middles,
            "y": heights,
            "width": widths,
            "name": as_text(name),
            "marker": {"color": color, "opacity": opacity, "line": {"width": 0}},
            "hovertemplate": f"{as_text(name)}<br>%{{x:.4g}} {as_text(unit)}: <b>%{{y:,}}</b>"
            "<extra></extra>",
        }
        for (name, heights), color in zip(counts.items(), colors(len(counts)), strict=True)
    ]
    if curve is not None:
        line = {"color": SEVERITY_COLORS["error"], "width": 1.8}
        fit = {"x": middles, "y": curve, "name": "normal fit", "mode": "lines", "line": line}
        traces.append({"type": "scatter", **fit})
    figure = draw(
        traces,
        title,
        about,
        height=320,
        barmode="overlay",
        bargap=0,
        xaxis={"title": {"text": as_text(unit)}},
        yaxis={"title": {"text": "count"}, "rangemode": "tozero"},
        showlegend=len(counts) > 1 or curve is not None,
    )
    for name, value in (lines or {}).items():
        line = {"color": INK["dark"]["muted"], "width": 1.2, "dash": "dash"}
        figure.add_vline(x=value, line=line, annotation_text=as_text(name))
    return figure


def boxes(values: Mapping[str, Box], *, title: str, about: str = "", unit: str) -> Figure:
    """Draw a box for each series: its quartiles, and whiskers to its extremes.

    Args:
        values: Of each series; see ``Box``.
        title: What is drawn.
        about: Small print under the title.
        unit: The unit of the values.
    """
    parts = ("lowerfence", "q1", "median", "q3", "upperfence")
    traces = [
        {
            "type": "box",
            "orientation": "h",
            "y": [as_text(shortened(name, 32))],
            **{part: [value] for part, value in zip(parts, box, strict=True)},
            "name": as_text(name),
            "line": {"color": color, "width": 1.6},
            "fillcolor": faded(color, 0.22),
            "showlegend": False,
        }
        for (name, box), color in zip(values.items(), colors(len(values)), strict=True)
    ]
    return draw(
        traces,
        title,
        about,
        height=130 + 46 * max(1, len(values)),
        xaxis={"title": {"text": as_text(unit)}, "showgrid": True},
        yaxis={"autorange": "reversed", "showgrid": False},
        boxgap=0.35,
    )


Array = npt.NDArray[np.generic]
Matrix = npt.NDArray[np.float32]

# So many elements are drawn at most, of all images together.
_MOST_CELLS = 60_000
_MOST_HEIGHT = 760


def value_map(value: Array, *, name: str, step: int, points: int) -> Figure:
    """Draw every element of a tensor, the first axis downward and all others across.

    Where there are more than ``points`` along a side, a cell shows the largest of its elements in
    magnitude, and is blank if one of them is not finite.

    Args:
        value: At least one axis.
        name: The tensor.
        step: Of which step it is.
        points: How many cells a side may have.

    Raises:
        TensorUnavailable: It is a single number, or has no elements.
    """
    cells = value_cells(value, name, points)
    rows, columns = cells.shape
    figure = _figure(cells, value, name, step)
    figure.update_layout(
        height=int(min(_MOST_HEIGHT, max(220, 160 + 620 * min(1.0, rows / max(columns, 1))))),
        xaxis={"title": {"text": "" if value.ndim < 2 else "other axes"}},
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return figure


def value_cells(value: Array, name: str, points: int) -> Matrix:
    """Return the cells of ``value_map``; nan where an element is not finite."""
    matrix = _real(value, name)
    matrix = matrix.reshape(matrix.shape[0], -1) if matrix.ndim > 1 else matrix[None, :]
    return _fewer(matrix, points, points)


def image_cells(value: Array, name: str, most: int) -> tuple[Matrix, int, int]:
    """Return the cells of ``image_grid``, how many images are in them, and of how many.

    Raises:
        TensorUnavailable: It has fewer than two axes, or no elements.
    """
    if value.ndim < 2:
        raise TensorUnavailable(f"{name} has {value.ndim} axes; an image needs two")
    images = _real(value, name).reshape(-1, *value.shape[-2:])
    drawn = images[:most]
    side = max(3, math.isqrt(_MOST_CELLS // len(drawn)))
    return _grid([_fewer(image, side, side) for image in drawn]), len(drawn), len(images)


def image_grid(value: Array, *, name: str, step: int, most: int) -> Figure:
    """Draw a tensor as images, one for each pair of its last two axes, all in one scale.

    Args:
        value: At least two axes, such as the kernels of a convolution, or its activations.
        name: The tensor.
        step: Of which step it is.
        most: How many images there may be; the first ones are drawn.

    Raises:
        TensorUnavailable: It has fewer than two axes, or no elements.
    """
    cells, drawn, images = image_cells(value, name, most)
    figure = _figure(cells, value, name, step)
    subtitle = figure.layout.title.subtitle.text
    about = f"{subtitle} · {drawn:,} of {images:,} images of {_shape(value.shape[-2:])}"
    hidden = {"visible": False, "showgrid": False, "showline": False}
    figure.update_layout(
        title_subtitle_text=about,
        height=_MOST_HEIGHT,
        xaxis={**hidden, "constrain": "domain"},
        yaxis={**hidden, "autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
    )
    return figure


def _figure(cells: Matrix, value: Array, name: str, step: int) -> Figure:
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    reach = max(-low, high)
    scale: dict[str, Any] = {"colorscale": SEQUENTIAL, "zmin": low, "zmax": high}
    if low < 0 < high:
        scale = {"colorscale": DIVERGING, "zmin": -reach, "zmax": reach}
    trace = {
        "type": "heatmap",
        "z": cells,
        **scale,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hoverongaps": False,
        "hovertemplate": "<b>%{z:.5g}</b><extra></extra>",
    }
    parts = [f"step {step}", _shape(value.shape), str(value.dtype)]
    unfit = int(value.size - np.isfinite(_real(value, name)).sum())
    parts += [f"{unfit:,} not finite"] if unfit else []
    return draw(trace, shortened(name, 90), " · ".join(parts))


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "one number"


def _real(value: Array, name: str) -> Matrix:
    """Return a tensor as float32; of complex numbers their magnitude."""
    if not value.ndim or not value.size:
        what = "no elements" if value.ndim else "one number"
        raise TensorUnavailable(f"{name} has {what}; its series says all there is")
    magnitude = np.abs(value) if np.iscomplexobj(value) else value
    with np.errstate(over="ignore"):
        return magnitude.astype(np.float32)


def _fewer(matrix: Matrix, rows: int, columns: int) -> Matrix:
    """Return of each block of a matrix the element that is largest in magnitude; nan as nan."""
    for axis, most in ((0, rows), (1, columns)):
        starts = bucket_starts(matrix.shape[axis], most)
        if len(starts) < matrix.shape[axis]:
            low = np.minimum.reduceat(matrix, starts, axis=axis)  # nan where one is nan
            high = np.maximum.reduceat(matrix, starts, axis=axis)
            matrix = np.where(np.abs(low) > np.abs(high), low, high)
    return np.where(np.isfinite(matrix), matrix, np.float32(np.nan))


def _grid(tiles: list[Matrix]) -> Matrix:
    """Return tiles beside and below each other, as square as can be, with gaps between them."""
    height, width = tiles[0].shape
    across = math.ceil(math.sqrt(len(tiles) * height / width))
    down = math.ceil(len(tiles) / across)
    grid = np.full((down * (height + 1) - 1, across * (width + 1) - 1), np.nan, np.float32)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, across)
        top, left = row * (height + 1), column * (width + 1)
        grid[top : top + height, left : left + width] = tile
    return grid


#: The statistics that ``spread`` needs.
PARTS = ("min", "mean", "std", "max")


def spread(lines: Mapping[str, Mapping[str, Envelope]], *, name: str) -> Figure:
    """Draw the mean of a tensor, its standard deviation around it, and its extremes.

    Args:
        lines: Of each statistic of ``PARTS`` the lines by mode; the first mode is drawn.
        name: The tensor.
    """
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
    return draw(
        traces,
        f"spread of {shortened(name, 80)}",
        "mean, standard deviation and extremes at each step",
        height=340,
        xaxis={"title": {"text": "step"}},
        hovermode="closest",
    )


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
    """
    steps, powers, shares = exponent_shares(rows, points)
    return draw(
        {
            "type": "heatmap",
            "x": steps,
            "y": powers,
            "z": shares.astype(np.float32),
            "colorscale": SEQUENTIAL,
            "zmin": 0,
            "colorbar": {"thickness": 12, "outlinewidth": 0, "tickformat": ".0%"},
            "hoverongaps": False,
            "hovertemplate": "step %{x}<br>2<sup>%{y}</sup>: <b>%{z:.2%}</b><extra></extra>",
        },
        f"magnitudes of {shortened(name, 80)}",
        "share of the elements between two powers of two",
        height=380,
        xaxis={"title": {"text": "step"}, "showline": False},
        yaxis={"title": {"text": "exponent of two"}, "showgrid": False},
    )


def exponent_shares(
    rows: pa.Table, points: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the columns of ``exponents``.

    Returns:
        The first step of each column; the exponents of two that occur, and those between them; and
        the share of the elements of each exponent, shape ``[exponents, columns]``, nan for none.
    """
    rows = rows.filter(rows.column("exponents").is_valid())
    counts = rows.column("exponents").combine_chunks().flatten().to_numpy().reshape(-1, NUM_BINS)
    starts = bucket_starts(len(rows), points)
    sums = np.add.reduceat(counts.astype(np.float64), starts, axis=0)
    totals = sums.sum(axis=1, keepdims=True)
    shares = np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)
    occupied = np.flatnonzero(sums.sum(axis=0))
    low, high = (int(occupied[0]), int(occupied[-1])) if len(occupied) else (0, NUM_BINS - 1)
    shares[shares == 0] = np.nan
    powers = np.arange(low, high + 1) + LOWEST
    return rows.column("step").to_numpy()[starts], powers, shares[:, low : high + 1].T
