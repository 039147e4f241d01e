"""Scores of classes that were reshaped to rows before the axis of classes was moved last.

A convolution returns the scores of pixels, shape ``[samples, classes, height, width]``. Reshaped to
``[-1, classes]`` as they are, each row holds scores of one class at neighbouring pixels. The graph
of a loss has the shapes: that of what a softmax was given, and those from which views made it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch

from .autograd import RESHAPES, dimension, forward_order, input_of, operation, saved_as_is
from .internals import output_shape

_SOFTMAXES = ("log_softmax", "softmax")
# What keeps the numbers of a tensor in their order, beside views.
_COPIES = ("clone", "to_copy", "alias")
# What returns its classes, or channels, on the second axis; and what leaves them there.
_CHANNELS_FIRST = ("convolution", "upsample", "native_batch_norm", "cudnn_batch_norm")
_ELEMENTWISE = (*_COPIES, "add", "mul", "div", "slice", "relu", "tanh")
#: So many operations are looked through, before the views and behind a softmax.
_MOST_BETWEEN = 8
_PICKS = ("gather", "index")


class TornClasses(NamedTuple):
    """A softmax over what are no classes.

    Args:
        softmax: The operation, ``softmax`` or ``log_softmax``.
        shape: Of the scores before they were reshaped, ``[samples, classes, ...]``.
    """

    softmax: str
    shape: tuple[int, ...]


def torn_classes(loss: torch.Tensor) -> Iterator[TornClasses]:
    """Yield the softmaxes over torn rows of which labels pick the class.

    Nothing is said where sizes leave it open which axis is that of classes.

    Args:
        loss: Of which no gradients were computed yet.

    Example:
        >>> scores = torch.zeros(2, 3, 4, 5, requires_grad=True)
        >>> labels = torch.zeros(40, dtype=torch.int64)
        >>> loss = torch.nn.functional.cross_entropy
        >>> [one.shape for one in torn_classes(loss((scores * 1).reshape(-1, 3), labels))]
        [(2, 3, 4, 5)]
        >>> [*torn_classes(loss(scores.movedim(1, -1).reshape(-1, 3), labels))]
        []
    """
    order = forward_order(loss.grad_fn) if loss.grad_fn is not None else {}
    users: dict[Any, list[Any]] = {}
    for node in order:
        if operation(node) not in _SOFTMAXES or (shape := _torn_shape(node)) is None:
            continue
        users = users or _users(order)
        if _is_picked_of(node, users):
            yield TornClasses(operation(node), shape)


def _torn_shape(softmax: Any) -> tuple[int, ...] | None:
    """Return the shape of scores whose second axis was taken for the last; ``None`` for others."""
    after = output_shape(softmax)
    if len(after) < 2 or dimension(softmax, len(after)) != len(after) - 1:
        return None
    num_classes, num_views = after[-1], 0
    node = input_of(softmax)
    while node is not None and operation(node) in (*RESHAPES, *_COPIES):
        made, node = node, input_of(node)
        if operation(made) not in RESHAPES:
            continue
        num_views += 1
        before = tuple(int(size) for size in made._saved_self_sym_sizes)
        if len(before) < 3 or before[1] != num_classes or num_classes == 1:
            continue
        # Of the numbers of a map a softmax is taken as well, over all of its pixels.
        if before[-1] in (1, num_classes) or math.prod(before[2:]) == num_classes:
            continue
        # Several groups of classes may lie on the last axis, as many as there are positions.
        is_open = before[-1] % num_classes == 0 or num_views > 1
        if not is_open or _has_channels_first(node):
            return before
    return None


def _has_channels_first(node: Any) -> bool:
    for _ in range(_MOST_BETWEEN):
        if node is None or operation(node).startswith(_CHANNELS_FIRST):
            return node is not None
        node = input_of(node) if operation(node) in _ELEMENTWISE else None
    return False


def _users(order: Mapping[Any, Any]) -> dict[Any, list[Any]]:
    users: dict[Any, list[Any]] = {}
    for node in order:
        for producer, _ in node.next_functions:
            users.setdefault(producer, []).append(node)
    return users


def _is_picked_of(softmax: Any, users: Mapping[Any, list[Any]]) -> bool:
    """Return whether labels pick of a softmax, or of what is computed of it element by element."""
    shape, waiting, known = output_shape(softmax), [softmax], {softmax}
    for _ in range(_MOST_BETWEEN):
        found = {user for node in waiting for user in users.get(node, ())} - known
        if any(_picks(user) for user in found):
            return True
        known |= found
        waiting = [one for one in found if output_shape(one) == shape]
    return False


def _picks(node: Any) -> bool:
    name = operation(node)
    if name in _PICKS or name.startswith("nll_loss"):
        return True
    factors = [saved_as_is(node, one) for one in ("self", "other")] if name == "mul" else []
    return any(one is not None and _is_one_hot(one) for one in factors)


def _is_one_hot(factor: torch.Tensor) -> bool:
    if factor.requires_grad or factor.dim() < 2 or factor.shape[-1] < 2:
        return False
    known = factor.detach()
    is_flag = ((known == 0) | (known == 1)).all()
    return bool(is_flag & (known.sum(-1) == 1).all())
