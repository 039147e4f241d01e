"""Statistics that a device computed, on their way to the host: one layout, one decoder.

A packed row has the fields of ``statistics.FIELDS`` in their order. It differs from a row of
statistics in one thing: where no element is finite the least is inf, the greatest -inf and the
least magnitude inf, because so rows merge by plus, minimum and maximum alone, and so an operation
of any framework says it. Each framework packs in operations of its own; what they send differs in
dtype, and is decoded here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .statistics import ABS_MIN, COUNT, MAX, MIN, NUM_FIELDS, SUM, SUM_ABS, SUM_SQ, ZEROS

Rows = npt.NDArray[np.float64]
Sent = npt.NDArray[np.generic]

#: The packed row of no elements, shape ``[NUM_FIELDS]``.
EMPTY: Rows = np.zeros(NUM_FIELDS)
EMPTY[[MIN, MAX, ABS_MIN]] = np.inf, -np.inf, np.inf
EMPTY.flags.writeable = False


def unpack_rows(counts: Sent, floats: Sent, divisor: Rows | float = 1.0) -> Rows:
    """Return packed rows as statistics.

    Args:
        counts: The fields from ``COUNT`` to ``ZEROS``, shape ``[rows, 5]``.
        floats: The fields from ``MIN`` to ``ABS_MIN``, shape ``[rows, 6]``.
        divisor: By what elements were divided before they were summed, so that squares neither
            vanish nor overflow where float64 is not at hand; shape ``[rows]`` or one number.

    Returns:
        Shape ``[rows, NUM_FIELDS]``, float64.

    Example:
        >>> row = unpack_rows(EMPTY[None, : ZEROS + 1], EMPTY[None, MIN:])[0]
        >>> row[[COUNT, SUM, MIN]]
        array([ 0.,  0., nan])
    """
    rows = np.empty((len(counts), NUM_FIELDS))
    rows[:, COUNT : ZEROS + 1] = counts
    rows[:, MIN:] = floats
    extremes = rows[:, [MIN, MAX, ABS_MIN]]
    rows[:, [MIN, MAX, ABS_MIN]] = np.where(np.isinf(extremes), np.nan, extremes) + 0.0  # no -0.0
    for field in (SUM, SUM_ABS):
        rows[:, field] *= divisor
    rows[:, SUM_SQ] *= np.square(divisor)
    return rows
