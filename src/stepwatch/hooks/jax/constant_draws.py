"""Whether a function of JAX draws the same for each batch, as by a key that it makes itself.

A key that is made in a jitted function, or that this closes over, is a constant of its graph, and
so is all that is drawn by it: noise or a mask of dropout that is laid over samples is the very same
at each step. Random features, which samples are multiplied by as by a matrix, are so on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graphs import DRAWS, inner_graphs, shape_of

_Marks = frozenset[str]
_NOTHING: _Marks = frozenset()
# What values are made of: samples of a batch, other arguments, or what a loop carries from turn to
# turn and takes one by one; and what is drawn by constants alone.
_BATCH, _GIVEN, _TURN, _DRAWN = (frozenset({one}) for one in ("batch", "given", "turn", "drawn"))
# What lays one array over another of the same shape.
_ELEMENTWISE = frozenset({"add", "add_any", "sub", "mul", "div", "select_n"})
#: Larger graphs are not searched.
_MOST_EQUATIONS = 20_000


def draws_same_for_batch(graph: Any, num_outputs: int) -> bool:
    """Return whether what is drawn by constants is laid over samples, element by element.

    Args:
        graph: A ``Jaxpr`` of a function that trains.
        num_outputs: How many of its outputs are those of the function itself. What comes out as it
            went in, by shape and dtype, are weights and states, and no batch.
    """
    returned = {_kind(one) for one in graph.outvars[:num_outputs]}
    given = [
        _BATCH if len(shape_of(one)) > 1 and _kind(one) not in returned else _GIVEN
        for one in graph.invars
    ]
    inputs = list(zip(graph.invars, given, strict=True))
    search = _Search(
        {shape_of(one)[0] for one, marks in inputs if marks == _BATCH},
        {shape_of(one) for one, marks in inputs if marks == _GIVEN},
    )
    search.follow(graph, given)
    return search.has_found


class _Search:
    """A search for noise that is laid over samples.

    Args:
        sizes: How many samples a batch may have.
        others: Shapes of weights: a mask of these, and of their gradients, may be meant.
    """

    def __init__(self, sizes: set[int], others: set[tuple[int, ...]]) -> None:
        self._sizes, self._others = sizes, others
        self.has_found = False
        self._num_equations = 0

    def follow(self, graph: Any, given: Sequence[_Marks]) -> list[_Marks]:
        """Return what each output of a graph is made of."""
        known = dict(zip(map(id, graph.invars), given, strict=True))
        for equation in graph.eqns:
            self._num_equations += 1
            if self.has_found or self._num_equations > _MOST_EQUATIONS:
                break
            taken = [known.get(id(one), _NOTHING) for one in equation.invars]
            known.update(zip(map(id, equation.outvars), self._made(equation, taken), strict=False))
        return [known.get(id(one), _NOTHING) for one in graph.outvars]

    def _made(self, equation: Any, taken: Sequence[_Marks]) -> list[_Marks]:
        together = _NOTHING.union(*taken)
        name, outputs = equation.primitive.name, equation.outvars
        inner = list(inner_graphs(equation))
        if inner:
            made = [together] * len(outputs) if len(inner) > 1 else []
            for part in inner:
                found = self.follow(part, _given_inside(equation, part, taken, together))
                if len(found) == len(outputs):
                    made = [a | b for a, b in zip(made or found, found, strict=True)]
            return made or [together] * len(outputs)
        if name in DRAWS and not together:
            return [_DRAWN] * len(outputs)
        shape = shape_of(outputs[0]) if outputs else ()  # as of a call of the host
        is_of_batch = len(shape) > 1 and shape[0] in self._sizes and shape not in self._others
        if name in _ELEMENTWISE and is_of_batch:
            whole = [
                marks
                for one, marks in zip(equation.invars, taken, strict=True)
                if shape_of(one) == shape
            ]
            self.has_found |= _DRAWN in whole and any(marks >= _BATCH for marks in whole)
        if name == "broadcast_in_dim" and shape != shape_of(equation.invars[0]):
            together -= _DRAWN  # it is for no sample alone
        return [together] * len(outputs)


def _given_inside(
    equation: Any, graph: Any, taken: Sequence[_Marks], together: _Marks
) -> list[_Marks]:
    """Return what the inputs of a graph within another are made of."""
    name, number = equation.primitive.name, len(graph.invars)
    if name == "scan" and len(taken) == number:
        constants = equation.params["num_consts"]
        return [one | _TURN if at >= constants else one for at, one in enumerate(taken)]
    if name == "cond" and len(taken) == number + 1:
        return [one | taken[0] for one in taken[1:]]
    if name != "while" and len(taken) == number:
        return list(taken)
    return [together | _TURN] * number


def _kind(variable: Any) -> tuple[tuple[int, ...], str]:
    return shape_of(variable), str(getattr(variable.aval, "dtype", ""))
