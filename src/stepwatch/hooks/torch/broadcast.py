"""Losses in which values of samples are broadcast to all pairs of samples, by their graphs.

What has a value for each of ``n`` samples has shape ``(n,)`` or ``(n, 1)``. Where one of each kind
meet, the result has shape ``(n, n)``: each prediction is compared with the targets of all samples,
or each log-probability is multiplied by the advantages of all. Their mean is a number like any
other. Pairs that are meant are of predictions with each other, or are weighed, masked or ranked
before they are summed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from .autograd import operation, saved_as_is
from .internals import output_shape

Shape = tuple[int, ...]

# A loss that is written out takes so many operations at most, and a value of a sample so many
# until it has another shape.
_MOST_OPERATIONS, _MOST_OF_VALUE = 256, 24
# What a loss makes of each difference or product, whatever the others are.
_OF_EACH = frozenset({
    *("add", "sub", "rsub", "neg", "mul", "div", "abs", "pow", "sqrt", "log", "log1p", "cosh"),
    *("maximum", "minimum", "clamp", "clamp_min", "clamp_max", "where", "relu", "leaky_relu"),
    *("softplus", "log_sigmoid", "sigmoid", "tanh", "threshold", "sgn", "alias", "clone"),
    "to_copy",
})  # fmt: skip
# What adds up pairs as they are; what picks some of them is no such.
_SUMS = frozenset({
    *("mean", "sum", "nanmean", "nansum", "linalg_vector_norm", "norm", "view", "reshape_alias"),
    *("unsafe_view", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
})  # fmt: skip
# Of one value each they make one.
_CROSSINGS = frozenset({"add", "sub", "rsub", "mul", "div"})
# What makes one value of many.
_REDUCTIONS = frozenset({"mean", "sum", "amax", "amin", "max", "min", "logsumexp", "prod"})
#: Of a matrix that is no parameter so many rows and columns are read.
_MOST_READ = 64
# The part of a matrix that is no sum of a value of its row and one of its column.
_ROUNDED = 1e-4


@dataclass
class _Pairs:
    """What is of all pairs of so many samples.

    Args:
        shapes: Of the values of samples that they are made of.
        is_broadcast: Whether such values met others that have no gradient,
        is_crossed: or others that are made by other parameters, each by some of its own.
        is_meant: Whether there are pairs that are meant, or that may be.
        conditions: What must hold of these, each a bool of shape ``[]``, where they are.
    """

    shapes: set[Shape] = field(default_factory=set)
    is_broadcast: bool = False
    is_crossed: bool = False
    is_meant: bool = False
    conditions: list[torch.Tensor] = field(default_factory=list)


def targets_per_prediction(loss: torch.Tensor, batch: int) -> torch.Tensor | None:
    """Return with how many targets, or weights, a loss puts each of a batch of values together.

    Args:
        loss: Of which no gradients were computed yet: the mean or sum of what is made of each
            difference or product, and perhaps more.
        batch: How many samples a model was given.

    Returns:
        float32, shape ``[]``, where the loss is: how many values there are if those of shape
        ``(n, 1)`` and ``(n,)`` are broadcast against each other, else 1. ``None`` where that is
        known without reading what was computed.
    """
    found = [
        (number, pairs)
        for number, pairs in _pairs_of(loss.grad_fn, batch).items()
        if not pairs.is_meant
        and (pairs.is_crossed or (pairs.is_broadcast and len(pairs.shapes) == 1))
    ]
    if len(found) != 1:
        return None
    ((number, pairs),) = found
    result = torch.full((), float(number), device=loss.device)
    for holds in pairs.conditions:
        result = torch.where(holds, result, 1.0)
    return result


def _pairs_of(root: Any, batch: int) -> dict[int, _Pairs]:
    """Return what of a graph is of all pairs, by the number of samples; nothing of a large one."""
    found: dict[int, _Pairs] = {}
    left, seen = [root], {None, root}
    while left:
        node = left.pop()
        shape = output_shape(node)
        if _are_pairs(shape):
            _look_at(node, batch, found.setdefault(shape[0], _Pairs()))
        for producer, _ in _inputs(node):
            of = output_shape(producer)
            # What pairs are made of is looked through for itself.
            is_of_few = len(of) < 2 and not (of and _are_pairs(shape))
            if _are_pairs(of) and not _are_pairs(shape) and operation(node) not in _SUMS:
                found.setdefault(of[0], _Pairs()).is_meant = True
            if producer not in seen and (is_of_few or _are_pairs(of)):
                seen.add(producer)
                left.append(producer)
        if len(seen) > _MOST_OPERATIONS:
            return {}
    return found


def _inputs(node: Any) -> list[tuple[Any, int]]:
    """Return what made the inputs of an operation that have gradients, and their places."""
    edges = getattr(node, "next_functions", ())
    return [(one, place) for place, (one, _) in enumerate(edges) if one is not None]


def _are_pairs(shape: Shape) -> bool:
    return len(shape) == 2 and shape[0] == shape[1] > 1


def _look_at(node: Any, batch: int, pairs: _Pairs) -> None:
    """Note what an operation whose result is of all pairs is given."""
    name, inputs, number = operation(node), _inputs(node), output_shape(node)[0]
    shapes = [output_shape(one) for one, _ in inputs]
    values = {shape for shape in shapes if shape in ((number,), (number, 1))}
    pairs.shapes |= values
    is_known = name in _OF_EACH and all(
        shape in values or shape.count(number) in (0, 2) for shape in shapes
    )
    if is_known and len(values) == len(inputs) == 2:
        one, other = (producer for producer, _ in inputs)
        pairs.is_crossed |= name in _CROSSINGS and _are_of_others(one, other, number, batch)
    elif is_known and len(inputs) == 1:
        ((producer, place),) = inputs
        pairs.is_broadcast |= bool(values)
        if name in ("mul", "div"):
            is_known = _has_known_factor(node, producer, place, batch, pairs)
        elif values:
            is_known = name == "sub" and _is_of_samples(producer, number, batch)
        else:
            is_known = name != "where"  # which leaves out some of the pairs
    pairs.is_meant |= not is_known


def _are_of_others(one: Any, other: Any, number: int, batch: int) -> bool:
    """Return whether two values of samples are made by parameters of their own each, too.

    Differences of one prediction are those of pairs that are meant.
    """
    if not all(_is_of_samples(each, number, batch) for each in (one, other)):
        return False
    ours, theirs = _leaves(one), _leaves(other)
    return bool(ours - theirs) and bool(theirs - ours)


def _leaves(root: Any) -> set[Any]:
    """Return the ends of a graph, its parameters; none of a large graph."""
    left, seen, found = [root], {root}, set()
    while left:
        node = left.pop()
        inputs = [producer for producer, _ in _inputs(node)]
        if not inputs:
            found.add(node)
        left += [one for one in inputs if one not in seen]
        seen.update(inputs)
        if len(seen) > _MOST_OPERATIONS:
            return set()
    return found


def _has_known_factor(node: Any, producer: Any, place: int, batch: int, pairs: _Pairs) -> bool:
    """Return whether what something is multiplied by may be a broadcast, or leaves it one."""
    factor = saved_as_is(node, "self" if place else "other")
    shape, number = output_shape(producer), output_shape(node)[0]
    if factor is None:
        return False
    if factor.shape != (number, number):
        return _are_pairs(shape) or _is_of_samples(producer, number, number)
    varies = {(number,): 0, (number, 1): 1}.get(shape)
    pairs.conditions.append(_is_sum_of_two(factor.detach(), varies))
    return _are_pairs(shape) or _is_of_samples(producer, number, batch)


def _is_of_samples(node: Any, number: int, batch: int) -> bool:
    """Return whether what an operation made has a value for each sample, and is no parameter.

    Samples are those of the batch, or were put together one by one.
    """
    is_value = True
    for _ in range(_MOST_OF_VALUE):
        name, inputs = operation(node), [one for one, _ in _inputs(node)]
        if name in ("stack", "cat") and len(inputs) == number:
            return True
        shapes = [output_shape(one) for one in inputs]
        if is_value and (not inputs or (name in _REDUCTIONS and (number, number) in shapes)):
            return False
        before = [one for one, shape in zip(inputs, shapes, strict=True) if shape[:1] == (number,)]
        if not before and (not inputs or any(shapes)):
            break
        node = (before or inputs)[0]
        is_value &= output_shape(node) in ((number,), (number, 1), ())
    return number == batch


def _is_sum_of_two(matrix: torch.Tensor, varies: int | None) -> torch.Tensor:
    """Return whether each element is the sum of a value of its row and one of its column.

    Args:
        matrix: Shape ``[n, n]``, real.
        varies: Along this axis elements must vary; ``None`` for either.
    """
    every = -(-len(matrix) // _MOST_READ)
    some = matrix[::every, ::every].to(torch.float64)
    left = some - some[:, :1] - some[:1] + some[:1, :1]
    size = some.max() - some.min()
    is_sum = (left.abs().max() <= _ROUNDED * size) & (size > 0)
    if varies is None:
        return is_sum
    along = some.amax(varies) - some.amin(varies)
    return is_sum & (along.max() > _ROUNDED * size)
