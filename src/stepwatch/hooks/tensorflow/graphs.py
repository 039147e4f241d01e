"""How tensors of TensorFlow are read, and what leaves the graph of a ``tf.function`` of the script.

Nothing can be added to what it returns. So variables of ours are written to while it runs, as
operations of its graph, and read when it has returned. A graph captures the variables that it and
the functions which it calls write to: so what it runs is known, and is forgotten with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.ops import gen_resource_variable_ops
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from ...model.record import TensorInfo
from ...numerics.packed import Rows, unpack_rows
from ..observations import Outputs, PackedTensors, split_vectors


class TensorReader:
    """Reads tensors of TensorFlow; see ``observations.Reader``.

    Args:
        always_packed: Statistics are computed where they lie, also on the host.
    """

    def __init__(self, *, always_packed: bool = False) -> None:
        self._always_packed = always_packed

    @cached_property
    def on_host(self) -> bool:
        return not self._always_packed and is_on_host()

    def pack(self, values: Sequence[Any]) -> tuple[Any, ...]:
        pairs = [_pack_tensor(tf.convert_to_tensor(value)) for value in values]
        counts, numbers = zip(*pairs, strict=True)
        return tf.stack(counts), tf.stack(numbers)

    def unpack(self, packed: Sequence[Any], infos: Sequence[TensorInfo]) -> Rows:
        del infos  # their sizes may not be known
        counts, numbers = packed
        return unpack_rows(np.asarray(counts), np.asarray(numbers))

    def as_outputs(self, values: Sequence[Any]) -> Outputs:
        """Return few outputs: each costs more than what is copied for it to be one of few."""
        return as_vectors(values) if self.on_host else (values, lambda left: left)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        graph: Callable[..., Any] = tf.function(function, reduce_retracing=True)
        return graph

    def to_numpy(self, value: Any) -> npt.NDArray[np.generic]:
        return np.asarray(value)

    def dtype_name(self, value: Any) -> str:
        return str(value.dtype.name)


def as_vectors(values: Sequence[Any]) -> Outputs:
    """Return tensors of a graph as one vector for each dtype, and what gets them back as arrays."""
    values = [tf.convert_to_tensor(value) for value in values]
    known = [value.shape.as_list() if value.shape.rank is not None else None for value in values]
    by_dtype: dict[Any, list[int]] = {}
    for index, value in enumerate(values):
        by_dtype.setdefault(value.dtype, []).append(index)
    groups = list(by_dtype.values())
    unknown = [index for index, shape in enumerate(known) if shape is None or None in shape]
    vectors = [tf.concat([tf.reshape(values[i], [-1]) for i in one], 0) for one in groups]
    sizes = [tf.shape(values[index], tf.int64) for index in unknown]
    ranks = [tf.rank(values[index]) for index in unknown if known[index] is None]
    outputs = [*vectors, *([tf.concat(sizes, 0)] if sizes else []), *ranks]

    def restore(left: Sequence[Any]) -> Sequence[Any]:
        arrays, shapes = [np.asarray(one) for one in left], list(known)
        place, more_ranks = 0, iter(arrays[len(groups) + 1 :])
        for index in unknown:
            shape = known[index]
            end = place + (int(next(more_ranks)) if shape is None else len(shape))
            shapes[index], place = arrays[len(groups)][place:end].tolist(), end
        sizes_of = [tuple(shape or ()) for shape in shapes]
        found = split_vectors(arrays[: len(groups)], groups, sizes_of)
        return [found[index] for index in range(len(known))]

    return outputs, restore


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


def _pack_tensor(value: Any) -> tuple[Any, Any]:
    """Return the counts and the floats of a packed row, sums accumulated in float64."""
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


#: Of a graph so many operations are looked at to see what lies before what.
_MOST_BEFORE = 20_000
# Behind these nothing is trained by what comes after them.
_CUTS = frozenset(("StopGradient", "PreventGradient"))


def variables_before(loss: Any, trained: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return which variables lie before what is trained, as the graph of a loss says.

    What lies beside it is left out, as the network whose outputs are targets.

    Args:
        loss: A tensor of the graph that is being traced.
        trained: Variables by which gradients are taken,
        others: and others.
    """
    graph = loss.graph
    inside = {id(captured): id(given) for given, captured in graph.captures}
    read = {id(one.handle) for one in trained}

    def is_of(tensor: Any, handles: set[int]) -> bool:
        return inside.get(id(tensor)) in handles

    forward = _operations_before([loss.op])
    readers = {
        operation.name
        for operation in forward.values()
        if any(is_of(one, read) for one in operation.inputs)
    }
    users = [
        operation
        for operation in forward.values()
        if operation.name not in readers and any(one.op.name in readers for one in operation.inputs)
    ]
    # An operation that reads a variable itself, as a look-up, uses it, too.
    users += [forward[name] for name in readers if forward[name].type != "ReadVariableOp"]
    before = _operations_before(users)
    given = {inside.get(id(one)) for operation in before.values() for one in operation.inputs}
    return [one for one in others if id(one.handle) in given]


