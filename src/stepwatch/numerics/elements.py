"""The elements of an array: read by the kernel where they lie, else in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

try:
    from .. import _kernel as kernel
except ImportError:  # built without a C compiler
    kernel = None  # type: ignore[assignment]  # every use asks for it

__all__ = ["BLOCK", "KERNEL_KINDS", "blocks", "is_real", "kernel"]

Array = npt.NDArray[np.generic]

#: How many elements are read together: small enough to stay in the L2 cache as float64.
BLOCK = 32_768

#: What the kernel calls the dtypes that it reads.
KERNEL_KINDS = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(ml_dtypes.bfloat16): 2,
    np.dtype(np.float16): 3,
}


def is_real(dtype: np.dtype[Any]) -> bool:
    """Return whether elements of a dtype are real numbers: bool, integers, floats, ml_dtypes."""
    # Most dtypes of ml_dtypes say kind V, like structures; its complex ones say W.
    return dtype.kind in "biuf" or (dtype.kind, dtype.type.__module__) == ("V", "ml_dtypes")


def blocks(
    array: Array, dtype: npt.DTypeLike, order: Literal["C", "K"] = "K"
) -> Iterator[npt.NDArray[Any]]:
    """Yield all elements, at most ``BLOCK`` at a time; each block is gone when the next one comes.

    Args:
        array: Any shape and strides.
        dtype: The dtype of the blocks.
        order: ``C`` for the order of indices, ``K`` for any.
    """
    yield from np.nditer(  # type: ignore[call-overload]  # it takes contig for config
        array,
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly", "contig", "aligned", "nbo"]],
        op_dtypes=[np.dtype(dtype)],
        casting="unsafe",  # so that 64-bit integers may be rounded
        order=order,
        buffersize=BLOCK,
    )
