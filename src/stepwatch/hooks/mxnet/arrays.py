"""MXNet's arrays as numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
from mxnet.ndarray import NDArray
from mxnet.symbol import Symbol

Array = npt.NDArray[np.generic]


def to_numpy(array: NDArray) -> Array:
    """Return a copy of the value of an array, once it is computed; of a sparse one all of it.

    Raises:
        MXNetError: To compute it failed, or something that it is computed from.
    """
    value: Array = array.asnumpy()
    if value.dtype.names == ("bfloat16",):  # a record of one integer, as numpy has no such number
        return value.view(np.uint16).view(ml_dtypes.bfloat16)
    return value


def wide(value: Array) -> Array:
    """Return values that can be multiplied without leaving the range of 16 bits."""
    return value.astype(np.float32) if value.dtype.itemsize < 4 else value


def arrays_in(value: object, path: str = "") -> Iterator[tuple[str, NDArray]]:
    """Yield every array of nested tuples and lists with its path, such as ``/1/0``.

    A value that is an array has the path that is given.
    """
    if isinstance(value, NDArray):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for index, inner in enumerate(value):
            yield from arrays_in(inner, f"{path}/{index}")


def alone(given: tuple[object, ...]) -> object:
    """Return the argument of a call that has but one, else all of them."""
    return given[0] if len(given) == 1 else given


def is_symbolic(value: object) -> bool:
    """Return whether symbols are in nested tuples and lists: a graph is made, nothing runs."""
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    return isinstance(value, Symbol)
