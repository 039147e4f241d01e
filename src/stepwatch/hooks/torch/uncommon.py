"""Sparse and complex tensors: what of them has statistics.

A sparse tensor is its elements and the zeros between them. Complex numbers have no order, so
theirs are the statistics of the magnitudes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from ...statistics import ABS_MIN, COUNT, MAX, MIN, NUM_FIELDS, ZEROS, merge, summarize
from .arrays import to_numpy

Row = npt.NDArray[np.float64]


def is_uncommon(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has no statistics as it lies in memory."""
    return tensor.layout is not torch.strided or tensor.is_complex()


def stored_part(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return what a tensor has statistics of, dense and real, and how many zeros are beside it.

    Args:
        tensor: Any shape, device and layout. It is left as it is: if its elements are not yet
            coalesced, a copy is.
    """
    values, zeros = tensor.detach(), 0
    if values.layout is not torch.strided:
        coo: torch.Tensor = values.to_sparse_coo()  # type: ignore[no-untyped-call]
        values = coo.coalesce().values()
        zeros = tensor.numel() - values.numel()
    return (values.abs() if values.is_complex() else values), zeros


def zeros_row(number: int) -> Row:
    """Return the statistics of so many zeros, shape ``[NUM_FIELDS]``."""
    row = np.zeros(NUM_FIELDS)
    row[[COUNT, ZEROS]] = number
    if not number:
        row[[MIN, MAX, ABS_MIN]] = np.nan
    return row


def uncommon_row(tensor: torch.Tensor) -> Row:
    """Return the statistics of a sparse or complex tensor, shape ``[NUM_FIELDS]``, on the host."""
    values, zeros = stored_part(tensor)
    return merge(np.stack([summarize(to_numpy(values)), zeros_row(zeros)]))


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the same with every element in its place, as its memory says it."""
    tensor = tensor.detach()
    return (tensor if tensor.layout is torch.strided else tensor.to_dense()).resolve_conj()
