"""Losses in which predictions and targets are broadcast to all pairs of samples, by their graphs.

Of predictions of shape ``(n, 1)`` and targets of shape ``(n,)`` the difference has shape
``(n, n)``. Its mean is a number like any other. Who means pairs gives both two axes, makes both out
of the same predictions, or weighs, masks or picks some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

_COMPARES = frozenset(("Sub", "SquaredDifference"))
_REDUCTIONS = frozenset(("Mean", "Sum"))
# What bends each of the values it is given: of sums of pairs, as of densities, these are meant.
_CURVES = frozenset((
    *("Cosh", "Exp", "Expm1", "Log", "Log1p", "Relu", "Sigmoid", "Softplus", "Tanh"),
))  # fmt: skip
# What a loss is made of, from a difference on.
_OF_DIFFERENCES = (
    _REDUCTIONS
    | _CURVES
    | {
        *("Abs", "AddN", "AddV2", "Cast", "DivNoNan", "Identity", "Maximum", "Minimum", "Mul"),
        *("Neg", "Pow", "RealDiv", "SelectV2", "Sqrt", "Square"),
    }
)
# What gives a tensor another axis, where it is given one with fewer of them.
_RESHAPES = frozenset(("ExpandDims", "Reshape", "StridedSlice"))
# What leaves a tensor as it is, but for its type and its sign.
_PLAIN = frozenset(("Cast", "Identity", "Neg", "StopGradient"))
#: The types of the operations by which a loss is followed to what it compares.
OF_LOSSES = _OF_DIFFERENCES | _COMPARES | _RESHAPES
#: Of a loss so many operations are looked at, and of a graph to see what lies before what.
_MOST_OPERATIONS, _MOST_BEFORE = 200, 20_000
# These make numbers of shapes, not of data.
_OF_SHAPES = frozenset((
    *("Fill", "LinSpace", "OnesLike", "Range", "Rank", "Shape", "Size", "ZerosLike"),
))  # fmt: skip
_READS = frozenset(("ReadVariableOp",))


def compared_in_graph(made_by: Any, trained: Sequence[Any] = ()) -> int | None:
    """Return with how many targets a loss compares each prediction, as its graph says.

    Args:
        made_by: The operation that computed it, of a graph or an ``EagerOperation``.
        trained: The variables of TensorFlow by which it is differentiated.

    Returns:
        0 where that is the size of a batch, which the graph does not know; ``None`` where nothing
        is compared.
    """
    waiting, known, found = [made_by], {made_by.name: made_by}, None
    broadcasts = []
    while waiting and len(known) <= _MOST_OPERATIONS:
        operation = waiting.pop()
        sources, shape = operation.inputs, operation.outputs[0].shape
        if operation.type in _COMPARES:
            if shape.rank != 0:
                found = 1
            if _column_and_row(operation) is not None:
                broadcasts.append(operation)
                continue
            # What is compared is followed no further: a model may hold differences of its own.
            goes_on = shape.rank == 0 or _are_pairs(shape)
            sources = [one for one in sources if goes_on and _is_like(one.shape, shape)]
        elif operation.type not in _OF_DIFFERENCES:
            continue
        for source in sources:
            if source.op.name not in known:
                known[source.op.name] = source.op
                waiting.append(source.op)
    mistakes = [one for one in broadcasts if not _are_meant(one, trained)]
    if not mistakes or _are_picked(mistakes, list(known.values())):
        return found
    return _column_and_row(mistakes[0])


def _are_pairs(shape: Any) -> bool:
    return bool(shape.rank == 2 and shape[0] == shape[1] != 1)


def _is_like(one: Any, other: Any) -> bool:
    return one.rank == 0 or (_are_pairs(one) and _are_pairs(other))


def _column_and_row(operation: Any) -> int | None:
    """Return of how many rows a difference of shapes ``[n, 1]`` and ``[n]`` is, 0 for unknown."""
    shapes = [one.shape for one in operation.inputs]
    if any(shape.rank is None for shape in shapes):
        return None
    row, column = sorted(shapes, key=lambda shape: shape.rank)
    if (row.rank, column.rank) != (1, 2) or column[1] != 1:
        return None
    same = row[0] == column[0] and row[0] != 1  # both are not known, or the same number
    return int(row[0] or 0) if same else None


def _are_meant(difference: Any, trained: Sequence[Any]) -> bool:
    """Return whether all pairs are meant of which a difference is, by what it is given.

    Args:
        difference: An operation that broadcasts what it is given.
        trained: The variables by which the loss is differentiated.
    """
    column, row = sorted(difference.inputs, key=lambda one: -one.shape.rank)
    maker = _maker(column)
    if maker.type in _RESHAPES and maker.inputs and maker.inputs[0].shape.rank == 1:
        return True
    graph = getattr(difference, "graph", None)
    if graph is None:  # it runs at once: nothing else is known
        return False
    if maker.type in _READS or _maker(row).type in _READS:
        return True
    operations = graph.get_operations()
    moved = _after(operations, _readers(graph, trained))
    ours, theirs = _before(column.op), _before(row.op)
    if not ({column.op.name, row.op.name} & moved) or (ours.keys() & theirs.keys() & moved):
        return True
    return not any(_is_given(one, row.shape[0]) for one in theirs.values())


def _are_picked(differences: Sequence[Any], of_loss: Sequence[Any]) -> bool:
    """Return whether pairs are weighed or masked by others, or sums of some of them are bent.

    Args:
        differences: What pairs are made by.
        of_loss: The operations of the loss.
    """
    graph = getattr(differences[0], "graph", None)
    if graph is None:  # it runs at once
        return False
    after = _after(graph.get_operations(), {one.name for one in differences})
    return any(_picks(one, after) for one in of_loss if one.name in after)


def _maker(tensor: Any) -> Any:
    """Return the operation that made a tensor, or what is as it is but for its type and sign."""
    operation = tensor.op
    while operation.type in _PLAIN and operation.inputs:
        operation = operation.inputs[0].op
    return operation


def _readers(graph: Any, trained: Sequence[Any]) -> set[str]:
    """Return the names of what stands for variables in a graph."""
    handles = {id(one.handle) for one in trained}
    captures = [(id(given), captured.op.name) for given, captured in graph.captures]
    return {name for key, name in captures if key in handles}


def _after(operations: Sequence[Any], begin: set[str]) -> set[str]:
    """Return the names of what is made of some operations; reads of variables are not counted.

    Args:
        operations: Of a graph, in the order in which they were made.
        begin: The names of some, which count.
    """
    found, read = set(begin), set[str]()
    for operation in operations:
        if any(one.op.name in found or one.op.name in read for one in operation.inputs):
            (read if operation.type in _READS else found).add(operation.name)
    return found


def _before(end: Any) -> dict[str, Any]:
    """Return an operation and the data that it is made of, by name; shapes are no data."""
    waiting, known = [end], {end.name: end}
    while waiting and len(known) < _MOST_BEFORE:
        operation = waiting.pop()
        for source in () if operation.type in _OF_SHAPES else _data_of(operation):
            if source.op.name not in known:
                known[source.op.name] = source.op
                waiting.append(source.op)
    return known


def _data_of(operation: Any) -> Iterator[Any]:
    return (one for one in operation.inputs if one.dtype not in (tf.resource, tf.variant))


def _is_given(operation: Any, number: int | None) -> bool:
    """Return whether an operation gives data to a graph, of so many samples."""
    if operation.type == "Const":
        shape = operation.outputs[0].shape
        return bool(shape.rank and number and shape[0] == number)
    return operation.type not in _READS and not any(True for _ in _data_of(operation))


def _picks(operation: Any, after: set[str]) -> bool:
    """Return whether an operation of a loss weighs or masks pairs, or bends sums of them."""
    is_of_pairs = _are_pairs(operation.outputs[0].shape)
    if not is_of_pairs:
        bends = operation.type in _CURVES and operation.outputs[0].shape.rank != 0
        return bends and not any(_are_pairs(one.shape) for one in operation.inputs)
    return any(_are_pairs(one.shape) and one.op.name not in after for one in operation.inputs)
