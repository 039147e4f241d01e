"""How tensors of TensorFlow are read, at once or by operations of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf


class Reading:
    """Reads tensors of TensorFlow; see ``observed.observations.Reader``.

    Args:
        on_host: Whether they are read where they lie; else their statistics are computed there.
    """

    def __init__(self, *, on_host: bool) -> None:
        self.on_host = on_host

    def words(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return counts, int32, and numbers, float64; see ``observed.rows.rows_of``."""
        pairs = [_words_of(value) for value in values]
        counts, numbers = zip(*pairs, strict=True)
        return tf.stack(counts), tf.stack(numbers)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return it as a graph."""
        graph: Callable[..., Any] = tf.function(function, reduce_retracing=True)
        return graph

    def to_numpy(self, value: Any) -> npt.NDArray[np.generic]:
        """Return a tensor as an array that may share its memory."""
        return np.asarray(value)

    def dtype_name(self, value: Any) -> str:
        """Return the name of its dtype."""
        return str(value.dtype.name)


def is_on_host() -> bool:
    """Return whether all devices are processors of this machine."""
    return all(device.device_type == "CPU" for device in tf.config.list_logical_devices())


def stored(gradient: Any) -> Any:
    """Return what is stored of a gradient, as one tensor.

    Of a sparse one, as of an embedding, these are the rows that were looked up, one for each time:
    shape ``[lookups, …]``. Made dense it would be as large as the variable.
    """
    sparse = isinstance(gradient, tf.IndexedSlices)
    return gradient.values if sparse else tf.convert_to_tensor(gradient)


def _words_of(value: Any) -> tuple[Any, Any]:
    is_narrow = value.dtype.is_floating and value.dtype != tf.float64
    wide = tf.cast(value, tf.float32 if is_narrow else tf.float64)
    infinity = tf.constant(np.inf, wide.dtype)
    finite = tf.math.is_finite(wide)
    values = tf.where(finite, wide, tf.zeros_like(wide))
    magnitudes = tf.abs(values)
    counts = [
        tf.ones_like(finite),
        tf.math.is_nan(wide),
        wide == infinity,
        wide == -infinity,
        wide == 0,
    ]
    extremes = [
        tf.reduce_min(tf.where(finite, wide, infinity)),
        tf.reduce_max(tf.where(finite, wide, -infinity)),
    ]
    summed = tf.cast(magnitudes, tf.float64)
    sums = [tf.reduce_sum(tf.cast(values, tf.float64)), tf.reduce_sum(summed)]
    sums.append(tf.reduce_sum(tf.square(summed)))
    least = tf.reduce_min(tf.where(finite, magnitudes, infinity))
    return (
        tf.stack([tf.reduce_sum(tf.cast(one, tf.int32)) for one in counts]),
        tf.stack([tf.cast(one, tf.float64) for one in (*extremes, *sums, least)]),
    )
