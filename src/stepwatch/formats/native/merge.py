"""Merging parts: few large ones instead of many small ones.

Ten parts become one, ten of those become one again, so that the number of parts grows with
the logarithm of the run, up to a size that one merge may cost. A merged part is clustered by
tensor, then step: one tensor's series lies together. Only neighbours are merged: a part that
spans steps of another would hide it from readers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ...numerics.columns import numbers, rows_at
from ...store import Store
from ..interface import LevelMerger, join_ranges
from .parts import (
    KnownPart,
    Part,
    PartIndex,
    PartMeta,
    Span,
    observations_key,
    rewrite_part_index,
    write_part,
)

# A merge holds this many rows in memory (about 500 bytes each); a part that large stays as it is.
ROW_LIMIT = 500_000
# Merging in the training process stops here: half a second. ``compact`` goes on from there.
TRAINING_ROW_LIMIT = ROW_LIMIT // 2


def merge_parts(store: Store, parts: Sequence[Part]) -> KnownPart:
    """Replace consecutive parts of one worker by one part that holds the same rows."""
    table = pa.concat_tables([part.read() for part in parts]).unify_dictionaries().combine_chunks()
    ranges = join_ranges(range_ for part in parts for range_ in part.meta.ranges)
    again = max(part.span.again for part in parts)
    merged = Span(parts[0].span.worker, parts[0].span.first, parts[-1].span.last, again)
    meta = PartMeta(parts[0].meta.follows, tuple(ranges))
    known = write_part(store, merged, by_tensor(table), meta, clustered=True)
    for part in parts:
        store.delete(observations_key(part.span))
    return known


def by_tensor(table: pa.Table) -> pa.Table:
    """Return rows, whose columns are one chunk each, in the order of tensors, then of steps."""
    names = table.column("tensor").combine_chunks()
    by_name = np.argsort(np.argsort(np.array(names.dictionary.to_pylist(), object)))
    order = np.lexsort((numbers(table.column("step")), by_name[numbers(names.indices)]))
    return rows_at(table, order)


class Levels(LevelMerger[KnownPart]):
    """Merges the parts of observations of one worker while they are written.

    Args:
        store: Where they lie.
        row_limit: No merge holds more rows.
    """

    def __init__(self, store: Store, row_limit: int = TRAINING_ROW_LIMIT) -> None:
        super().__init__(lambda due: merge_parts(store, [Part(store, x.span, x) for x in due]))
        self._row_limit = row_limit
        self._index = PartIndex(store)

    def _merge_due(self, level: int) -> tuple[KnownPart, int] | None:
        before, due = self._split(level)
        if sum(part.num_rows for part in due) <= self._row_limit:
            return super()._merge_due(level)
        # Nothing merges across these from now on.
        self._parts = [(due[-1], level)]
        grown = due[:-1] if len(due) < 3 else [self._merge(due[:-1])]
        self._index.enter([*(part for part, _ in before), *grown])
        return None


def compact(store: Store, parts: Sequence[Part]) -> int:
    """Merge all of a worker's parts up to the row limit; return how many parts are left."""
    left, batch, rows = list[KnownPart](), list[Part](), 0
    for part in [*parts, None]:
        if part is None or (batch and rows + part.num_rows > ROW_LIMIT):
            one = [part.known for part in batch]
            left += one if len(one) < 2 else [merge_parts(store, batch)]
            batch, rows = [], 0
        if part is not None:
            batch.append(part)
            rows += part.num_rows
    if left:
        rewrite_part_index(store, left[0].span.worker, left)
    return len(left)
