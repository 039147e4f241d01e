"""Digests and histograms of exponents where a tensor is, in integer operations.

The same numbers as ``digest.digest`` and ``exponents.count_exponents`` give on the host. Nothing
here waits for the accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...digest import FACTORS, GAMMA, SHIFTS
from ...exponents import LOWEST, NUM_BINS

# Elements are taken so many at a time: as 64-bit integers they are 32 MiB.
CHUNK = 2**22
# Each bin is counted in so many places: additions to one place wait for each other.
LANES = 32

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def device_digest(tensor: torch.Tensor) -> torch.Tensor:
    """Return the digest of a tensor, shape ``[]``, where the tensor is.

    Args:
        tensor: Any shape and strides; a real dtype.

    Returns:
        int64; its bits, as an unsigned integer, are the digest.
    """
    flat = tensor.detach().resolve_neg().reshape(-1)
    total = torch.zeros((), dtype=torch.int64, device=flat.device)
    for start, chunk in _chunks(flat):
        total += _mixed(_bits(chunk), start).sum()
    return total


def device_row_digests(rows: torch.Tensor) -> torch.Tensor:
    """Return the digest of each row, shape ``[rows]``, int64, where they are.

    Args:
        rows: Shape ``[rows, elements]``, a real dtype. All of it is widened at once.
    """
    return _mixed(_bits(rows.detach().resolve_neg().contiguous()), 0).sum(-1)


def _bits(values: torch.Tensor) -> torch.Tensor:
    """Return the bits of contiguous elements as unsigned integers in int64, or all 64 of them."""
    width = 8 * values.dtype.itemsize
    bits = values.view(_INTEGERS[values.dtype.itemsize]).to(torch.int64)
    # A negative integer has ones before it.
    return bits & ((1 << width) - 1) if width in (16, 32) else bits


def _chunks(flat: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
    for start in range(0, flat.numel(), CHUNK):
        yield start, flat[start : start + CHUNK]


def _mixed(bits: torch.Tensor, start: int) -> torch.Tensor:
    index = torch.arange(start + 1, start + 1 + bits.shape[-1], device=bits.device)
    words = bits + index * _signed(GAMMA)
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        words = (words ^ _shifted(words, shift)) * _signed(factor)
    return words ^ _shifted(words, SHIFTS[-1])


def _shifted(words: torch.Tensor, by: int) -> torch.Tensor:
    """Shift to the right as unsigned integers would be."""
    return (words >> by) & ((1 << (64 - by)) - 1)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def device_exponents(tensor: torch.Tensor) -> torch.Tensor:
    """Return how many elements have which exponent, where the tensor is.

    Args:
        tensor: Any shape and strides; a real dtype.

    Returns:
        Shape ``[NUM_BINS]``, int64.
    """
    flat = tensor.detach().resolve_neg().reshape(-1)
    places = torch.zeros((NUM_BINS + 1) * LANES, dtype=torch.int64, device=flat.device)
    one = torch.ones((), dtype=torch.int64, device=flat.device)
    for _, chunk in _chunks(flat):
        lane = torch.arange(chunk.numel(), device=flat.device) % LANES
        place = _bins(chunk).to(torch.int64) * LANES + lane
        places.scatter_add_(0, place, one.expand(place.shape))
    return places.view(NUM_BINS + 1, LANES).sum(dim=1)[:NUM_BINS]


def _bins(values: torch.Tensor) -> torch.Tensor:
    """Return the bin of each element, ``NUM_BINS`` for zeros and what is not finite."""
    if values.is_floating_point() and values.dtype.itemsize <= 4:
        bits, mantissa, bias = values.to(torch.float32).view(torch.int32), 23, 127
    else:
        bits, mantissa, bias = values.to(torch.float64).view(torch.int64), 52, 1023
    magnitude = bits & torch.iinfo(bits.dtype).max
    field = magnitude >> mantissa
    bins = (field - (bias + LOWEST)).clamp_(0, NUM_BINS - 1)
    return bins.masked_fill_((magnitude == 0) | (field == 2 * bias + 1), NUM_BINS)
