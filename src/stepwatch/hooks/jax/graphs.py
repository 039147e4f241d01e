"""What the graph of a function of JAX says of the losses, draws and masks that a script writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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


def softmax_over_rows(graph: Any, rows: frozenset[int]) -> bool:
    """Return whether exponentials are added up over the samples, as by a softmax of axis 0.

    Args:
        graph: A ``Jaxpr``.
        rows: How many samples there may be. Of as many rows as columns nothing is said: a loss that
            compares each sample with each goes both ways.
    """
    for part in _graphs(graph):
        exponentials = set()
        for equation in part.eqns:
            if equation.primitive.name == "exp":
                exponentials.add(id(equation.outvars[0]))
            elif equation.primitive.name == "reduce_sum" and equation.params["axes"] == (0,):
                shape = shape_of(equation.invars[0])
                is_of_samples = len(shape) == 2 and shape[0] in rows and 1 < shape[1] != shape[0]
                if is_of_samples and id(equation.invars[0]) in exponentials:
                    return True
    return False


# So many elements of a constant are computed, and a mask of so few positions says nothing.
_MOST_CONSTANT, _LEAST_POSITIONS = 1 << 16, 4
# What a mask adds to scores to leave them out is below this.
_LEFT_OUT = -1e3
# Operations whose graphs are given what they are given.
_CALLS = frozenset({
    *("pjit", "jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat2"),
})  # fmt: skip


def positions_ahead(graph: Any) -> int:
    """Return how many positions after its own each may look at by a constant mask; 0 for none.

    Args:
        graph: A ``Jaxpr``. One that looks nothing up in a table, as tokens are, is none of a text.
    """
    if not any(one.primitive.name == "gather" for part in _graphs(graph) for one in part.eqns):
        return 0
    return max(map(_ahead, _masks(graph, {})), default=0)


def _ahead(mask: npt.NDArray[Any]) -> int:
    """Return by how much a mask, shape ``[..., n, n]``, is too wide for a causal one; else 0."""
    size = mask.shape[-1]
    if mask.shape[-2] != size or size < _LEAST_POSITIONS:
        return 0
    first = mask[(0,) * (mask.ndim - 2)]
    chosen = first if first.dtype == bool else first > _LEFT_OUT
    for seen in (chosen, ~chosen):
        ahead = int(seen[0].sum()) - 1
        if 0 < ahead < size // 2 and np.array_equal(seen, np.tri(size, k=ahead, dtype=bool)):
            return ahead
    return 0


def _masks(graph: Any, known: dict[int, npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    """Yield the matrices of constants by which a graph selects, or which it adds.

    Args:
        graph: A ``Jaxpr``.
        known: What is constant of what it is given, by ``id``; what it makes is added.
    """
    for equation in graph.eqns:
        name = equation.primitive.name
        values = [
            _literal(one) if hasattr(one, "val") else known.get(id(one)) for one in equation.invars
        ]
        used = values[:1] if name == "select_n" else values if name in ("add", "sub") else []
        yield from (one for one in used if one is not None and one.ndim >= 2)
        inner = next(inner_graphs(equation), None)
        if inner is not None:
            given = {
                id(variable): value
                for variable, value in zip(inner.invars, values, strict=False)
                if value is not None and (name in _CALLS or name == "scan")
            }
            for carried in _carried(equation, len(inner.invars)):
                given.pop(id(inner.invars[carried]), None)
            yield from _masks(inner, given)
            if name in _CALLS:
                pairs = zip(equation.outvars, inner.outvars, strict=False)
                made = ((out, given.get(id(one))) for out, one in pairs)
                known.update((id(out), value) for out, value in made if value is not None)
            continue
        constants = [one for one in values if one is not None]
        if len(constants) == len(values) and name not in DRAWS and not name.startswith("random_"):
            known.update(_computed(equation, constants))


def _literal(variable: Any) -> npt.NDArray[Any] | None:
    """Return a number that a graph holds; ``None`` for a random key."""
    return np.asarray(variable.val) if isinstance(variable.aval.dtype, np.dtype) else None


def _computed(
    equation: Any, values: Sequence[npt.NDArray[Any]]
) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield what an operation makes of constants, by ``id``, as far as that is small."""
    if equation.primitive.name == "broadcast_in_dim":
        shape, places = equation.params["shape"], equation.params["broadcast_dimensions"]
        sizes = dict(zip(places, values[0].shape, strict=True))
        narrow = values[0].reshape([sizes.get(axis, 1) for axis in range(len(shape))])
        yield id(equation.outvars[0]), np.broadcast_to(narrow, shape)  # which takes no memory
        return
    largest = max((int(np.prod(shape_of(one))) for one in equation.outvars), default=0)
    if largest <= _MOST_CONSTANT and all(one.size <= _MOST_CONSTANT for one in values):
        made = equation.primitive.bind(*values, **equation.params)
        outputs = made if equation.primitive.multiple_results else [made]
        for variable, value in zip(equation.outvars, outputs, strict=True):
            yield id(variable), np.asarray(value)


