"""Reductions of values, and the names under which stored ones lie.

The standard deviation and the variance are those of the elements as they are (divided by their
number), as NumPy's; a hook for PyTorch stores those of a sample (divided by one less). The norms
are over all elements, whatever the shape, because that is what the stored ones are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import Reduction
from stepwatch.formats.smdebug.reductions import (
    REDUCTION_PREFIX,
    parse_reduction_name,
    reduction_name,
)

from ..exceptions import SMDebugValueError

REDUCTIONS_PREFIX = REDUCTION_PREFIX


def as_reduction(name: str, abs: bool = False) -> Reduction:
    """Return the reduction of this name.

    Raises:
        SMDebugValueError: There is none.
    """
    try:
        reduction = Reduction.parse(name)
    except (ConfigError, AttributeError) as error:
        raise SMDebugValueError(str(error)) from None
    return Reduction(reduction.name, abs or reduction.of_abs)


def get_numpy_reduction(
    reduction_name: str,
    numpy_data: npt.ArrayLike,
    abs: bool = False,
) -> Any:
    """Return a reduction of some values, as a NumPy scalar.

    An empty array has no minimum, maximum, mean, median or spread: these are nan.

    Args:
        reduction_name: ``min``, ``max``, ``mean``, ``std``, ``variance``, ``sum``, ``prod``,
            ``median``, ``l1`` or ``l2``.
        numpy_data: Any shape.
        abs: Whether to reduce the magnitudes.

    Raises:
        SMDebugValueError: There is no such reduction.
    """
    reduction = as_reduction(reduction_name, abs)
    values = np.asarray(numpy_data).ravel()
    if reduction.of_abs:
        values = np.abs(values)
    if not values.size and reduction.name not in ("sum", "prod", "l1", "l2"):
        return np.float64(np.nan)
    return _OF[reduction.name](values)


def get_reduction_tensor_name(
    tensorname: str,
    reduction_name: str,
    abs: bool,
    remove_colon_index: bool = True,
) -> str:
    """Return the name under which a reduction of a tensor is stored."""
    reduction = as_reduction(reduction_name, abs)
    if not remove_colon_index:
        return f"{REDUCTION_PREFIX}{reduction.stored}/{tensorname}"
    return stored_name(reduction, tensorname)


def reverse_reduction_tensor_name(reduction_tensor_name: str) -> tuple[str, str, bool]:
    """Return tensor, reduction and whether it is of the magnitudes, of a stored name."""
    parsed = parse_reduction_name(reduction_tensor_name)
    if parsed is None:
        raise SMDebugValueError(f"{reduction_tensor_name!r} is not the name of a reduction")
    reduction, tensor = parsed
    return tensor, reduction.name, reduction.of_abs


stored_name = reduction_name


def _median(values: npt.NDArray[Any]) -> Any:
    # The lower of two middle elements, as PyTorch's.
    return np.nan if np.isnan(values).any() else np.sort(values)[(len(values) - 1) // 2]


_OF: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "std": np.std,
    "variance": np.var,
    "sum": np.sum,
    "prod": np.prod,
    "median": _median,
    "l1": lambda values: np.linalg.norm(values, 1),
    "l2": lambda values: np.linalg.norm(values, 2),
}
