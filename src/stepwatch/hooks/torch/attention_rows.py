"""The logits of sampled queries of attention, and the entropy of what each attends to.

Rows are sampled, because the logits of all queries are what fused kernels are made not to hold.
Which rows depends on the shapes only: no random number is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch

#: At most so many rows are sampled of a call; a power of two.
MOST_ROWS = 64
# So many elements of keys are gathered at most: 32 MiB as float32, and their products.
_MOST_GATHERED = 1 << 23
# What is added to a logit to hide it: the softmax of this, or of less, is nothing.
_HIDDEN = -10_000.0
# Odd, so that its multiples meet every row; of those, one whose lattice is even in the plane.
_GENERATOR = 29

Rows = tuple[torch.Tensor, torch.Tensor]


def attention_rows(
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Rows:
    """Return the logits of sampled queries, and the entropy of the softmax of each.

    Args:
        query: Shape ``[..., queries, width]``, any floating dtype.
        key: Shape ``[..., keys, width]``. Leading dimensions broadcast; fewer heads than the
            query's are shared by groups of these, as ``enable_gqa`` asks for.
        mask: Bool (true takes part) or floating (added), broadcast to ``[..., queries, keys]``.
        is_causal: Query ``i`` sees keys up to ``i`` only.
        scale: Of the products; ``1 / sqrt(width)`` by default.

    Returns:
        Logits with scale and mask, shape ``[rows, keys]``, and entropies in nats, shape
        ``[rows]``; both float32. A logit that is hidden, and the entropy of a row that is hidden
        as a whole, is minus infinity. At most ``MOST_ROWS`` rows, on a rank-1 lattice (Sloan and
        Joe: Lattice methods for multiple integration, 1994) over all dimensions but the last;
        all rows where there are no more. Pure: it can be compiled.
    """
    num_dims = max(query.dim(), key.dim())
    query, key = _with_dims(query, num_dims), _with_dims(key, num_dims)
    pairs = zip(query.shape[:-2], key.shape[:-2], strict=True)
    sizes = [*(max(pair) for pair in pairs), query.shape[-2]]
    index = _sampled(sizes, _most_rows(key), query.device)
    queries = _take(query, index, sizes).to(torch.float32)
    keys = _take(key, index[:-1], sizes).to(torch.float32)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    logits = (keys * queries[:, None]).sum(-1) * factor
    if mask is not None:
        chosen = _take(_with_dims(mask, num_dims), index, sizes)
        is_added = chosen.dtype is not torch.bool
        logits = logits + chosen if is_added else logits
        logits = logits.masked_fill(chosen <= _HIDDEN if is_added else ~chosen, -torch.inf)
    if is_causal:
        position = torch.arange(key.shape[-2], device=key.device)
        logits = logits.masked_fill(position > index[-1][:, None], -torch.inf)
    return logits, _entropy(logits)


def score_rows(scores: torch.Tensor) -> Rows:
    """Return the same of logits that were computed as a whole, shape ``[..., queries, keys]``."""
    sizes = list(scores.shape[:-1])
    rows = _take(scores, _sampled(sizes, MOST_ROWS, scores.device), sizes).to(torch.float32)
    logits = rows.masked_fill(rows <= _HIDDEN, -torch.inf)
    return logits, _entropy(logits)


def _entropy(logits: torch.Tensor) -> torch.Tensor:
    entropy: torch.Tensor = torch.special.entr(torch.softmax(logits, -1)).sum(-1)
    return entropy.masked_fill((logits == -torch.inf).all(-1), -torch.inf)


def _most_rows(key: torch.Tensor) -> int:
    """Return how many rows may be sampled, a power of two: each needs all keys of its head."""
    room = _MOST_GATHERED // max(1, key.shape[-2] * key.shape[-1])
    return max(1, min(MOST_ROWS, 1 << (room.bit_length() - 1) if room else 1))


def _sampled(sizes: Sequence[int], most: int, device: torch.device) -> list[torch.Tensor]:
    """Return the places of the sampled rows in each dimension, int64, shape ``[rows]`` each."""
    if torch.compiler.is_compiling():  # which would warn of what is kept, and not keep it
        return _sample(sizes, most, device)
    return _known_sample(tuple(sizes), most, device)


def _sample(sizes: Sequence[int], most: int, device: torch.device) -> list[torch.Tensor]:
    num_rows = 1
    for size in sizes:
        num_rows = num_rows * size
    if num_rows <= most:
        row = torch.arange(num_rows, device=device)
        index: list[torch.Tensor] = []
        for size in reversed(sizes):
            index.insert(0, row % max(1, size))
            row = row // max(1, size)
        return index
    row = torch.arange(most, device=device)
    turns = [pow(_GENERATOR, axis, most) if most > 1 else 0 for axis in range(len(sizes))]
    # Each dimension is walked through in a step of its own, and taken in the middle.
    return [
        (2 * (row * turn % most) + 1) * size // (2 * most)
        for turn, size in zip(turns, sizes, strict=True)
    ]


_known_sample = lru_cache(maxsize=64)(_sample)


def _take(
    tensor: torch.Tensor, index: Sequence[torch.Tensor], sizes: Sequence[int]
) -> torch.Tensor:
    """Return the rows at these places; a dimension of 1, or of shared heads, serves several."""
    dims = zip(index, sizes[: len(index)], tensor.shape, strict=False)
    return tensor[tuple(at if own == size else at * own // max(1, size) for at, size, own in dims)]


def _with_dims(tensor: torch.Tensor, num_dims: int) -> torch.Tensor:
    return tensor[(None,) * (num_dims - tensor.dim())]
