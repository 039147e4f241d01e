"""What a narrower format would lose of tensors, as the histograms of their exponents tell."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from ..exponents import LOWEST, NUM_BINS, Counts, overflow_fraction, underflow_fraction
from .checks import Floats, dtype_max

FORMATS = ("float16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def least_normal(dtype: str) -> float:
    """Return the least number of a format that has all its bits.

    Example:
        >>> least_normal("float8_e4m3fn")
        0.015625
    """
    return float(ml_dtypes.finfo(dtype).smallest_normal)  # type: ignore[no-untyped-call]


def lost(counts: Counts, dtype: str, *, scaled: bool) -> tuple[Floats, Floats]:
    """Return which part of each tensor's elements a format makes zero, and cannot hold.

    Args:
        counts: Histograms of exponents, shape ``[tensors, NUM_BINS]``.
        dtype: The format.
        scaled: Each tensor is first multiplied by the power of two that brings its largest element
            just below the largest of the format.

    Returns:
        Shares of the elements that are not zero, shape ``[tensors]`` each; nan for a tensor that
        is all zero.
    """
    if scaled:
        to = math.frexp(dtype_max(dtype))[1] - 1 - LOWEST
        counts = np.array([_moved(one, to) for one in counts])
    return underflow_fraction(counts, dtype), overflow_fraction(counts, dtype)


def _moved(counts: Counts, to: int) -> Counts:
    """Return a histogram whose last element lies in the bin ``to``."""
    filled = np.flatnonzero(counts)
    by = to - int(filled[-1]) if len(filled) else 0
    moved = np.zeros_like(counts)
    np.add.at(moved, np.clip(np.arange(NUM_BINS) + by, 0, NUM_BINS - 1), counts)
    return moved
