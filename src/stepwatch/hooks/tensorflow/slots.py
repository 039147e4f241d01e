"""What leaves the graph of a ``tf.function`` that is the script's own.

Nothing can be added to what it returns. So variables of ours are written to while it runs, as
operations of its graph, and read when it has returned. A graph captures the variables that it and
the functions which it calls write to: so what it runs is known, and is forgotten with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph
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

    @property
    def key(self) -> int:
        """What tells it apart from others among what a graph captures, as long as it lives."""
        return id(self._runs.handle)

    @staticmethod
    def _read(cells: list[Any]) -> list[Any]:
        return [cell.read_value() for cell in cells]


class Slots:
    """Slots by the graphs that run them; nothing else holds them."""

    def __init__(self) -> None:
        self._by_key: WeakValueDictionary[int, Slot] = WeakValueDictionary()
        self._traced: WeakKeyDictionary[Any, list[Slot]] = WeakKeyDictionary()
        self._run_by: WeakKeyDictionary[Any, list[Slot]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, slot: Slot) -> None:
        """Keep a slot of the graph that is being traced, for as long as one around it lives."""
        self._by_key[slot.key] = slot
        graph = tf.compat.v1.get_default_graph()
        while isinstance(graph, FuncGraph):
            self._traced.setdefault(graph, []).append(slot)
            graph = graph.outer_graph

    def gather(self, function: Any) -> int:
        """Take what a ``tf.function`` has to tell that returned; return how often a slot ran."""
        graphs = [concrete.graph for concrete in function._function_cache.values()]
        return max((slot.gather() for one in graphs for slot in self._of(one)), default=0)

    def _of(self, graph: Any) -> list[Slot]:
        """Return what a graph runs, in the order in which it runs it."""
        if graph not in self._run_by:
            keys = [id(given) for given, _ in graph.captures]
            self._run_by[graph] = [self._by_key[key] for key in keys if key in self._by_key]
        return self._run_by[graph]


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
