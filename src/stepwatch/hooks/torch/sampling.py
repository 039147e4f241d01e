"""Parts that stand for a whole tensor: by fixed strides, no random number is drawn."""

from __future__ import annotations

from itertools import count
from math import ceil, gcd

import torch

from .arrays import unsupported
from .sharded import part_of


def as_it_lies(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements in the order in which they lie, shape ``[numel]``: mostly a view."""
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: -strides[dim])
    return tensor.detach().permute(order).reshape(-1)


def evenly(tensor: torch.Tensor, most: int) -> torch.Tensor:
    """Return at most so many elements, evenly over all of a tensor.

    Args:
        tensor: Any shape and dtype, strided.
        most: At least 1.

    Returns:
        One axis, a view where that is possible. All where there are no more; else each so
        many-th, by a stride that shares no factor with the size of any dimension: a stride that
        did would meet the same few channels again and again.
    """
    flat = as_it_lies(tensor)
    first = max(1, ceil(flat.numel() / most))
    return flat[:: next(stride for stride in count(first) if gcd(stride, flat.numel() or 1) == 1)]


def thinned(tensor: torch.Tensor, axis: int, most: int) -> torch.Tensor:
    """Return a view with all of one axis, and with the others thinned to about so many elements.

    Args:
        tensor: At least one dimension.
        axis: What is kept, from 0.
        most: Elements at which nothing is left out; of more about so many stay.
    """
    over = tensor.numel() / most
    if over <= 1 or tensor.dim() == 1:
        return tensor
    every = ceil(over ** (1 / (tensor.dim() - 1)))
    return tensor[tuple(slice(None, None, 1 if d == axis else every) for d in range(tensor.dim()))]


def runs_of(tensor: torch.Tensor, runs: int, length: int) -> torch.Tensor | None:
    """Return a view of evenly spaced runs of neighbours; ``None`` where there can be none.

    Args:
        tensor: Of any kind. Of one that is spread over processes, the part that is here is meant.
        runs: How many runs are taken of what has more elements than all runs together.
        length: Elements of a run.

    Returns:
        All elements, shape ``[numel]``, or shape ``[runs, length]``; floating or complex.
    """
    local, _, missing = part_of(tensor)
    if missing or unsupported(local) or local.layout is not torch.strided:
        return None
    if not (local.is_floating_point() or local.is_complex()) or not local.numel():
        return None
    flat = as_it_lies(local)
    if flat.numel() <= runs * length:
        return flat
    every = flat.numel() // runs
    return flat[: runs * every].view(runs, every)[:, :length]


def lie_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether the same place of what these hold here is the same element of both."""
    first, second = part_of(one).tensor, part_of(other).tensor
    if first.shape != second.shape or first.layout != second.layout:
        return False
    if first.layout is not torch.strided:
        return False
    # The stride of a dimension of one element says nothing.
    strides = zip(first.shape, first.stride(), second.stride(), strict=True)
    return all(mine == its for size, mine, its in strides if size > 1)
