"""Statistics as operations of a backend: on an accelerator, also inside of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np


def words(values: Sequence[Any]) -> tuple[Any, Any]:
    """Return what the statistics of tensors follow from; may be traced.

    Sums are accumulated in float64, but in float32 on JAX, which has no other unless it is told to.

    Args:
        values: Tensors of any shape and real dtype; at least one.

    Returns:
        What ``rows_of`` takes: counts, int32, and numbers.
    """
    pairs = [_words_of(value) for value in values]
    counts, numbers = zip(*pairs, strict=True)
    return keras.ops.stack(counts), keras.ops.stack(numbers)


def _words_of(value: Any) -> tuple[Any, Any]:
    ops = keras.ops
    kind = keras.backend.standardize_dtype(value.dtype)
    widest = _widest()
    wide = ops.cast(value, "float32" if "float" in kind and kind != "float64" else widest)
    finite = ops.isfinite(wide)
    values = ops.where(finite, wide, ops.zeros_like(wide))
    magnitudes = ops.abs(values)
    infinity = ops.full_like(wide, np.inf)
    counts = [
        ops.ones_like(finite),
        ops.isnan(wide),
        ops.equal(wide, infinity),
        ops.equal(wide, -infinity),
        ops.equal(wide, ops.zeros_like(wide)),
    ]
    extremes = [
        ops.min(ops.where(finite, wide, infinity), initial=np.inf),
        ops.max(ops.where(finite, wide, -infinity), initial=-np.inf),
    ]
    summed = [ops.cast(one, widest) for one in (values, magnitudes)]
    sums = [ops.sum(one) for one in (*summed, ops.square(summed[1]))]
    least = ops.min(ops.where(finite, magnitudes, infinity), initial=np.inf)
    return (
        ops.stack([ops.sum(ops.cast(one, "int32")) for one in counts]),
        ops.stack([ops.cast(one, widest) for one in (*extremes, *sums, least)]),
    )


def _widest() -> str:
    return "float32" if keras.backend.backend() == "jax" else "float64"