#: By what a graph draws.
DRAWS = frozenset({"random_bits", "threefry2x32", "rng_bit_generator"})
_KEY, _OTHER = frozenset({"key"}), frozenset({"other"})
_Sources = frozenset[str]


def draws_by_more(graph: Any, key: int) -> bool:
    """Return whether anything is drawn by a key together with another input.

    Such as a key that is folded with the number of the step: it draws other numbers each time.

    Args:
        graph: A ``Jaxpr``.
        key: Which of its inputs the key is.
    """
    given = [_KEY if place == key else _OTHER for place in range(len(graph.invars))]
    return _KEY | _OTHER in _follow(graph, given)[1]


def _follow(graph: Any, given: Sequence[_Sources]) -> tuple[list[_Sources], set[_Sources]]:
    """Return what each output of a graph is made of, and what there is drawn by.

    Args:
        given: What each input is made of.
    """
    known = dict(zip(map(id, graph.invars), given, strict=True))
    drawn: set[_Sources] = set()
    for equation in graph.eqns:
        taken = [known.get(id(one), frozenset()) for one in equation.invars]
        together = frozenset().union(*taken)
        if equation.primitive.name in DRAWS:
            drawn.add(together)
        made = [together] * len(equation.outvars)
        inner = list(inner_graphs(equation))
        if inner:
            # Which branch of a ``cond`` runs is another way to choose.
            chosen = taken[0] if equation.primitive.name == "cond" else frozenset()
            made = [chosen] * len(equation.outvars)
        for part in inner:
            outputs, found = _follow_inner(equation, part, taken)
            drawn |= found
            is_plain = len(outputs) == len(made)
            all_of = frozenset().union(together, *outputs)
            made = [
                one | (outputs[place] if is_plain else all_of) for place, one in enumerate(made)
            ]
        known.update(zip(map(id, equation.outvars), made, strict=True))
    return [known.get(id(one), frozenset()) for one in graph.outvars], drawn


def _follow_inner(
    equation: Any, graph: Any, taken: Sequence[_Sources]
) -> tuple[list[_Sources], set[_Sources]]:
    """Follow a graph within another; what a loop carries goes round until nothing is added."""
    # Of a ``while`` come those of its condition first, of a ``cond`` the number of the branch.
    beside = len(taken) - len(graph.invars)
    if beside < 0 or (beside and equation.primitive.name not in ("while", "cond")):
        return _follow(graph, [frozenset().union(*taken)] * len(graph.invars))
    given = list(taken[beside:])
    while True:
        outputs, drawn = _follow(graph, given)
        carried = _carried(equation, len(given))
        new = list(given)
        for place, output in zip(carried, outputs, strict=False):
            new[place] = given[place] | output
        if new == given:
            return outputs, drawn
        given = new


def _carried(equation: Any, num_inputs: int) -> range:
    """Return which inputs of the body of a loop are what it returned the time before."""
    if equation.primitive.name == "scan":
        first = equation.params["num_consts"]
        return range(first, first + equation.params["num_carry"])
    if equation.primitive.name == "while":
        return range(equation.params["body_nconsts"], num_inputs)
    return range(0)


def _graphs(graph: Any) -> Iterator[Any]:
    yield graph
    for equation in graph.eqns:
        for inner in inner_graphs(equation):
            yield from _graphs(inner)


def inner_graphs(equation: Any) -> Iterator[Any]:
    """Yield the graphs that an operation is made of."""
    for value in equation.params.values():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner


def _compared(graph: Any) -> int | None:
    made_by = {id(out): equation for equation in graph.eqns for out in equation.outvars}
    summed = {
        shape_of(equation.invars[0])
        for equation in graph.eqns
        if equation.primitive.name == "reduce_sum" and equation.params.get("axes") == (0, 1)
    }
    for equation in graph.eqns:
        if equation.primitive.name != "sub" or shape_of(equation.outvars[0]) not in summed:
            continue
        for column, row in (equation.invars, equation.invars[::-1]):
            number = shape_of(column)[0] if len(shape_of(column)) == 2 else 1
            if number > 1 and (shape_of(column), shape_of(row)) == ((number, 1), (1, number)):
                maker, of_row = made_by.get(id(column)), made_by.get(id(row))
                is_plain = maker is None or maker.primitive.name not in _RESHAPES
                is_given = of_row is not None and _is_of_vector(of_row, number)
                if is_plain and is_given:
                    return int(number)
    return None


def _is_of_vector(equation: Any, number: int) -> bool:
    return equation.primitive.name in _RESHAPES and shape_of(equation.invars[0]) == (number,)


def shape_of(variable: Any) -> tuple[int, ...]:
    return tuple(getattr(variable.aval, "shape", ()))
