"""What leaves the graph of a ``tf.function`` that is the script's own.

Nothing can be added to what it returns. So variables of ours are written to while it runs, as
operations of its graph, and read when it has returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from ..observed.observations import Packed

#: Takes what a slot holds, and says how it ran: the values of its tensors, and their words.
Take = Callable[[Packed, list[Any], list[Any]], None]


class Slot:
    """Variables for what one place of a graph has to tell.

    Args:
        packed: The tensors, of the graph that is being traced.
        take: Called when the graph ran, with what is in the variables.
    """

    def __init__(self, packed: Packed, take: Take) -> None:
        self._packed, self._take = packed, take
        self._runs = _variable(tf.TensorShape([]), tf.int64)
        self._seen = 0
        self._values = [_cell(tensor) for tensor in packed.values]
        self._words = [_cell(tensor) for tensor in packed.words]
        self._runs.assign_add(1)
        packed.release()

    def gather(self) -> int:
        """Take what is there if the graph ran; return how often it ran since the last time."""
        runs = int(self._runs.numpy())
        times, self._seen = runs - self._seen, runs
        if times:
            values, words = self._read(self._values), self._read(self._words)
            self._take(self._packed, values, words)
        return times

    @staticmethod
    def _read(cells: list[Any]) -> list[Any]:
        return [cell.read_value() for cell in cells]


def _cell(tensor: Any) -> Any:
    cell = _variable(tensor.shape, tensor.dtype)
    cell.assign(tensor)
    return cell


def _variable(shape: Any, dtype: Any) -> Any:
    """Return a variable outside of the graph, which only writes to it."""
    # Of its own class: a tf.function lets no tf.Variable be made when it is traced again.
    with tf.init_scope():
        zeros = tf.zeros([size or 0 for size in shape], dtype)
        return ResourceVariable(zeros, trainable=False, shape=shape)
