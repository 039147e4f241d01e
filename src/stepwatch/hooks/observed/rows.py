"""What an accelerator computed of tensors, as statistics."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...statistics import ABS_MIN, COUNT, MAX, MIN, NUM_FIELDS, ZEROS


def rows_of(
    counts: npt.NDArray[np.generic], numbers: npt.NDArray[np.generic]
) -> npt.NDArray[np.float64]:
    """Return counts and numbers of tensors as statistics.

    Args:
        counts: Of elements, nan, inf, -inf and zeros, shape ``[tensors, 5]``.
        numbers: Least and greatest of the finite ones (inf and -inf if there is none), their sum,
            that of their magnitudes and of their squares, and the least magnitude (inf if there is
            none), shape ``[tensors, 6]``.

    Returns:
        Shape ``[tensors, NUM_FIELDS]``, float64.
    """
    rows = np.empty((len(counts), NUM_FIELDS))
    rows[:, COUNT : ZEROS + 1] = counts
    rows[:, MIN : ABS_MIN + 1] = numbers
    extremes = rows[:, [MIN, MAX, ABS_MIN]]
    rows[:, [MIN, MAX, ABS_MIN]] = np.where(np.isinf(extremes), np.nan, extremes) + 0.0
    return rows