def _operations_before(ends: Sequence[Any]) -> dict[str, Any]:
    """Return some operations and all before them through which gradients pass, by name."""
    waiting, known = list(ends), {one.name: one for one in ends}
    while waiting and len(known) < _MOST_BEFORE:
        operation = waiting.pop()
        if operation.type in _CUTS:
            continue
        for source in operation.inputs:
            passes = source.dtype.is_floating or source.dtype == tf.resource
            if passes and source.op.name not in known:
                known[source.op.name] = source.op
                waiting.append(source.op)
    return known


class Condition:
    """A variable that graphs read: whether they are to report more than losses."""

    def __init__(self) -> None:
        self._holds = True
        with tf.init_scope(), tf.device("CPU:0"):
            self.variable = ResourceVariable(initial_value=True, trainable=False)

    def set(self, *, holds: bool) -> None:
        if holds is not self._holds:
            self._holds = holds
            self.variable.assign(holds)

    def when(self, make: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Return tensors that a graph makes while this holds, and else empty ones."""
        dtypes: list[Any] = []

        def made() -> list[Any]:
            tensors = [tf.convert_to_tensor(one) for one in make()]
            dtypes[:] = [one.dtype for one in tensors]
            return tensors

        found: Sequence[Any] = tf.cond(
            self.variable.read_value(), made, lambda: [tf.zeros([0], one) for one in dtypes]
        )
        return found


#: Takes what a slot holds: its tensors, their values and their statistics.
SlotConsumer = Callable[[PackedTensors, Sequence[Any], Sequence[Any]], None]


class Slot:
    """Variables for what one point of a graph reports.

    Args:
        pack: Returns the tensors, of the graph that is being traced.
        take: Called when the graph ran, with what is in the variables.
        condition: Report only when the graph runs while this holds.
    """

    def __init__(
        self,
        pack: Callable[[], PackedTensors],
        take: SlotConsumer,
        condition: Condition | None = None,
    ) -> None:
        self._pack, self._take = pack, take
        self.is_conditional = condition is not None
        self._runs = _variable(tf.TensorShape([]), tf.int64)
        self._num_gathered = 0
        if condition is None:
            self._write()
        else:
            tf.cond(condition.variable.read_value(), self._write, lambda: None)

    def _write(self) -> None:
        """Add to the graph what writes to the variables."""
        self._packed = packed = self._pack()
        outputs, self._restore = as_vectors(packed.values)
        self._values = [_cell(tensor) for tensor in outputs]
        self._statistics = [_cell(tensor) for tensor in packed.statistics]
        self._runs.assign_add(1)
        packed.release()
        del self._pack  # it holds tensors of the graph

    def gather(self) -> int:
        """Take what is there if the graph ran; return how often it ran since the last time."""
        runs = int(_read(self._runs))
        times, self._num_gathered = runs - self._num_gathered, runs
        if times:
            values = self._restore([_read(one) for one in self._values])
            self._take(self._packed, values, [_read(one) for one in self._statistics])
        return times

    @property
    def key(self) -> int:
        """What distinguishes it from others among what a graph captures, as long as it lives."""
        return id(self._runs.handle)


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

    def gather(self, function: Any, *, only_losses: bool = False) -> int:
        """Take what a ``tf.function`` reports that returned; return how often a slot ran.

        Args:
            only_losses: What is reported on a condition was not.
        """
        graphs = [concrete.graph for concrete in function._function_cache.values()]
        slots = [slot for one in graphs for slot in self._of(one)]
        chosen = [slot for slot in slots if not (only_losses and slot.is_conditional)]
        return max((slot.gather() for slot in chosen), default=0)

    def _of(self, graph: Any) -> list[Slot]:
        """Return what a graph runs, in the order in which it runs it."""
        if graph not in self._run_by:
            keys = [id(given) for given, _ in graph.captures]
            self._run_by[graph] = [self._by_key[key] for key in keys if key in self._by_key]
        return self._run_by[graph]


def _read(cell: Any) -> Any:
    """Return what a variable holds; its own method takes five times as long."""
    return gen_resource_variable_ops.read_variable_op(cell.handle, cell.dtype).numpy()


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
