"""What the graph of a function of JAX says of the loss that a script writes out in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# What gives an array another axis, or another order of them: what it makes may be meant so.
_RESHAPES = ("broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims")


def compared_in_graph(graph: Any) -> int | None:
    """Return with how many targets a loss compares each prediction; ``None`` for one at most.

    A difference of shapes ``[n, 1]`` and ``[n]``, of which all pairs are added up, is broadcast by
    mistake. Who means pairs makes both out of arrays of one axis.

    Args:
        graph: A ``Jaxpr``.
    """
    for part in _graphs(graph):
        number = _compared(part)
        if number is not None:
            return number
    return None


def _graphs(graph: Any) -> Iterator[Any]:
    yield graph
    for equation in graph.eqns:
        for value in equation.params.values():
            for one in value if isinstance(value, (list, tuple)) else (value,):
                inner = getattr(one, "jaxpr", one)
                if hasattr(inner, "eqns"):
                    yield from _graphs(inner)


def _compared(graph: Any) -> int | None:
    made_by = {id(out): equation for equation in graph.eqns for out in equation.outvars}
    summed = {
        _shape(equation.invars[0])
        for equation in graph.eqns
        if equation.primitive.name == "reduce_sum" and equation.params.get("axes") == (0, 1)
    }
    for equation in graph.eqns:
        if equation.primitive.name != "sub" or _shape(equation.outvars[0]) not in summed:
            continue
        for column, row in (equation.invars, equation.invars[::-1]):
            number = _shape(column)[0] if len(_shape(column)) == 2 else 1
            if number > 1 and (_shape(column), _shape(row)) == ((number, 1), (1, number)):
                maker, of_row = made_by.get(id(column)), made_by.get(id(row))
                is_plain = maker is None or maker.primitive.name not in _RESHAPES
                is_given = of_row is not None and _is_of_vector(of_row, number)
                if is_plain and is_given:
                    return int(number)
    return None


def _is_of_vector(equation: Any, number: int) -> bool:
    return equation.primitive.name in _RESHAPES and _shape(equation.invars[0]) == (number,)


def _shape(variable: Any) -> tuple[int, ...]:
    return tuple(getattr(variable.aval, "shape", ()))
