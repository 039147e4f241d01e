"""Statistics of tensors on a GPU, by kernels that read each element once.

A tensor is cut into parts, one program each; a second kernel merges the rows of its parts, always
in the same order, so that equal tensors have equal sums. The kernels are Triton's, which comes with
PyTorch for GPUs: it compiles them at their first use, and keeps them on disk.

Rows are packed as ``numerics.packed`` says. Sums are accumulated in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from ...numerics.statistics import NUM_FIELDS

#: Elements that a program takes at a time.
BLOCK = 1024
# How many elements a part has at least, and how many parts a tensor has at most: enough programs
# to use the memory's bandwidth, and few rows to merge.
_LEAST_PART, _MOST_PARTS = 2**15, 512
# Rows that are merged at a time.
_ROWS = 32
# Loads are wide where all parts begin at a multiple of so many elements.
_ALIGNED = 16
# What elements are widened to.
_WIDE = {
    torch.float64: tl.float64,
    **dict.fromkeys((torch.float32, torch.bfloat16, torch.float16), tl.float32),
    **dict.fromkeys((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8), tl.float64),
}
_FIELDS = tl.constexpr(NUM_FIELDS)


@triton.jit(do_not_specialize=["num_elements"])
def _reduce_one(
    elements: tl.tensor,
    num_elements: tl.tensor,
    length: tl.tensor,
    rows: tl.tensor,
    BLOCK: tl.constexpr,  # noqa: N803  as Triton's are written
    WIDE: tl.constexpr,  # noqa: N803
) -> None:
    part = tl.program_id(0).to(tl.int64)
    start = part * length
    size = tl.minimum(num_elements - start, length)
    _reduce_part(elements + start, size, rows + part * _FIELDS, BLOCK, WIDE)


@triton.jit
def _reduce_many(
    base: tl.tensor,
    table: tl.tensor,
    rows: tl.tensor,
    BLOCK: tl.constexpr,  # noqa: N803
    WIDE: tl.constexpr,  # noqa: N803
    ALIGNED: tl.constexpr,  # noqa: N803
) -> None:
    part = tl.program_id(0).to(tl.int64)
    start = tl.load(table + 2 * part)
    if ALIGNED:
        start = tl.multiple_of(start, 16)
    size = tl.load(table + 2 * part + 1)
    _reduce_part(base + start, size, rows + part * _FIELDS, BLOCK, WIDE)


@triton.jit
def _reduce_part(
    first: tl.tensor,
    size: tl.tensor,
    row: tl.tensor,
    BLOCK: tl.constexpr,  # noqa: N803
    WIDE: tl.constexpr,  # noqa: N803
) -> None:
    infinity: tl.constexpr = float("inf")
    zeros = tl.zeros([BLOCK], tl.int32)
    counts = (zeros, zeros, zeros, zeros)
    most = tl.full([BLOCK], infinity, WIDE)
    extremes = (most, -most, most)
    nothing = tl.zeros([BLOCK], tl.float64)
    sums = (nothing, nothing, nothing)
    whole = size // BLOCK * BLOCK  # a mask would make loads narrow
    lane = tl.arange(0, BLOCK)
    for start in range(0, whole, BLOCK):
        value = tl.load(first + start + lane).to(WIDE)
        counts, extremes, sums = _count(value, lane < BLOCK, counts, extremes, sums)
    if whole < size:
        is_there = lane < size - whole
        value = tl.load(first + whole + lane, mask=is_there, other=0).to(WIDE)
        counts, extremes, sums = _count(value, is_there, counts, extremes, sums)
    tl.store(row, size.to(tl.float64))
    for field in tl.static_range(4):
        tl.store(row + 1 + field, tl.sum(counts[field], 0).to(tl.float64))
    tl.store(row + 5, tl.min(extremes[0], 0).to(tl.float64))
    tl.store(row + 6, tl.max(extremes[1], 0).to(tl.float64))
    for field in tl.static_range(3):
        tl.store(row + 7 + field, tl.sum(sums[field], 0))
    tl.store(row + 10, tl.min(extremes[2], 0).to(tl.float64))


@triton.jit
def _count(
    value: tl.tensor,
    is_there: tl.tensor,
    counts: tl.tuple,
    extremes: tl.tuple,
    sums: tl.tuple,
) -> tuple[tl.tuple, tl.tuple, tl.tuple]:
    infinity: tl.constexpr = float("inf")
    nan, posinf, neginf, zeros = counts
    least, greatest, abs_least = extremes
    total, total_abs, total_sq = sums
    is_nan = value != value
    is_posinf = value == infinity
    is_neginf = value == -infinity
    is_finite = is_there & ~(is_nan | is_posinf | is_neginf)
    nan += is_nan.to(tl.int32)
    posinf += is_posinf.to(tl.int32)
    neginf += is_neginf.to(tl.int32)
    zeros += (is_there & (value == 0)).to(tl.int32)
    least = tl.minimum(least, tl.where(is_finite, value, infinity))
    greatest = tl.maximum(greatest, tl.where(is_finite, value, -infinity))
    abs_least = tl.minimum(abs_least, tl.where(is_finite, tl.abs(value), infinity))
    wide = tl.where(is_finite, value, 0).to(tl.float64)
    total += wide
    total_abs += tl.abs(wide)
    total_sq += wide * wide
    return (nan, posinf, neginf, zeros), (least, greatest, abs_least), (total, total_abs, total_sq)


@triton.jit
def _merge(
    rows: tl.tensor,
    ends: tl.tensor,
    merged: tl.tensor,
    ROWS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
) -> None:
    owner = tl.program_id(0).to(tl.int64)
    first = tl.load(ends + owner)
    last = tl.load(ends + owner + 1)
    field = tl.arange(0, WIDTH)
    is_least = (field == 5) | (field == 10)
    is_greatest = field == 6
    infinity: tl.constexpr = float("inf")
    neutral = tl.where(is_least, infinity, tl.where(is_greatest, -infinity, 0.0)).to(tl.float64)
    found = neutral
    for start in range(first, last, ROWS):
        place = start + tl.arange(0, ROWS)
        is_there = (place < last)[:, None] & (field < _FIELDS)[None, :]
        at = place[:, None] * _FIELDS + field[None, :]
        part = tl.load(rows + at, mask=is_there, other=0.0)
        part = tl.where(is_there, part, neutral[None, :])
        least = tl.minimum(found, tl.min(part, 0))
        greatest = tl.maximum(found, tl.max(part, 0))
        summed = found + tl.sum(part, 0)
        found = tl.where(is_least, least, tl.where(is_greatest, greatest, summed))
    tl.store(merged + owner * _FIELDS + field, found, mask=field < _FIELDS)


class GpuRows:
    """The statistics of tensors on one GPU; each tensor has a number of its own."""

    def __init__(self) -> None:
        self._rows: list[torch.Tensor] = []  # of the parts, by launches
        self._owners: list[int] = []
        self._num_parts: list[int] = []  # of each owner

    def reduce(self, tensors: Sequence[tuple[int, torch.Tensor]]) -> None:
        """Launch what reduces tensors, as they are now.

        Args:
            tensors: Each with its number; one axis, a real dtype, all on one GPU.
        """
        alike: dict[torch.dtype, list[tuple[int, torch.Tensor]]] = {}
        for number, tensor in tensors:
            readable = _readable(tensor)
            if readable.numel():
                alike.setdefault(readable.dtype, []).append((number, readable))
        launched = [self._launch([tensor for _, tensor in those]) for those in alike.values()]
        for those, (rows, num_parts) in zip(alike.values(), launched, strict=True):
            self._rows.append(rows)
            self._owners += [number for number, _ in those]
            self._num_parts += num_parts

    @staticmethod
    def _launch(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[int]]:
        """Return rows of parts of tensors of one dtype, and how many parts each has."""
        dtype, device = tensors[0].dtype, tensors[0].device
        sizes = np.array([tensor.numel() for tensor in tensors])
        lengths = _part_lengths(sizes)
        parts = -(-sizes // lengths)
        rows = torch.empty((int(parts.sum()), NUM_FIELDS), dtype=torch.float64, device=device)
        wide = _WIDE[dtype]
        if len(tensors) == 1:
            (tensor,) = tensors
            _reduce_one[(len(rows),)](tensor, tensor.numel(), int(lengths[0]), rows, BLOCK, wide)
        else:
            # Where each part begins, in elements from the first tensor.
            addresses = np.array([tensor.data_ptr() for tensor in tensors])
            begins = np.repeat((addresses - addresses[0]) // dtype.itemsize, parts)
            nth = np.arange(len(rows)) - np.repeat(np.cumsum(parts) - parts, parts)
            before = nth * np.repeat(lengths, parts)
            ends = np.minimum(np.repeat(lengths, parts), np.repeat(sizes, parts) - before)
            table = np.stack([begins + before, ends], axis=1)
            is_aligned = not (begins % _ALIGNED).any()
            _reduce_many[(len(rows),)](
                tensors[0], _sent(table, device), rows, BLOCK, wide, is_aligned
            )
        return rows, parts.tolist()

    def merge(self) -> tuple[list[int], torch.Tensor]:
        """Return the numbers of all that was reduced, and their packed rows, on the GPU.

        The rows have the shape ``[tensors, NUM_FIELDS]``, float64. What is empty has none.
        """
        rows = torch.cat(self._rows)
        ends = np.zeros(len(self._owners) + 1, np.int64)
        ends[1:] = np.cumsum(self._num_parts)
        merged = torch.empty(
            (len(self._owners), NUM_FIELDS), dtype=torch.float64, device=rows.device
        )
        _merge[(len(self._owners),)](rows, _sent(ends, rows.device), merged, _ROWS, 16)
        owners, self._rows, self._owners, self._num_parts = self._owners, [], [], []
        return owners, merged

    def __bool__(self) -> bool:
        return bool(self._rows)


def _part_lengths(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many elements the parts of tensors have, each but the last: whole blocks."""
    lengths = -(-sizes // (_MOST_PARTS * BLOCK)) * BLOCK
    return np.maximum(lengths, _LEAST_PART)


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """Return elements as the kernel reads them: side by side, of a dtype of ``_WIDE``."""
    tensor = tensor.resolve_neg().contiguous()
    if tensor.dtype in _WIDE:
        return tensor
    if tensor.dtype is torch.bool:
        return tensor.view(torch.uint8)
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)


def _sent(table: npt.NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Return a table on a GPU; nothing waits for it to arrive."""
    host = torch.from_numpy(table)
    if device.type == "cpu":
        return host
    return host.pin_memory().to(device, non_blocking=True)
