"""Whole tensors from the parts that workers hold.

A part says where in the whole it begins. Parts that begin at one place are replicas, and one of
them counts. What the parts do not fill is no tensor: it is left out, never taken for a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from math import prod

import numpy as np
import numpy.typing as npt

from ..numerics.statistics import COUNT, NUM_FIELDS, merge
from .record import Layout, StepRecord

Array = npt.NDArray[np.generic]
Rows = npt.NDArray[np.float64]
Offset = tuple[int, ...]


def merge_shard_rows(rows: Rows, starts: npt.NDArray[np.intp]) -> Rows:
    """Merge neighbouring rows of statistics.

    Args:
        rows: Shape ``[rows, NUM_FIELDS]``, float64.
        starts: Where each run of rows that belong together begins, shape ``[runs]``, ascending
            from 0; no run is empty.

    Returns:
        Shape ``[runs, NUM_FIELDS]``, float64.
    """
    merged = np.empty((len(starts), NUM_FIELDS))
    sizes = np.diff(starts, append=len(rows))
    for size in np.unique(sizes):
        runs = np.flatnonzero(sizes == size)
        merged[runs] = merge(rows[starts[runs] + np.arange(size)[:, np.newaxis]])
    return merged


def are_complete(
    rows: Rows,
    starts: npt.NDArray[np.intp],
    parts: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Return which runs count all elements, once or, if observed several times, each as often.

    Args:
        rows: Statistics of the parts, shape ``[rows, NUM_FIELDS]``.
        starts: Where the parts of each tensor begin; as for ``merge_shard_rows``.
        parts: How many elements each part has, as ``shard_sizes`` tells; shape ``[rows]``.
        sizes: How many elements the whole tensors have, shape ``[runs]``.

    Returns:
        Shape ``[runs]``.
    """
    if not len(rows):
        return np.zeros(0, bool)
    counts = rows[:, COUNT]
    totals = np.add.reduceat(counts, starts)
    times = totals // np.maximum(sizes, 1)
    fits = counts == np.repeat(times, np.diff(starts, append=len(rows))) * parts
    some = (totals > 0) & np.logical_and.reduceat(fits, starts)
    return np.asarray(some | ((sizes == 0) & (totals == 0)), bool)


def shard_sizes(shape: tuple[int, ...], offsets: Sequence[Offset]) -> list[int]:
    """Return how many elements each part has if the parts are a grid that fills the whole.

    Args:
        shape: The shape of the whole.
        offsets: Where each part begins, each once. One that begins at the end is empty.

    Returns:
        A size for each; -1 for all if there is no such grid, because a part is missing.

    Example:
        >>> shard_sizes((5, 3), [(0, 0), (2, 0), (5, 0)])
        [6, 9, 0]
        >>> shard_sizes((5, 3), [(2, 0)])
        [-1]
    """
    filled = [one for one in offsets if all(at < size for at, size in zip(one, shape, strict=True))]
    cuts = [sorted(set(side)) for side in zip(*filled, strict=True)]
    if set(filled) != set(product(*cuts)) or any(side[0] != 0 for side in cuts):
        return [-1] * len(offsets)
    ends = [
        dict(zip(side, [*side[1:], size], strict=True))
        for side, size in zip(cuts, shape, strict=False)
    ]
    sizes = {one: prod(end[at] - at for at, end in zip(one, ends, strict=True)) for one in filled}
    return [sizes.get(one, 0) for one in offsets]


def assemble(shape: tuple[int, ...], parts: Mapping[Offset, Array]) -> Array | None:
    """Return the tensor that parts make up, ``None`` if they do not fill it or overlap.

    Args:
        shape: The shape of the whole.
        parts: By where they begin; at least one, all of one dtype.
    """
    boxes = [
        [range(start, start + size) for start, size in zip(offset, part.shape, strict=True)]
        for offset, part in parts.items()
        if part.size
    ]
    if any(_overlap(one, other) for one, other in combinations(boxes, 2)):
        return None
    inside = all(side.stop <= size for box in boxes for side, size in zip(box, shape, strict=True))
    if not inside or sum(part.size for part in parts.values()) != prod(shape):
        return None
    whole = np.empty(shape, next(iter(parts.values())).dtype)
    for offset, part in parts.items():
        whole[tuple(slice(s, s + n) for s, n in zip(offset, part.shape, strict=True))] = part
    return whole


def _overlap(one: Sequence[range], other: Sequence[range]) -> bool:
    return all(max(a.start, b.start) < min(a.stop, b.stop) for a, b in zip(one, other, strict=True))


