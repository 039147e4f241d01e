"""Histograms of exponents: how near a tensor is to what a narrow format cannot hold.

A bin counts the elements with 2**e <= |x| < 2**(e + 1). The bins reach below the smallest
subnormal and above the largest value of float16 and of the 8-bit formats.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .elements import KERNEL_KINDS, blocks, is_real
from .elements import kernel as _kernel

Counts = npt.NDArray[np.int64]

NUM_BINS = 64
#: The exponent of bin 0, which also counts everything smaller but zero.
LOWEST = -41
#: The exponent of the last bin, which also counts everything larger that is finite.
HIGHEST = LOWEST + NUM_BINS - 1


def count_exponents(array: npt.NDArray[np.generic]) -> Counts:
    """Return how many elements have which exponent.

    Args:
        array: Any shape and strides; bool, integer or real floating dtype, the ones of ml_dtypes
            included. It is never widened or copied as a whole.

    Returns:
        Shape ``[NUM_BINS]``, int64. Zeros and elements that are not finite are in no bin; what
        is larger than the last bin is in the last. Histograms of parts add up to that of the
        whole.

    Raises:
        TypeError: A dtype without an order, such as complex or object.

    Example:
        >>> counts = count_exponents(np.array([1.0, 1.5, -2.0, 0.0]))
        >>> int(counts[0 - LOWEST]), int(counts[1 - LOWEST])
        (2, 1)
    """
    if not is_real(array.dtype):
        raise TypeError(f"no exponents of dtype {array.dtype}; need bool, integers or real floats")
    counts = np.zeros(NUM_BINS, np.int64)
    if not _read_in_place(array, counts):
        part = np.empty_like(counts)
        for block in blocks(array, np.float64):
            counts += part if _read_in_place(block, part) else _count_block(block)
    return counts


def _read_in_place(array: npt.NDArray[np.generic], out_counts: Counts) -> bool:
    """Let the kernel read the array where it lies, or return False if it cannot."""
    kind = KERNEL_KINDS.get(array.dtype)
    if kind is None or _kernel is None:
        return False
    return _kernel.count_exponents(array.__array_struct__, kind, out_counts.__array_struct__)


def _count_block(block: npt.NDArray[np.float64]) -> Counts:
    values = block[np.isfinite(block) & (block != 0)]
    _, exponents = np.frexp(values)  # |x| = m * 2**exponent, with 0.5 <= m < 1
    bins = np.clip(exponents - 1 - LOWEST, 0, NUM_BINS - 1)
    return np.bincount(bins, minlength=NUM_BINS).astype(np.int64)


def underflow_fraction(counts: Counts, dtype: str) -> npt.NDArray[np.float64]:
    """Return which part of the elements a narrower format would round to zero.

    Those with |x| < s / 2, where s is the smallest subnormal of the format: rounding to nearest
    makes them zero. (It does so with s / 2 itself, too, which is not counted.) Of the elements
    that are finite and not zero.

    Args:
        counts: Shape ``[..., NUM_BINS]``, of ``count_exponents``.
        dtype: The format: ``float16``, ``bfloat16``, or one of the 8-bit floats of ml_dtypes,
            such as ``float8_e4m3fn`` and ``float8_e5m2``.

    Returns:
        Shape ``[...]``, from 0 to 1; nan where there are no elements, and where the bins are too
        coarse to tell: bfloat16 underflows far below ``LOWEST``, so it is 0 if nothing is in bin
        0, else nan.

    Example:
        >>> float(underflow_fraction(count_exponents(np.array([1.0, 1e-9])), "float16"))
        0.5
    """
    _, exponent = math.frexp(_limit(dtype, "smallest_subnormal") / 2)  # s / 2 = 2**(exponent - 1)
    below = exponent - 1 - LOWEST
    if below <= 0:
        return _fraction(np.where(counts[..., 0] > 0, np.nan, 0.0), counts)
    return _fraction(counts[..., :below].sum(axis=-1), counts)


def overflow_fraction(counts: Counts, dtype: str) -> npt.NDArray[np.float64]:
    """Return which part of the elements a narrower format surely cannot hold: too large.

    Those with |x| >= 2**e, the first power of two above the largest value of the format: 2**16
    for float16 and float8_e5m2, 2**9 for float8_e4m3fn. What lies between the largest value
    (65504, 57344, 448) and that power is in one bin with what can be held, and is not counted.
    Of the elements that are finite and not zero.

    Args:
        counts: Shape ``[..., NUM_BINS]``, of ``count_exponents``.
        dtype: The format, as for ``underflow_fraction``.

    Returns:
        Shape ``[...]``, from 0 to 1; nan where there are no elements, and where the bins are too
        coarse to tell: bfloat16 overflows far above ``HIGHEST``, so it is 0 if nothing is in the
        last bin, else nan.

    Example:
        >>> float(overflow_fraction(count_exponents(np.array([1.0, 600.0])), "float8_e4m3fn"))
        0.5
    """
    _, exponent = math.frexp(_limit(dtype, "max"))  # max < 2**exponent
    if exponent > HIGHEST:
        return _fraction(np.where(counts[..., -1] > 0, np.nan, 0.0), counts)
    return _fraction(counts[..., exponent - LOWEST :].sum(axis=-1), counts)


def _limit(dtype: str, name: str) -> float:
    return float(getattr(ml_dtypes.finfo(dtype), name))  # type: ignore[no-untyped-call]


def _fraction(part: npt.NDArray[np.generic], counts: Counts) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        fraction: npt.NDArray[np.float64] = part / counts.sum(axis=-1)
    return fraction
