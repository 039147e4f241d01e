"""The statistics of a tensor, as operations that a compiler takes into its graph.

A slot holds those of one tensor, added up over the runs of the graph: a row of ``SLOT_WIDTH``
float64, in this order

- what adds up: count, nan, posinf, neginf, zeros, sum, sum_abs, sum_sq;
- what is the least of all: min, -max, abs_min;
- the shape of the last tensor, as far as ``MOST_AXES``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

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

_ADDED = (COUNT, NAN, POSINF, NEGINF, ZEROS, SUM, SUM_ABS, SUM_SQ)
_NUM_ADDED, _NUM_LEAST, MOST_AXES = len(_ADDED), 3, 8
_SHAPE = _NUM_ADDED + _NUM_LEAST
# Slots lie 32 float64 apart: kernels may want addresses that are multiples of 256 bytes.
SLOT_WIDTH = 32
EMPTY = np.array([0.0] * _NUM_ADDED + [np.inf] * _NUM_LEAST + [0.0] * (SLOT_WIDTH - _SHAPE))
DTYPES = frozenset(
    {torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.bool, torch.uint8}
    | {torch.int8, torch.int16, torch.int32, torch.int64}
)


def add_to_slot(slot: torch.Tensor, tensor: torch.Tensor) -> None:
    """Add the statistics of a tensor to its slot; a compiler traces this.

    Args:
        slot: Shape ``[SLOT_WIDTH]``, float64, where the tensor is.
        tensor: Of one of ``DTYPES`` and at most ``MOST_AXES`` axes; not empty.
    """
    # Not flattened: the compiler then reads in the order of memory, which it may choose itself.
    values = tensor.detach()
    if not values.is_floating_point():
        values = values.to(torch.float64)
    elif values.dtype.itemsize < 4:
        values = values.to(torch.float32)
    magnitude = values.abs()
    infinity = float("inf")
    finite = magnitude < infinity
    wide = torch.where(finite, values, 0.0).to(torch.float64)
    added = (
        # 32 bits as the elements have: they share the lanes of a vector.
        (values != values).sum(dtype=torch.int32),
        (values == infinity).sum(dtype=torch.int32),
        (values == -infinity).sum(dtype=torch.int32),
        (values == 0).sum(dtype=torch.int32),
        wide.sum(),
        wide.abs().sum(),
        (wide * wide).sum(),
    )
    least = (
        torch.where(finite, values, infinity).amin(),
        torch.where(finite, -values, infinity).amin(),
        torch.where(finite, magnitude, infinity).amin(),
    )
    sizes = (values.numel(), *tensor.shape)
    counts = [torch.full((), size, dtype=torch.float64, device=values.device) for size in sizes]
    new = torch.stack([counts[0], *(x.to(torch.float64) for x in (*added, *least)), *counts[1:]])
    new = torch.nn.functional.pad(new, (0, SLOT_WIDTH - len(new)))
    # Without a view of the slot: a compiler takes each for one more input.
    place = torch.arange(SLOT_WIDTH, device=values.device)
    merged = torch.where(place < _SHAPE, torch.minimum(slot, new), new)
    slot.copy_(torch.where(place < _NUM_ADDED, slot + new, merged))


def statistics_of(slots: Rows) -> Rows:
    """Return what slots hold, shape ``[slots, SLOT_WIDTH]``, as rows ``[slots, NUM_FIELDS]``."""
    rows = np.empty((len(slots), NUM_FIELDS))
    rows[:, _ADDED] = slots[:, :_NUM_ADDED]
    least = np.where(np.isinf(slots[:, _NUM_ADDED:_SHAPE]), np.nan, slots[:, _NUM_ADDED:_SHAPE])
    rows[:, MIN], rows[:, MAX], rows[:, ABS_MIN] = least[:, 0], 0.0 - least[:, 1], least[:, 2]
    return rows


def shape_of(slot: Rows, num_axes: int) -> tuple[int, ...]:
    """Return the shape of the last tensor that was added to a slot."""
    return tuple(int(size) for size in slot[_SHAPE : _SHAPE + num_axes])
