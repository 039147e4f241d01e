"""Merging parts: few large ones instead of many small ones.

Ten parts become one, ten of those become one again, so that the number of parts grows with
the logarithm of the run, up to a size that one merge may cost. A merged part is clustered by
tensor, then step: one tensor's series lies together. Only neighbours are merged: a part that
spans steps of another would hide it from readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...store import Store
from ..step_range import join_ranges
from .contents import Contents, rewrite_contents
from .layout import Span, observations_key
from .part_meta import PartMeta
from .parts import Known, Part, write_part

FAN_IN = 10
# A merge holds this many rows in memory (about 500 bytes each); a part that large stays as it is.
ROW_LIMIT = 500_000
# Merging in the training process stops here: half a second. ``compact`` goes on from there.
TRAINING_ROW_LIMIT = ROW_LIMIT // 2


def merge_parts(store: Store, parts: Sequence[Part]) -> Known:
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
    order = np.lexsort((table.column("step").to_numpy(), by_name[names.indices.to_numpy()]))
    return table.take(pa.array(order))


class _Merged(NamedTuple):
    known: Known
    level: int


class Levels:
    """Merges the parts of one worker while they are written.

    Args:
        store: Where they lie.
        row_limit: No merge holds more rows.
    """

    def __init__(self, store: Store, row_limit: int = TRAINING_ROW_LIMIT) -> None:
        self._store = store
        self._row_limit = row_limit
        # Neighbours, in the order of steps. What is not here any more stays as it is.
        self._parts: list[_Merged] = []
        self._contents = Contents(store)

    def add(self, part: Known) -> None:
        """Take a new part, which follows the ones before, and merge what is due."""
        new: _Merged | None = _Merged(part, 0)
        while new is not None:
            self._parts.append(new)
            new = self._merge_due(new.level)

    def _merge_due(self, level: int) -> _Merged | None:
        """Merge the parts of ``level`` at the end; return the new one if it may grow on."""
        start = len(self._parts)
        while start and self._parts[start - 1].level == level:
            start -= 1
        due, before = self._parts[start:], self._parts[:start]
        total = sum(part.known.num_rows for part in due)
        if total > self._row_limit:
            # Nothing merges across these from now on.
            self._parts = due[-1:]
            grown = [part.known for part in (*before, *due[:-1])]
            if len(due) > 2:
                grown[len(before) :] = [self._merge(due[:-1])]
            self._contents.enter(grown)
            return None
        if len(due) < FAN_IN:
            return None
        self._parts = []  # should merging fail, these stay as they are
        merged = _Merged(self._merge(due), level + 1)
        self._parts = before
        return merged

    def _merge(self, parts: Sequence[_Merged]) -> Known:
        found = (part.known for part in parts)
        return merge_parts(self._store, [Part(self._store, one.span, one) for one in found])


def compact(store: Store, parts: Sequence[Part]) -> int:
    """Merge all of a worker's parts up to the row limit; return how many parts are left."""
    left, batch, rows = list[Known](), list[Part](), 0
    for part in [*parts, None]:
        if part is None or (batch and rows + part.num_rows > ROW_LIMIT):
            one = [part.known for part in batch]
            left += one if len(one) < 2 else [merge_parts(store, batch)]
            batch, rows = [], 0
        if part is not None:
            batch.append(part)
            rows += part.num_rows
    if left:
        rewrite_contents(store, left[0].span.worker, left)
    return len(left)
