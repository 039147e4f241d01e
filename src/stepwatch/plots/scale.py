"""Which axis suits values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Above this many times the median, a linear axis shows the largest value and nothing else.
_SPREAD = 5.0


def suits_log(values: npt.ArrayLike) -> bool:
    """Return whether a logarithmic axis suits: all positive, the largest far above the median.

    Args:
        values: Any shape; nan and infinities are left aside.

    Example:
        >>> suits_log([27.0, 2.4, 2.3, 2.3]), suits_log([3.0, 2.0, 1.0]), suits_log([9.0, 0.0])
        (True, False, False)
    """
    array = np.asarray(values, np.float64)
    finite = array[np.isfinite(array)]
    if not finite.size or finite.min() <= 0:
        return False
    return bool(finite.max() > _SPREAD * np.median(finite))
