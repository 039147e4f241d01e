"""What the graph of a loss holds of its forward pass: operations, and what they were given.

Autograd saves for the backward pass what most operations were given, or what came out. So it can
be found after the fact which operation made the first nan or infinity, of a step in which no output
of a module was observed; which operation has an infinite derivative there; and which layers follow
each other with no activation between them.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import torch

from ..observations import are_permuted
from .internals import output_shape

#: Larger graphs are not searched: this happens within somebody's step.
MOST_NODES = 20_000
_PREFIX = "_saved_"
_RESULTS = re.compile(r"(result|output|out|indices|ret)s?\d*$")
# Of these operations only what they were given is saved; of a division the divisor is enough.
_REPEATED: Mapping[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "log": ("self", torch.log),
    "log2": ("self", torch.log2),
    "log10": ("self", torch.log10),
    "log1p": ("self", torch.log1p),
    "acos": ("self", torch.acos),
    "asin": ("self", torch.asin),
    "div": ("other", torch.reciprocal),
}
# Which argument it is that an operation has saved under a name, where that is one for all.
_PLACES: Mapping[str, int] = {"self": 0, "other": 1, "target": 1}
# What only gives a parameter another shape, or number format.
_VIEWS = frozenset({"t", "view", "transpose", "unsqueeze", "to_copy", "permute"})
_NAME = re.compile(r"Backward\d*$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Operations that multiply by a matrix, and those between them that leave the product linear. A
# normalization of a batch and a dropout are none in training, and are one in evaluation.
PRODUCTS = frozenset({"addmm", "mm", "linear", "convolution"})
_TURNS = frozenset({"t", "transpose", "permute"})  # of a matrix: W.t(), W.mT, W.T
_LINEAR = frozenset({
    *("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "expand", "clone", "alias"),
    *("to_copy", "transpose", "permute", "t", "add", "mul", "native_dropout", "fused_dropout"),
    *("native_batch_norm", "cudnn_batch_norm", "avg_pool2_d", "avg_pool3_d"),
    *("adaptive_avg_pool2_d", "adaptive_avg_pool3_d"),
})  # fmt: skip
# Operations whose result has a range of its own, with what they save: the result, or what they were
# given. Those that only give it another shape or format leave it there.
_RANGED: Mapping[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "sigmoid": ("result", torch.clone),
    "softmax": ("result", torch.clone),
    "relu": ("result", torch.clone),
    "exp": ("result", torch.clone),
    "softplus": ("self", torch.nn.functional.softplus),
}
_SAME_RANGE = frozenset({
    *("view", "reshape_alias", "unsafe_view", "squeeze", "unsqueeze", "expand", "clone", "alias"),
    *("to_copy", "transpose", "permute", "t", "select", "slice", "index", "unbind", "split"),
})  # fmt: skip
_SINES = frozenset({"sin", "cos"})
# So many operations are looked at for the layer before one.
_MOST_BEFORE = 32
# Of so many rows what is the smallest in each tells what a mask does.
_LEAST_ROWS = 8
# What is no more than this is an epsilon.
_EPSILON = 1e-2


@dataclass(frozen=True, eq=False)
class Product:
    """A multiplication by a parameter that is a matrix, or by that of a convolution.

    Args:
        weight: The parameter, of two dimensions or more.
        inputs, outputs: How many columns, or channels, it takes and returns.
        before: The one before it whose outputs it alone is given, with nothing between them but
            what is linear; ``None`` if there is no such one.
    """

    weight: torch.Tensor
    inputs: int
    outputs: int
    before: Product | None


@dataclass(frozen=True)
class NonFiniteOperation:
    """The operation that made the first value of a forward pass that is not finite.

    Args:
        name: Such as ``log``, with the module whose parameters it meets next, where that is known.
        inputs: What it was given, as far as that was kept, all finite.
        output: What it made; ``None`` if ``inputs`` are data that were not finite.
    """

    name: str
    inputs: tuple[torch.Tensor, ...]
    output: torch.Tensor | None


def find_non_finite(loss: torch.Tensor, names: Mapping[int, str]) -> NonFiniteOperation | None:
    """Return where the forward pass of a loss stopped being finite; ``None`` if that is unknown.

    A parameter that was not finite before is no operation.

    Args:
        loss: Of which no gradients were computed yet.
        names: Of the parameters, by ``id``.
    """
    if loss.grad_fn is None:
        return None
    consumers = forward_order(loss.grad_fn)
    nodes = [(node, dict(_saved_tensors(node))) for node in consumers]
    for is_bad in (_is_hard, _is_not_finite):  # minus infinity alone may be a mask
        for node, saved in nodes:
            inputs = {key: value for key, value in saved.items() if not _RESULTS.search(key)}
            key = next((key for key, value in inputs.items() if is_bad(value)), None)
            if key is not None:
                place = _PLACES.get(key)
                return _made_by_producer(node, consumers, inputs[key], names, place)
            made = [value for key, value in saved.items() if key not in inputs]
            key, repeat = _REPEATED.get(operation(node), ("", torch.abs))
            if key in inputs:
                made.append(repeat(inputs[key].detach()))
            bad = next(filter(_is_not_finite, made), None)
            if bad is not None:
                name = _title(node, consumers, names, consumers[node])
                return NonFiniteOperation(name, tuple(inputs.values()), bad)
    return None


def products(loss: torch.Tensor) -> list[Product]:
    """Return the multiplications by parameters behind a loss, each after those before it.

    Those of convolutions by groups and of transposed ones are left out.
    """
    found: dict[Any, Product] = {}
    if loss.grad_fn is None:
        return []
    order = forward_order(loss.grad_fn)
    consumers = Counter(producer for node in order for producer, _ in node.next_functions)
    for node in order:
        name = operation(node)
        weight = _weight_of(node) if name in PRODUCTS else None
        if weight is None or getattr(node, "_saved_groups", 1) != 1:
            continue
        if getattr(node, "_saved_transposed", False):
            continue
        before = input_of(node)
        while before is not None and consumers[before] == 1 and before not in found:
            before = input_of(before) if _is_linear(before) else None
        is_only = before is not None and consumers[before] == 1
        # A product of values and a matrix that is no parameter of a layer has it the other way.
        is_layer = name == "convolution" or operation(_producer_of(node, weight)) in _TURNS
        outputs, inputs = weight.shape[:2] if is_layer else weight.shape[1::-1]
        found[node] = Product(weight, inputs, outputs, found.get(before) if is_only else None)
    return list(found.values())


def softmaxes_over_first(loss: torch.Tensor, size: int, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the softmaxes over the first dimension of what has so many rows, as the loss's input.

    Nothing is said where another dimension has the same size, such as of similarities of a batch.

    Args:
        loss: Of which no gradients were computed yet.
        size: The number of samples of the batch.
        names: Of the parameters, by ``id``.
    """
    if loss.grad_fn is None:
        return
    consumers = forward_order(loss.grad_fn)
    rows = [shape[0] for node in reversed(consumers) if (shape := output_shape(node))]
    if rows[:1] != [size]:
        return
    for node in consumers:
        shape = output_shape(node) if "softmax" in operation(node) else ()
        if len(shape) < 2 or shape[0] != size or shape.count(size) != 1:
            continue
        if dimension(node, len(shape)) == 0:
            yield _title(node, consumers, names, consumers[node])


