"""What functions observed that ``jax.vmap`` maps, as of one step.

What is mapped are members of an ensemble, seeds of one training, or the samples of a batch whose
gradients are computed one by one. Of all of them together a loss is the mean, and of a tensor there
is one more axis in front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from ...model.record import TensorInfo
from ..observations import split_vectors
from .packed_stats import TraceStats, Vectors, is_member, merged_rows

# Of a number of these each member has one.
_NUMBERS = frozenset({"losses", "learning_rates", "scalars"})
# Those of members are compared where each is one sample: not where each has weights of its own,
# and so samples, too, nor where the classes of a sample do not come next to the samples.
_OF_SAMPLES = frozenset({"batches", "predictions", "labels"})
# More bytes than these are not copied, once for each member, to be observed.
_MOST_BYTES = 2**24


def copies_much(arguments: Any) -> bool:
    """Return whether members share arguments that take much space once for each of them."""
    leaves = jax.tree.leaves(arguments)
    members = [one.val.shape[one.batch_dim] for one in leaves if is_member(one)]
    sizes = [getattr(one, "nbytes", 0) for one in leaves if not is_member(one)]
    return bool(max(members, default=1) * sum(sizes) > _MOST_BYTES)


def merged_members(stats: TraceStats) -> TraceStats:
    """Return what members observed as that of one function.

    Args:
        stats: Its arrays have an axis in front, the members. Within loops, whose turns come next,
            too.
    """
    if not jax.tree.leaves(stats):
        return stats
    axes = [len(info.shape) for info in stats.infos if info.collection == "predictions"]
    are_samples = "weights" not in stats.kinds and max(axes, default=0) <= 1
    return _merged(stats, 0, frozenset() if are_samples else _OF_SAMPLES)


def _merged(stats: TraceStats, turns: int, dropped: frozenset[str]) -> TraceStats:
    """Merge those of a loop within ``turns`` others, or of a function."""
    turns += stats.is_loop
    infos = [_merged_info(stats, info) for info in stats.infos]
    numbers: dict[int, int] = {}  # new indexes by old ones
    for index, info in enumerate(infos):
        if info.collection not in dropped:
            numbers[index] = len(numbers)

    def placed(index: int, value: jax.Array) -> jax.Array:
        if infos[index].shape == stats.infos[index].shape:
            return value.mean(0)
        return jnp.moveaxis(value, 0, turns)

    vectors, vectors_of = _merged_vectors(stats, turns, numbers, placed)
    kept_rows = [row for row, index in enumerate(stats.packed_of) if index in numbers]
    kept_whole = [at for at, index in enumerate(stats.whole_of) if index in numbers]
    rows = None
    if kept_rows:
        of_rows = [stats.infos[stats.packed_of[row]] for row in kept_rows]
        are_means = [infos[stats.packed_of[row]].shape == () for row in kept_rows]
        rows = merged_rows(stats.packed[..., jnp.asarray(kept_rows), :], of_rows, are_means)
    return replace(
        stats,
        packed=rows,
        flat=vectors,
        whole=tuple(placed(stats.whole_of[at], stats.whole[at]) for at in kept_whole),
        inner=tuple(_merged(one, turns, dropped) for one in stats.inner),
        infos=tuple(infos[index] for index in numbers),
        packed_of=tuple(numbers[stats.packed_of[row]] for row in kept_rows),
        flat_of=vectors_of,
        whole_of=tuple(numbers[stats.whole_of[at]] for at in kept_whole),
    )


def _merged_info(stats: TraceStats, info: TensorInfo) -> TensorInfo:
    is_number = info.collection in _NUMBERS and not info.shape and "float" in info.dtype
    members = jax.tree.leaves(stats)[0].shape[0]
    return info if is_number else replace(info, shape=(members, *info.shape))


def _merged_vectors(
    stats: TraceStats,
    turns: int,
    numbers: dict[int, int],
    placed: Callable[[int, jax.Array], jax.Array],
) -> Vectors:
    shapes = [info.shape for info in stats.infos]
    parts = split_vectors(stats.flat, stats.flat_of, shapes)
    vectors, vectors_of = [], []
    for indexes in stats.flat_of:
        kept = [index for index in indexes if index in numbers]
        values = [placed(index, parts[index]) for index in kept]
        if kept:
            flat = [value.reshape(*value.shape[:turns], -1) for value in values]
            vectors.append(jnp.concatenate(flat, axis=-1))
            vectors_of.append(tuple(numbers[index] for index in kept))
    return tuple(vectors), tuple(vectors_of)
