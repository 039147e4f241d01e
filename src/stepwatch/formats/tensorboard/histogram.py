"""How the elements of a tensor are distributed, in the buckets that TensorFlow uses.

The limits of the buckets are 1e-12, 1.1 times that and so on up to 1e20, the same below zero, and
zero. To find the bucket of an element by search takes ten times longer than what is done here: the
first 16 bits of a float64 say its sign, its exponent and its magnitude to a sixteenth. All numbers
that share them are at most 1.0625 apart, so at most one limit lies between them. A table says
which it is, and one comparison on which side of it an element lies.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from ...statistics import BLOCK, MAX, MIN, SUM, SUM_SQ, summarize
from ..smdebug.wire import bytes_field, double_field

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]

_FIRST, _GROWTH, _END = 1e-12, 1.1, 1e20


@cache
def limits() -> Floats:
    """Return the limits of all buckets, shape ``[1549]``, float64, ascending; not to be changed."""
    # Each from the one before, as TensorFlow does: powers would differ in the last bits.
    limit, positive = _FIRST, []
    while limit < _END:
        positive.append(limit)
        limit *= _GROWTH
    return np.array([*(-one for one in reversed(positive)), 0.0, *positive])


@cache
def _table() -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the bucket of the least number of each cell, and where each bucket ends.

    A cell is all the numbers that share their first 16 bits. The outermost buckets have no end.
    """
    edges = limits()
    cell = np.arange(1 << 16, dtype=np.uint64)
    # Below zero, the least number has the greatest magnitude.
    least = cell << np.uint64(48) | np.where(cell >> np.uint64(15), (1 << 48) - 1, 0).astype("u8")
    bucket = np.searchsorted(edges, least.view(np.float64), side="right") - 1
    ends = np.append(edges[1:-1], np.inf)
    return np.clip(bucket, 0, len(ends) - 1), ends


def bucket_counts(array: Array) -> npt.NDArray[np.int64]:
    """Return how many elements each bucket holds.

    A bucket holds its lower limit and not its upper one. Elements beyond the outermost limits are
    counted in the outermost buckets, those that are not finite nowhere.

    Args:
        array: Any shape; integers or real floats, those of ml_dtypes included.

    Returns:
        Shape ``[1548]``, int64.
    """
    buckets, ends = _table()
    flat = array.reshape(-1)
    counts = np.zeros(len(ends), np.int64)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK].astype(np.float64)
        finite = np.isfinite(block)
        if not finite.all():
            block = block[finite]
        found = buckets[(block.view(np.uint64) >> np.uint64(48)).astype(np.intp)]
        found += block >= ends[found]
        counts += np.bincount(found, minlength=len(ends))
    return counts


def histogram(array: Array) -> bytes | None:
    """Return the histogram of a tensor as a ``HistogramProto``.

    It goes from the first bucket that holds something to the last, with an empty one before: only
    upper limits are written.

    Args:
        array: Any shape.

    Returns:
        ``None`` where there is nothing to count: no finite element, or truth values, text or
        complex numbers.
    """
    if not _is_counted(array.dtype):
        return None
    counts, edges = bucket_counts(array), limits()
    filled = np.flatnonzero(counts)
    if not filled.size:
        return None
    first, last = filled[0], filled[-1]
    row = summarize(array)
    numbers = (row[MIN], row[MAX], counts.sum(), row[SUM], row[SUM_SQ])
    parts = [double_field(1 + number, float(value)) for number, value in enumerate(numbers)]
    held = np.concatenate([[0.0], counts[first : last + 1]])
    parts.append(bytes_field(6, edges[first : last + 2].astype("<f8").tobytes()))
    parts.append(bytes_field(7, held.astype("<f8").tobytes()))
    return b"".join(parts)


def _is_counted(dtype: np.dtype[np.generic]) -> bool:
    # Floats of ml_dtypes say kind V, as structures do.
    return dtype.kind in "iuf" or (dtype.kind, dtype.type.__module__) == ("V", "ml_dtypes")