def min_max_of_masked(loss: torch.Tensor) -> Iterator[str]:
    """Yield ``min`` or ``max`` where all that a loss takes is what a mask has set to zero.

    As of ``(distances * mask).min(1)``: what is left out is 0, and so the smallest. No gradient
    goes to anything else.

    Args:
        loss: Of which no gradients were computed yet.
    """
    for node in () if loss.grad_fn is None else forward_order(loss.grad_fn):
        name = operation(node)
        indices = saved_as_is(node, "indices") if name in ("min", "max") else None
        product = node.next_functions[0][0] if node.next_functions else None
        if indices is None or product is None or operation(product) != "mul":
            continue
        rank = len(output_shape(product))
        if rank < 2 or not hasattr(node, "_saved_dim"):
            continue
        place = dimension(node, rank)
        chosen = indices if indices.dim() == rank else indices.unsqueeze(place)
        for mask in (saved_as_is(product, one) for one in ("self", "other")):
            if mask is None or mask.dim() != rank or mask.requires_grad:
                continue
            kept = mask.detach().float()
            if not bool(((kept == 0) | (kept == 1)).all()) or chosen.shape[0] < _LEAST_ROWS:
                continue
            if bool(kept.any()) and not bool(kept.gather(place, chosen).any()):
                yield name


