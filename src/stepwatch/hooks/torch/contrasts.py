"""Cross-entropies of products of vectors in the graph of a loss, as contrastive losses are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from .autograd import (
    MOST_COSINES,
    PRODUCTS,
    UNIT,
    Edge,
    dimension,
    forward_order,
    operation,
    saved_as_is,
)


class CosineLogits(NamedTuple):
    """Logits that are cosines of two vectors each, times a number.

    Args:
        scale: That number: no logit is farther from 0.
        num_classes: How many stand in a row.
    """

    scale: float
    num_classes: int


def cosine_logits(loss: torch.Tensor) -> Iterator[CosineLogits]:
    """Yield the logits of cross-entropies that are products of vectors of length 1.

    Between the product and the softmax stand only numbers that are not trained, and masks.
    """
    for node in () if loss.grad_fn is None else forward_order(loss.grad_fn):
        if operation(node) != "log_softmax":
            continue
        product = _only_input(node)
        while product is not None and operation(product) in ("mul", "div", "masked_fill"):
            product = _only_input(product)
        if product is None or operation(product) != "mm":
            continue
        saved = [saved_as_is(product, name) for name in ("self", "mat2")]
        saved.append(saved_as_is(node, "result"))
        first, second, shares = (None if one is None else one.detach() for one in saved)
        if first is None or second is None or shares is None:
            continue
        shape = first.shape[0], second.shape[1]
        is_small = max(shares.numel(), first.numel(), second.numel()) <= MOST_COSINES
        if shares.shape != shape or not is_small or dimension(node, 2) != 1:
            continue
        norms = torch.cat([first.float().norm(dim=1), second.float().norm(dim=0)])
        if bool(((norms - 1).abs() > UNIT).any()):
            continue
        # Both are known up to a number in each row.
        cosines, logits = first.float() @ second.float(), shares.float()
        seen = logits > _HIDDEN
        sizes = [_spread(one, seen) for one in (logits, cosines)]
        if sizes[1] > 0:
            yield CosineLogits(sizes[0] / sizes[1], shape[1])


def _spread(values: torch.Tensor, seen: torch.Tensor) -> float:
    """Return the norm of what differs from the mean of its row, among elements that are seen."""
    means = (values * seen).sum(1, keepdim=True) / seen.sum(1, keepdim=True).clamp(min=1)
    return float(((values - means) * seen).norm())


# What a mask hides has a logarithm below this.
_HIDDEN = -1e4
# What stands between products of vectors and a softmax of them: masks and a temperature.
_OF_LOGITS = frozenset({
    *("mul", "div", "add", "sub", "copy_slices", "index_put", "masked_fill", "where", "index"),
    *("masked_select", "view", "reshape_alias", "unsafe_view", "clone", "to_copy"),
})  # fmt: skip
# What takes some rows of a tensor, and at most so many operations that are followed from a product.
_TAKES_ROWS = frozenset({"split", "split_with_sizes", "slice", "select", "unbind", "index"})
_MOST_FOLLOWED = 16
# Of fewer samples nobody can tell whether pairs are alike, and more are not compared. Those that
# are alike are nearer than others by so many standard errors; by fewer it may be chance.
_LEAST_ALIKE, _MOST_ALIKE, _ALIKE, _BY_CHANCE = 16, 4096, 4.0, 2.0


class Contrast(NamedTuple):
    """A cross-entropy of products of the vectors of a batch.

    Args:
        loss: The node of what is made of its softmax,
        product: and that of the products.
        first, second: Its factors, shape ``[n, width]`` and ``[width, n]``.
        is_of_one: Whether they are the same tensor, as in ``z @ z.t()``.
    """

    loss: Any
    product: Any
    first: torch.Tensor
    second: torch.Tensor
    is_of_one: bool


def contrasts(loss: torch.Tensor) -> Iterator[Contrast]:
    """Yield the contrasts that a loss is made of, but those of vectors that are all the same."""
    found = {} if loss.grad_fn is None else forward_order(loss.grad_fn)
    for node, consumer in found.items():
        product = _only_input(node) if operation(node) == "log_softmax" else None
        while product is not None and operation(product) in _OF_LOGITS:
            product = _only_input(product)
        if product is None or operation(product) != "mm":
            continue
        saved = [saved_as_is(product, name) for name in ("self", "mat2")]
        first, second = (None if one is None else one.detach() for one in saved)
        if first is None or second is None or first.shape != second.shape[::-1]:
            continue
        if None in [one for one, _ in product.next_functions] or first.numel() > MOST_COSINES:
            continue
        if len(first) < 4 or bool((first == first[:1]).all()):
            continue  # as after a collapse
        is_of_one = _are_of_one(*product.next_functions)
        yield Contrast(consumer, product, first, second, is_of_one)


def is_with_itself(contrast: Contrast) -> bool | None:
    """Return whether both vectors of each pair are the same, bit for bit; ``None`` for no pairs.

    Pairs are of those of one view with those of another, or of all that were put together of both,
    one half after the other or in turn.
    """
    first = contrast.first
    if not contrast.is_of_one:
        return torch.equal(first, contrast.second.t())
    if len(first) % 2:
        return None
    return any(torch.equal(*halves) for halves in (first.chunk(2), (first[::2], first[1::2])))


def is_unpaired(contrast: Contrast, given: torch.Tensor | None) -> bool | None:
    """Return whether no positive is the other view of its sample; ``None`` where it is not known.

    Targets say for each vector which one its positive is. All vectors are put together of those of
    two views, by ``torch.cat`` or in turn by ``torch.stack``; or a model was given both views at
    once, and which samples are alike tells how these were put together.

    Args:
        given: What the model was given last, shape ``[n, ...]``; ``None`` where that is gone.
    """
    targets = (
        saved_as_is(contrast.loss, "target") if operation(contrast.loss) == "nll_loss" else None
    )
    num = len(contrast.first)
    if targets is None or not contrast.is_of_one or targets.shape != (num,) or num % 2:
        return None
    targets = targets.detach().clamp(0, num - 1)
    rows = torch.arange(num, device=targets.device)
    halves, in_turn = (rows + num // 2) % num, rows ^ 1
    node, _ = contrast.product.next_functions[0]
    for _ in range(_MOST_FOLLOWED):
        if node is None or operation(node) in ("cat", "stack", *PRODUCTS):
            break
        node = next((one for one, _ in node.next_functions if one is not None), None)
    is_of_two = operation(node) in ("cat", "stack") and len(node.next_functions) == 2
    if is_of_two and operation(node) == "cat" and node._saved_dim == 0:
        others = halves
    elif is_of_two and operation(node) == "stack" and node._saved_dim == 1:
        others = in_turn
    elif given is not None and len(given) == num:
        alike = [one for one in (halves, in_turn) if _nearness(given, one) > _ALIKE]
        if len(alike) != 1 or _nearness(given, targets) > _BY_CHANCE:
            return None
        others = alike[0]
    else:
        return None
    are_pairs = bool((targets[targets] == rows).all() and (targets != rows).all())
    return are_pairs and not bool((targets == others).any())


def _nearness(given: torch.Tensor, others: torch.Tensor) -> float:
    """Return by how many standard errors samples are nearer to these others than to all.

    Args:
        given: Shape ``[n, ...]``.
        others: The other sample of each, shape ``[n]``.
    """
    if not _LEAST_ALIKE <= len(given) <= _MOST_ALIKE or not given.is_floating_point():
        return 0.0
    flat = given.detach().flatten(1).float()
    distances = torch.cdist(flat, flat)
    rows = torch.arange(len(flat), device=flat.device)
    nearer = distances.sum(1) / (len(flat) - 1) - distances[rows, others.to(flat.device)]
    return float(nearer.mean() / nearer.std()) * math.sqrt(len(flat)) if bool(nearer.any()) else 0.0


def _only_input(node: Any) -> Any:
    """Return the node of the one input of an operation; ``None`` if several have a gradient."""
    producers = [one for one, _ in node.next_functions if one is not None]
    return producers[0] if len(producers) == 1 else None


def _are_of_one(*edges: Edge) -> bool:
    """Return whether two factors of a product are the same tensor, as in ``z @ z.t()``."""
    ways: list[list[Edge]] = []
    for edge in edges:
        way = [edge]
        while operation(way[-1][0]) not in PRODUCTS and len(way) < _MOST_FOLLOWED:
            made = [one for one in way[-1][0].next_functions if one[0] is not None]
            if not made:
                break
            way.append(made[0])
        ways.append(way)
    known = set(ways[1])
    own = next((place for place, edge in enumerate(ways[0]) if edge in known), None)
    if own is None:
        return False
    before = [*ways[0][:own], *ways[1][: ways[1].index(ways[0][own])]]
    return not any(operation(one) in _TAKES_ROWS for one, _ in before)
