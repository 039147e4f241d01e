"""The full value of a tensor: as a map of its elements, or as a grid of images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..optional import require
from .downsample import bucket_starts
from .theme import DIVERGING, SEQUENTIAL, as_text, shortened, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
        MissingDependency: Plotly is not installed.
    """
    matrix = _real(value, name)
    matrix = matrix.reshape(matrix.shape[0], -1) if matrix.ndim > 1 else matrix[None, :]
    cells = _fewer(matrix, points, points)
    rows, columns = cells.shape
    figure = _figure(cells, value, name, step)
    figure.update_layout(
        height=int(min(_MOST_HEIGHT, max(220, 160 + 620 * min(1.0, rows / max(columns, 1))))),
        xaxis={"title": {"text": "" if value.ndim < 2 else "other axes"}},
        yaxis={"autorange": "reversed", "showgrid": False},
    )
    return figure


def image_grid(value: Array, *, name: str, step: int, most: int) -> Figure:
    """Draw a tensor as images, one for each pair of its last two axes, all in one scale.

    Args:
        value: At least two axes, such as the kernels of a convolution, or its activations.
        name: The tensor.
        step: Of which step it is.
        most: How many images there may be; the first ones are drawn.

    Raises:
        TensorUnavailable: It has fewer than two axes, or no elements.
        MissingDependency: Plotly is not installed.
    """
    if value.ndim < 2:
        raise TensorUnavailable(f"{name} has {value.ndim} axes; an image needs two")
    images = _real(value, name).reshape(-1, *value.shape[-2:])
    shown = images[:most]
    side = max(3, math.isqrt(_MOST_CELLS // len(shown)))
    tiles = [_fewer(image, side, side) for image in shown]
    figure = _figure(_grid(tiles), value, name, step)
    subtitle = figure.layout.title.subtitle.text
    about = f"{subtitle} · {len(shown):,} of {len(images):,} images of {_shape(value.shape[-2:])}"
    hidden = {"visible": False, "showgrid": False, "showline": False}
    figure.update_layout(
        title_subtitle_text=about,
        height=_MOST_HEIGHT,
        xaxis={**hidden, "constrain": "domain"},
        yaxis={**hidden, "autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
    )
    return figure


def _figure(cells: Matrix, value: Array, name: str, step: int) -> Figure:
    go = require("plotly.graph_objects", extra="plots")
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    reach = max(-low, high)
    scale: dict[str, Any] = {"colorscale": SEQUENTIAL, "zmin": low, "zmax": high}
    if low < 0 < high:
        scale = {"colorscale": DIVERGING, "zmin": -reach, "zmax": reach}
    figure = go.Figure(
        {
            "type": "heatmap",
            "z": cells,
            **scale,
            "colorbar": {"thickness": 12, "outlinewidth": 0},
            "hoverongaps": False,
            "hovertemplate": "<b>%{z:.5g}</b><extra></extra>",
        }
    )
    parts = [f"step {step}", _shape(value.shape), str(value.dtype)]
    unfit = int(value.size - np.isfinite(_real(value, name)).sum())
    parts += [f"{unfit:,} not finite"] if unfit else []
    figure.update_layout(
        template=template(),
        title={
            "text": as_text(shortened(name, 90)),
            "subtitle": {"text": as_text(" · ".join(parts))},
        },
    )
    return figure


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