def softmaxes_of_one(loss: torch.Tensor, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the softmaxes over one element, which is 1 whatever is learnt, that a loss is made of.

    Of matrices, and of ``[samples, places, 1]``: attention to the one token there is has an axis of
    heads.

    Args:
        loss: Of which no gradients were computed yet.
        names: Of the parameters, by ``id``.
    """
    consumers = {} if loss.grad_fn is None else forward_order(loss.grad_fn)
    for node in consumers:
        shape = output_shape(node) if operation(node) in ("softmax", "log_softmax") else ()
        if len(shape) not in (2, 3) or min(shape[:-1]) < 2 or shape[-1] != 1:
            continue
        if dimension(node, len(shape)) == len(shape) - 1:
            yield _title(node, consumers, names, consumers[node])


def sines_of_sines(
    loss: torch.Tensor, names: Mapping[int, str]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what sines are given that layers make, without another activation, of other sines.

    Both behind layers that are trained, so that sines of coordinates and of time are none.

    Args:
        loss: Of which no gradients were computed yet.
        names: Of the parameters, by ``id``.

    Yields:
        The last layer before it, and what it is given, in radians.
    """
    for node in () if loss.grad_fn is None else forward_order(loss.grad_fn):
        given = saved_as_is(node, "self") if operation(node) in _SINES else None
        if given is None or not (layer := layer_before(node.next_functions[0][0], names)):
            continue
        sources = [one for one in _layer_inputs(node) if operation(one) in _SINES]
        if any(next(_layer_inputs(one), None) is not None for one in sources):
            yield layer, given.detach()


def _layer_inputs(sine: Any) -> Iterator[Any]:
    """Yield what layers are given whose outputs a sine is given, with nothing but linear between.

    Of a layer that is given data it is the layer itself; what is linear leads on to what that was
    given, and of all else nothing is said.
    """
    waiting = [(sine.next_functions[0][0], False)]
    for _ in range(_MOST_BEFORE):
        if not waiting:
            return
        node, is_behind = waiting.pop()
        name, values = operation(node), _values_of(node)
        is_layer = name in PRODUCTS and _weight_of(node) is not None
        if (name in _SINES and is_behind) or (is_layer and not values):
            yield node
        elif is_layer or name in ("add", "sub", "neg"):
            waiting += [(one, is_behind or is_layer) for one in values]
        elif (name in _LINEAR or name == "div") and len(values) == 1:
            waiting.append((values[0], is_behind))


def norms_over_first(loss: torch.Tensor, size: int) -> Iterator[str]:
    """Yield the products of what was divided by its norm over the first dimension, the samples.

    By their numbers: each column of the first matrix has length 1, and its rows do not. Whoever
    compares features over a batch multiplies by it the other way round, as in ``z1.t() @ z2``.

    Args:
        loss: Of which no gradients were computed yet.
        size: The number of samples of the batch.
    """
    for node in () if loss.grad_fn is None else forward_order(loss.grad_fn):
        producer = node.next_functions[0][0] if operation(node) == "mm" else None
        first = saved_as_is(node, "self") if producer is not None else None
        if first is None or len(first) != size or first.shape[1] in (0, 1, size):
            continue
        if first.numel() > MOST_COSINES or _parameter_of(producer) is not None:
            continue
        columns, rows = (first.detach().float().norm(dim=dim) for dim in (0, 1))
        if _are_ones(columns) and not _are_ones(rows):
            yield "norm"
            return


def _are_ones(norms: torch.Tensor) -> bool:
    return bool(((norms - 1).abs() <= UNIT).all())


def owners_upstream(root: Any, owners: Mapping[int, int]) -> dict[int, set[int]]:
    """Return whose parameters a loss is computed by, and whose lie before some of each of these.

    Args:
        root: The operation that made the loss.
        owners: Of parameters, by ``id``.

    Returns:
        Without its own. What is computed by a generator lies before a discriminator.
    """
    reached: dict[Any, frozenset[int]] = {}
    found: dict[int, set[int]] = {}
    for node in forward_order(root):
        if _parameter_of(node) is not None:
            continue  # a parameter in another shape
        before: set[int] = set()
        used: set[int] = set()
        for producer, _ in node.next_functions:
            owner = owners.get(id(_parameter_of(producer)))
            if owner is not None:
                used.add(owner)
            else:
                before |= reached.get(producer, frozenset())
        for owner in used:
            found.setdefault(owner, set()).update(before)
        reached[node] = frozenset(before | used)
    return {owner: before - {owner} for owner, before in found.items()}


def last_operation(value: torch.Tensor) -> str:
    """Return which operation gave a tensor its range: a sigmoid, softmax, softplus, relu or exp.

    Behind it may stand what gives another shape or number format, or adds an epsilon. Empty where
    it is another one, such as a layer without an activation, and where there is no graph.
    """
    node, is_moved = value.grad_fn, False
    while node is not None and operation(node) not in _RANGED:
        name = operation(node)
        moves = name in ("add", "clamp", "clamp_min")
        is_moved |= moves
        producers = [producer for producer, _ in node.next_functions if producer is not None]
        is_kept = len(producers) == 1 and (moves or name in _SAME_RANGE)
        node = producers[0] if is_kept else None
    if node is None or (is_moved and not _is_within_epsilon(node, value)):
        return ""
    return operation(node)


def _is_within_epsilon(node: Any, value: torch.Tensor) -> bool:
    """Return whether a value is what an operation made of what it was given, but for an epsilon."""
    key, repeat = _RANGED[operation(node)]
    saved = saved_as_is(node, key)
    if saved is None or saved.numel() != value.numel():
        return False
    made = repeat(saved.detach()).reshape(-1)
    return bool((made - value.detach().reshape(-1)).abs().max() <= _EPSILON)


# What leaves a shape as it is.
_SAME_SHAPE = ("log_softmax", "softmax", "sigmoid", "clone", "to_copy", "alias")
RESHAPES = ("view", "reshape_alias", "unsafe_view")


def is_torn(value: torch.Tensor) -> bool:
    """Return whether a tensor was reshaped where its axes were to change places.

    Example:
        >>> scores = torch.zeros(2, 5, 3, requires_grad=True)  # samples, positions, classes
        >>> is_torn(scores.view(2, 3, 5)), is_torn(scores.transpose(1, 2))
        (True, False)
    """
    return are_permuted(_shape_before(value), value.shape)


def _shape_before(value: torch.Tensor) -> tuple[int, ...]:
    """Return the shape from which a tensor was reshaped; that which it has where it was not."""
    node: Any = value.grad_fn
    base = value._base
    if node is None and base is not None and base.numel() == value.numel():
        is_reshaped = base.is_contiguous() and value.is_contiguous()
        return tuple(base.shape if is_reshaped else value.shape)
    while node is not None and operation(node) in _SAME_SHAPE:
        node = input_of(node)
    is_known = node is not None and operation(node) in RESHAPES
    return tuple(node._saved_self_sym_sizes if is_known else value.shape)


#: So near to 1 a norm is that of a normalized vector.
UNIT = 0.01
#: Of more elements cosines are not computed again.
MOST_COSINES = 1 << 20


def dimension(softmax: Any, rank: int) -> int:
    """Return over which dimension of so many a softmax is taken."""
    # One that was counted from the end is held without its sign.
    return int((softmax._saved_dim + rank) % 2**64 % rank)


class Accumulation(NamedTuple):
    """A sum of exponentials over all rows up to each one.

    Args:
        size: How many rows there are.
        order: Which rows were taken before it, int64, of so many elements; ``None`` for all in the
            order that they had.
        is_reversed: Whether it begins with the last.
    """

    size: int
    order: torch.Tensor | None
    is_reversed: bool


# What lies between a sum of exponentials and the order of the rows.
_IN_ORDER = ("exp", "sub", "view", "reshape_alias", "squeeze", "unsqueeze", "clamp", "alias")


def accumulations(loss: torch.Tensor) -> Iterator[Accumulation]:
    """Yield the sums of exponentials that go on from row to row, as a Cox likelihood has one.

    Args:
        loss: Of which no gradients were computed yet.
    """
    for node in forward_order(loss.grad_fn) if loss.grad_fn is not None else ():
        name = operation(node)
        shape = output_shape(node) if name == "logcumsumexp" else ()
        before = input_of(node) if name in ("logcumsumexp", "cumsum") else None
        if name == "cumsum" and before is not None and operation(before) == "exp":
            shape = output_shape(before)
        if before is None or len([size for size in shape if size > 1]) != 1:
            continue
        order, is_reversed = None, False
        while before is not None and operation(before) in (*_IN_ORDER, "flip"):
            is_reversed ^= operation(before) == "flip"
            before = input_of(before)
        size = max(shape)
        if before is not None and operation(before) in ("index", "gather", "index_select"):
            order = _order_of(before, size)
            if order is None:
                continue
        yield Accumulation(size, order, is_reversed)


def _order_of(node: Any, size: int) -> torch.Tensor | None:
    """Return the rows that a node takes, so many and on the host; ``None`` for others."""
    order = saved_as_is(node, "index")
    if operation(node) == "index":
        indices = [one.data for one in node._raw_saved_indices]
        order = indices[0] if len(indices) == 1 and type(indices[0]) is torch.Tensor else None
    if order is None or not order.is_cpu or order.dtype != torch.int64 or order.numel() != size:
        return None
    return order


#: The node of a tensor in a graph, and which of its outputs the tensor is.
Edge = tuple[Any, int]


def takes_last_only(loss: torch.Tensor, whole: Edge, last: Edge, dimension: int) -> bool:
    """Return whether a loss depends on a sequence by its last element, or what is left of it.

    Args:
        loss: Of which no gradients were computed yet.
        whole: The sequence.
        last: What is left after it, such as the last state of a recurrent layer.
        dimension: Of the sequence in the first.
    """
    stack, seen, is_used = [loss.grad_fn], {loss.grad_fn}, False
    while stack and len(seen) < MOST_NODES:
        node = stack.pop()
        for edge in () if node is None else node.next_functions:
            if edge in (whole, last):
                if edge == whole and not _selects_last(node, dimension):
                    return False
                is_used = True
            elif edge[0] is not None and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return is_used and not stack


def _selects_last(node: Any, dimension: int) -> bool:
    """Return whether an operation takes the last element; a negative number is without its sign."""
    if operation(node) != "select" or node._saved_dim != dimension:
        return False
    return node._saved_index in (2**64 - 1, node._saved_self_sym_sizes[dimension] - 1)


#: Activations whose derivative is the same on each side of a corner, by what takes that.
_PIECEWISE = {
    "threshold_backward": "ReLU",
    "leaky_relu_backward": "LeakyReLU",
    "hardtanh_backward": "Hardtanh",
    "prelu_kernel_backward": "PReLU",
    "rrelu_with_noise_backward": "RReLU",
    "softshrink_backward": "Softshrink",
}


def piecewise_derivatives(outputs: Iterable[object]) -> list[str]:
    """Return the piecewise linear activations whose derivatives are part of some tensors."""
    roots = [one.grad_fn for one in outputs if isinstance(one, torch.Tensor)]
    found = {operation(node) for root in roots if root is not None for node in forward_order(root)}
    return sorted(_PIECEWISE[name] for name in found & _PIECEWISE.keys())


#: By an operation whose derivative may be infinite: what it saves, and its derivative by that.
_SINGULAR: Mapping[str, tuple[str, Callable[[torch.Tensor, float], torch.Tensor]]] = {
    "sqrt": ("result", lambda made, _: 0.5 / made),
    "pow": ("self", lambda given, exponent: exponent * given ** (exponent - 1)),
    "log": ("self", lambda given, _: 1 / given),
    "log2": ("self", lambda given, _: 1 / given),
    "log10": ("self", lambda given, _: 1 / given),
    "log1p": ("self", lambda given, _: 1 / (1 + given)),
    "acos": ("self", lambda given, _: 1 / (1 - given**2).sqrt()),
    "asin": ("self", lambda given, _: 1 / (1 - given**2).sqrt()),
    "div": ("other", lambda divisor, _: 1 / divisor),
    "reciprocal": ("result", lambda made, _: made),  # infinite where its square is
    "rsqrt": ("result", lambda made, _: made),
}
# So many operations, the last ones of a forward pass, of so many elements each.
_MOST_SINGULAR, _MOST_KEPT_ELEMENTS = 8, 65_536


@dataclass(frozen=True)
class InfiniteDerivative:
    """An operation that makes gradients infinite, or nan, at what it was given.

    Args:
        name: Such as ``sqrt``, with the module whose parameters it meets next, where that is known.
        derivative: By each element.
    """

    name: str
    derivative: torch.Tensor


class SingularOperations:
    """Keeps what operations saved whose derivative may be infinite, from before a backward pass.

    That pass frees the graph, so where its gradients turn out not to be finite it is too late to
    look. A graph is searched at a few steps; in all others the way to each operation, from the
    loss, is known. What a script's hook has packed is left alone, and so is what is no host tensor:
    to read that would wait.
    """

    def __init__(self) -> None:
        #: The operations of the graph whose derivatives may be infinite: the name, the operation,
        #: and the way to it from a loss.
        self.paths: list[tuple[str, str, tuple[int, ...]]] = []
        self._kept: deque[tuple[str, str, float, torch.Tensor]] = deque(maxlen=_MOST_SINGULAR)
        self._num_looks = 0

    def search(self, root: object, names: Mapping[int, str]) -> None:
        """Look which operations there are, at every step that is a power of two, and keep them.

        Args:
            root: What ``backward`` is about to be called on.
            names: Of the parameters, by ``id``.
        """
        if isinstance(root, torch.Tensor) and root.grad_fn is not None:
            self._num_looks += 1
            if self._num_looks & (self._num_looks - 1) == 0:
                self.paths = list(_singular_paths(root.grad_fn, names))
        self.keep(root)

    def keep(self, root: object) -> None:
        """Keep what the known operations of a graph saved."""
        if not isinstance(root, torch.Tensor):
            return
        for name, known, path in self.paths:
            node = _follow(root.grad_fn, path)
            if node is None or operation(node) != known:
                continue
            exponent = getattr(node, "_saved_exponent", 1.0) if known == "pow" else 1.0
            value = saved_as_is(node, _SINGULAR[known][0])
            is_small = value is not None and 0 < value.numel() <= _MOST_KEPT_ELEMENTS
            if value is not None and is_small and value.is_cpu and isinstance(exponent, float):
                self._kept.append((name, known, exponent, value.detach()))

    def take_infinite(self) -> InfiniteDerivative | None:
        """Return the last operation of the forward pass with an infinite derivative; forget all."""
        kept, self._kept = list(self._kept), deque(maxlen=_MOST_SINGULAR)
        for name, known, exponent, value in reversed(kept):
            if value.is_floating_point():
                derivative = _SINGULAR[known][1](value, exponent)
                if bool(derivative.isinf().any()):
                    return InfiniteDerivative(name, derivative)
        return None


def _singular_paths(
    root: Any, names: Mapping[int, str]
) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield name, operation and way from the root of the last operations, in forward order."""
    consumers = forward_order(root)
    found = [node for node in consumers if operation(node) in _SINGULAR]
    for node in found[-_MOST_SINGULAR:]:
        path, at = [], node
        while (consumer := consumers[at]) is not None:
            path.append(next(i for i, (one, _) in enumerate(consumer.next_functions) if one is at))
            at = consumer
        name = _title(node, consumers, names, consumers[node])
        yield name, operation(node), tuple(reversed(path))


def _follow(node: Any, path: Iterable[int]) -> Any:
    """Return the node at the end of a way through a graph; ``None`` if there is none."""
    for index in path:
        if node is None or index >= len(node.next_functions):
            return None
        node = node.next_functions[index][0]
    return node


def _is_linear(node: Any) -> bool:
    """Return whether an operation leaves what is linear so; a sum may only add a parameter."""
    name = operation(node)
    if name == "mul":  # a dropout; a mask of what is above 0 is none
        factors = [
            one for one in map(partial(saved_as_is, node), ("other", "self")) if one is not None
        ]
        return len(_values_of(node)) == 1 and all(bool((one > 1).any()) for one in factors)
    return name in _LINEAR


def saved_as_is(node: Any, name: str) -> torch.Tensor | None:
    """Return what a node saved; ``None`` for nothing, and for what a script's hook has packed.

    To unpack would be noticed: activations that are not kept are computed anew.
    """
    with suppress(RuntimeError, AttributeError):
        data = getattr(node, f"_raw_saved_{name}").data
        return data if type(data) is torch.Tensor else None
    return None


def input_of(node: Any) -> Any:
    """Return the node of the one input of an operation that is no parameter; None if several."""
    values = _values_of(node)
    return values[0] if len(values) == 1 else None


def _values_of(node: Any) -> list[Any]:
    producers = [one for one, _ in node.next_functions if one is not None]
    return [one for one in producers if _parameter_of(one) is None]


def _weight_of(node: Any) -> torch.Tensor | None:
    parameters = [_parameter_of(one) for one, _ in node.next_functions if one is not None]
    weights = [one for one in parameters if one is not None and one.dim() > 1]
    return weights[0] if len(weights) == 1 else None


def _producer_of(node: Any, weight: torch.Tensor) -> Any:
    return next(one for one, _ in node.next_functions if _parameter_of(one) is weight)


def _parameter_of(node: Any) -> torch.Tensor | None:
    """Return the parameter that a node stands for, in its own shape or in another."""
    while node is not None and operation(node) in _VIEWS and not hasattr(node, "variable"):
        node = node.next_functions[0][0]
    variable: torch.Tensor | None = getattr(node, "variable", None)
    return variable


def _made_by_producer(
    node: Any,
    consumers: Mapping[Any, Any],
    bad: torch.Tensor,
    names: Mapping[int, str],
    place: int | None,
) -> NonFiniteOperation | None:
    producers = node.next_functions
    for producer, index in producers if place is None else producers[place : place + 1]:
        if producer is None or not _makes(producer, index, bad):
            continue
        if hasattr(producer, "variable"):
            return None
        inputs = tuple(value for _, value in _saved_tensors(producer))
        return NonFiniteOperation(_title(producer, consumers, names, node), inputs, bad)
    return NonFiniteOperation(_title(node, consumers, names, node), (bad,), None)


def _makes(producer: Any, index: int, value: torch.Tensor) -> bool:
    """Return whether a value may be what a node made."""
    variable = getattr(producer, "variable", None)
    if variable is not None:
        return bool(variable.shape == value.shape and _is_not_finite(variable))
    made = getattr(producer, "_input_metadata", ())
    return index < len(made) and tuple(made[index].shape) == tuple(value.shape)


def _title(
    node: Any, consumers: Mapping[Any, Any], names: Mapping[int, str], following: Any
) -> str:
    """Return the name of an operation, and the first module with parameters from ``following``."""
    while following is not None:
        if module := _module_of(following, names):
            return f"{operation(node)} (before {module})"
        following = consumers[following]
    return operation(node)


def layer_before(node: Any, names: Mapping[int, str]) -> str:
    """Return the last module with parameters that a value went through, alone; empty for none."""
    for _ in range(_MOST_BEFORE):
        if node is None or (module := _module_of(node, names)):
            return "" if node is None else module
        node = input_of(node)
    return ""


@cache
def _operation_of(kind: str) -> str:
    return _HUMP.sub("_", _NAME.sub("", kind)).lower()


def operation(node: Any) -> str:
    """Return the name of the operation of a node, such as ``log_softmax``."""
    return _operation_of(type(node).__name__)


def _module_of(node: Any, names: Mapping[int, str]) -> str:
    """Return the module whose parameters an operation takes; empty if it takes none."""
    for producer, _ in node.next_functions:
        variable = _parameter_of(producer)
        if variable is not None and id(variable) in names:
            return names[id(variable)].rpartition(".")[0]
    return ""


def forward_order(root: Any) -> dict[Any, Any]:
    """Return the nodes of a graph, each after those that it takes values from.

    With each, a node that uses what it makes; ``None`` for the root.
    """
    found: dict[Any, Any] = {}
    seen, stack = {root}, [(root, None, iter(root.next_functions))]
    while stack and len(found) < MOST_NODES:
        node, consumer, rest = stack[-1]
        producer = next((one for one, _ in rest if one is not None and one not in seen), None)
        if producer is not None:
            seen.add(producer)
            stack.append((producer, node, iter(producer.next_functions)))
            continue
        stack.pop()
        found[node] = consumer
    # Of a larger graph, those that use what was found.
    return found | {node: consumer for node, consumer, _ in reversed(stack)}


def _saved_tensors(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what a node saved of its inputs and outputs: floating point, and divisors."""
    for name in dir(node):
        if not name.startswith(_PREFIX):
            continue
        value: object = None
        with suppress(RuntimeError):  # it was changed in place, or is freed
            value = getattr(node, name)
        values: Iterable[object] = value if isinstance(value, (tuple, list)) else (value,)
        for number, one in enumerate(values):
            is_divisor = name == f"{_PREFIX}other" and operation(node) == "div"
            if isinstance(one, torch.Tensor) and (one.is_floating_point() or is_divisor):
                yield f"{name.removeprefix(_PREFIX)}{number or ''}", one


def _is_hard(value: torch.Tensor) -> bool:
    """Return whether there is nan or plus infinity in a tensor."""
    return _is_not_finite(value) and bool((value.isnan() | (value == torch.inf)).any())


def _is_not_finite(value: torch.Tensor) -> bool:
    return not torch.isfinite(value.detach()).all()
