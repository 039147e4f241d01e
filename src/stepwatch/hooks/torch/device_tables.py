"""The statistics of many tensors in few operations: their elements as the rows of a table.

A tensor is cut into rows of a few fixed widths, the widest first, and rows of one width from many
tensors are reduced together. What is left at the end of a tensor is padded with nan, which is left
out of everything like any nan, and is subtracted from their number on the host.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch.linalg import vector_norm

from ...statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
)  # fmt: skip

Rows = npt.NDArray[np.float64]

#: How many elements a row may have. Even the widest can be counted in float32.
WIDTHS = (2**19, 2**14, 2**9)
#: Elements of a tensor that are reduced at a time; meanwhile they take some 100 MB as float32.
CHUNK = 2**22
NUM_WORDS = 10

_INFINITY = float("inf")
_SUMS = [SUM, SUM_ABS, SUM_SQ]


def cuts(size: int) -> list[tuple[int, int]]:
    """Return how a tensor of so many elements is cut: sizes, each with the width of its rows.

    Example:
        >>> cuts(40_000)
        [(32768, 16384), (7232, 512)]
    """
    sizes = [(CHUNK, WIDTHS[0])] * (size // CHUNK)
    size %= CHUNK
    for width in WIDTHS[:-1]:
        sizes.append((size - size % width, width))
        size %= width
    return [one for one in (*sizes, (size, WIDTHS[-1])) if one[0]]


def to_table(pieces: list[torch.Tensor], width: int) -> torch.Tensor:
    """Return the elements of some tensors in rows, each tensor beginning a new one.

    Args:
        pieces: Shapes ``[elements]``, one real dtype, on one device.
        width: How many elements a row has.

    Returns:
        Shape ``[rows, width]``, float32 or, of float64 and of whole numbers, float64; it may be
        the memory of the only piece.
    """
    dtype, device = pieces[0].dtype, pieces[0].device
    wide = _wide(dtype)
    if dtype not in (torch.bfloat16, torch.float16):  # those are widened together, below
        pieces, dtype = [piece.to(wide) for piece in pieces], wide
    gaps = [-piece.numel() % width for piece in pieces]
    if any(gaps):
        nans = torch.full((sum(gaps),), float("nan"), dtype=dtype, device=device)
        padding = torch.split_with_sizes(nans, gaps)
        pieces = [part for pair in zip(pieces, padding, strict=True) for part in pair]
    flat = torch.cat(pieces) if len(pieces) > 1 else pieces[0]
    return flat.view(-1, width).to(wide)


def _wide(dtype: torch.dtype) -> torch.dtype:
    narrow = dtype.is_floating_point and dtype is not torch.float64
    return torch.float32 if narrow else torch.float64


def table_words(table: torch.Tensor) -> torch.Tensor:
    """Return what the statistics of each row follow from; see ``rows_of``.

    Args:
        table: Shape ``[rows, width]``, float32 or float64. It is left as it is.

    Returns:
        Shape ``[NUM_WORDS, rows]``, float64: how many elements are not zero, how many of those
        are finite, finite or inf, finite or -inf; the least, the greatest and the least
        magnitude of the finite ones (inf, -inf, inf where there is none); their sum, that of
        their magnitudes and that of their squares, accumulated in float64.
    """
    values = table.nan_to_num(0.0, 0.0, 0.0)
    low = table.nan_to_num(_INFINITY, _INFINITY, _INFINITY)
    # An order of zero counts what is not zero; a nan and an inf are not.
    own = [
        vector_norm(table, 0, dim=1),
        vector_norm(values, 0, dim=1),
        vector_norm(table.nan_to_num(0.0, 1.0, 0.0), 0, dim=1),
        vector_norm(table.nan_to_num(0.0, 0.0, 1.0), 0, dim=1),
        low.amin(dim=1),
        table.nan_to_num(-_INFINITY, -_INFINITY, -_INFINITY).amax(dim=1),
        vector_norm(low, -_INFINITY, dim=1),
    ]
    wide = values.to(torch.float64)  # of float64 it is the same, which is needed no more
    sums = [wide.sum(dim=1), vector_norm(wide, 1, dim=1), wide.square_().sum(dim=1)]
    return torch.cat([torch.stack(own).to(torch.float64), torch.stack(sums)])


def rows_of(words: Rows, width: int) -> Rows:
    """Return what ``table_words`` says as statistics, the padding counted as nan.

    Args:
        words: Shape ``[NUM_WORDS, rows]``, float64.
        width: Of the table.

    Returns:
        Shape ``[rows, NUM_FIELDS]``, float64.
    """
    nonzero, finite_nonzero, or_posinf, or_neginf = words[:4]
    rows = np.empty((words.shape[1], NUM_FIELDS))
    rows[:, COUNT] = width
    rows[:, ZEROS] = width - nonzero
    rows[:, POSINF] = or_posinf - finite_nonzero
    rows[:, NEGINF] = or_neginf - finite_nonzero
    rows[:, NAN] = nonzero - finite_nonzero - rows[:, POSINF] - rows[:, NEGINF]
    extremes = np.where(np.isinf(words[4:7]), np.nan, words[4:7])
    rows[:, [MIN, MAX, ABS_MIN]] = extremes.T + 0.0  # no minus zero
    rows[:, _SUMS] = words[7:].T
    return rows