def assemble_records(records: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Return the records of one step with the parts of every tensor made one.

    It is then in the record of the first worker that has a part. What the parts do not make up is
    left out, and so are the digests of parts.

    Args:
        records: What each worker saw of the step.
    """
    if not any(record.layout.has_parts for record in records):
        return tuple(records)
    layouts = tuple(record.layout for record in records)
    plan = _plan(layouts)
    rows = np.concatenate([record.statistics for record in records])
    merged = merge_shard_rows(rows[plan.order], plan.starts)
    whole = are_complete(rows[plan.order], plan.starts, plan.parts, plan.sizes)
    owned = plan.order[plan.starts][whole]
    rows[owned] = merged[whole]
    kept = ~plan.in_parts
    kept[owned] = True
    return tuple(
        replace(
            record,
            layout=layout,
            statistics=rows[first : first + len(record.layout)][rows_kept],
            raw=_AssembledValues(records, which, layout, plan.joints),
            digests={name: one for name, one in record.digests.items() if name not in plan.joints},
            exponents=_exponents(records, which, layout, plan.joints),
        )
        for which, (record, first, (layout, rows_kept)) in enumerate(
            zip(records, plan.firsts, plan.without(kept), strict=True)
        )
    )


@dataclass(frozen=True, slots=True)
class _ShardedTensor:
    """A tensor in parts: its shape, and which record holds the part that begins where."""

    shape: tuple[int, ...]
    holders: dict[Offset, int]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be merged in steps of some layouts; rows are counted over all of them.

    Args:
        layouts: Of each worker's record.
        firsts: The first row of each.
        in_parts: Which rows are parts.
        joints: The tensors that lie in parts, by name.
        order: The rows of their parts, joint after joint.
        starts: Where each joint begins in ``order``.
        parts: How many elements each of those parts has, as ``shard_sizes`` tells.
        sizes: How many elements each joint has.
    """

    layouts: tuple[Layout, ...]
    firsts: npt.NDArray[np.intp]
    in_parts: npt.NDArray[np.bool_]
    joints: dict[str, _ShardedTensor]
    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    parts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    made: dict[bytes, list[tuple[Layout, npt.NDArray[np.intp]]]]

    def without(self, kept: npt.NDArray[np.bool_]) -> list[tuple[Layout, npt.NDArray[np.intp]]]:
        """Return each layout with only the rows that are kept, whole now, and which these are."""
        key = kept.tobytes()
        if key not in self.made:
            parts = [np.flatnonzero(part) for part in np.split(kept, self.firsts[1:])]
            self.made[key] = [
                (Layout(tuple(replace(layout.tensors[row], offset=None) for row in rows)), rows)
                for layout, rows in zip(self.layouts, parts, strict=True)
            ]
        return self.made[key]


# Workers have few layouts each, which many steps share.
@lru_cache(maxsize=64)
def _plan(layouts: tuple[Layout, ...]) -> _Plan:
    joints: dict[str, _ShardedTensor] = {}
    for which, layout in enumerate(layouts):
        for tensor in layout.tensors:
            if tensor.offset is not None:
                joint = joints.setdefault(tensor.name, _ShardedTensor(tensor.shape, {}))
                joint.holders.setdefault(tensor.offset, which)
    firsts = np.cumsum([0, *map(len, layouts[:-1])], dtype=np.intp)
    order = [
        firsts[which] + layouts[which].row_of[name]
        for name, joint in joints.items()
        for which in joint.holders.values()
    ]
    lengths = [len(joint.holders) for joint in joints.values()]
    parts = [size for one in joints.values() for size in shard_sizes(one.shape, [*one.holders])]
    return _Plan(
        layouts,
        firsts,
        np.array([one.offset is not None for layout in layouts for one in layout.tensors]),
        joints,
        np.array(order, np.intp),
        np.cumsum([0, *lengths[:-1]], dtype=np.intp),
        np.array(parts, np.int64),
        np.array([prod(joint.shape) for joint in joints.values()], np.int64),
        {},
    )


def _exponents(
    records: Sequence[StepRecord], which: int, layout: Layout, joints: Mapping[str, _ShardedTensor]
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the histograms of one worker's record, with those of parts added up."""
    own = records[which].exponents
    found = {name: counts for name, counts in own.items() if name not in joints}
    for name in own.keys() & joints.keys() & layout.row_of.keys():
        parts = [records[at].exponents.get(name) for at in joints[name].holders.values()]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            found[name] = np.sum(known, axis=0)
    return found


class _AssembledValues(Mapping[str, Array]):
    """The full values of one worker's record, assembled from shards on access.

    Args:
        records: The records of all workers.
        which: The index of its record among them.
        layout: What it has, now that parts are made one.
        joints: What lies in parts.
    """

    def __init__(
        self,
        records: Sequence[StepRecord],
        which: int,
        layout: Layout,
        joints: Mapping[str, _ShardedTensor],
    ) -> None:
        self._records = records
        self._own = records[which].raw
        self._layout = layout
        self._joints = joints

    def __getitem__(self, name: str) -> Array:
        if name not in self:
            raise KeyError(name)
        joint = self._joints.get(name)
        if joint is None:
            return self._own[name]
        parts = {offset: self._records[at].raw[name] for offset, at in joint.holders.items()}
        whole = assemble(joint.shape, parts)
        if whole is None:
            raise KeyError(name)
        return whole

    def __contains__(self, name: object) -> bool:
        if name not in self._own or name not in self._layout.row_of:
            return False
        joint = self._joints.get(str(name))
        return joint is None or all(name in self._records[at].raw for at in joint.holders.values())

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._own if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
