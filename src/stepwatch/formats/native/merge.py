"""Merging parts: few large ones instead of many small ones.

Ten parts become one, ten of those become one again, so that the number of parts grows with
the logarithm of the run, up to a size that one merge may cost. A merged part is clustered by
tensor, then step: one tensor's series lies together. Only neighbours are merged: a part that
spans steps of another would hide it from readers. With the rows the files of full values are merged
that they name, as far as those are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from ...numerics.columns import numbers, rows_at
from ...store import Store, put_parts
from ..interface import LevelMerger, join_ranges
from .blobs import Array, RunBlobFile, encode_checked
from .observations import encoded, text_codes
from .parts import (
    KnownPart,
    Part,
    PartIndex,
    PartMeta,
    Span,
    blob_name,
    observations_key,
    parse_span,
    rewrite_part_index,
    tensors_key,
    write_part,
)

# A merge holds this many rows in memory (about 500 bytes each); a part that large stays as it is.
ROW_LIMIT = 500_000
# Files of full values are merged up to this size; a merge holds one in memory, twice.
BLOB_LIMIT_BYTES = 16 << 20
# Merging in the training process stops here: half a second. ``compact`` goes on from there.
TRAINING_ROW_LIMIT = ROW_LIMIT // 2


def merge_parts(store: Store, parts: Sequence[Part]) -> KnownPart:
    """Replace consecutive parts of one worker by one part that holds the same rows."""
    table = pa.concat_tables([part.read() for part in parts]).unify_dictionaries().combine_chunks()
    ranges = join_ranges(range_ for part in parts for range_ in part.meta.ranges)
    merged = _joined([part.span for part in parts])
    meta = PartMeta(parts[0].meta.follows, tuple(ranges))
    table, blobs = _merge_blobs(store, merged.worker, table)
    known = write_part(store, merged, by_tensor(table), meta, clustered=True)
    for part in parts:
        store.delete(observations_key(part.span))
    for blob in blobs:
        store.delete(tensors_key(blob))
    return known


def _joined(spans: Sequence[Span]) -> Span:
    """Return the span of what consecutive ones of a worker are merged into."""
    again = max(span.again for span in spans)
    return Span(spans[0].worker, spans[0].first, spans[-1].last, again)


def _merge_blobs(store: Store, worker: str, table: pa.Table) -> tuple[pa.Table, list[Span]]:
    """Merge the files of full values that rows name, where they are small.

    Returns:
        The rows, which name the merged files, and the files that nobody names any more.
    """
    column = text_codes(table.column("blob"))
    spans = {span: name for name in column.values if (span := parse_span(f"{worker}/{name}"))}
    names = {name: name for name in column.values}
    doomed: list[Span] = []
    for group in _small_groups(store, sorted(spans)):
        merged = _joined(group)
        values: dict[str, Array] = {}
        for span in group:
            key = tensors_key(span)
            file = RunBlobFile(key, partial(store.get, key))
            values |= {name: file.get(name) for name in file.names}
        put_parts(store, tensors_key(merged), encode_checked(values))
        names |= dict.fromkeys((spans[span] for span in group), blob_name(merged))
        doomed += group
    if not doomed:
        return table, []
    renamed = [None if code < 0 else names[column.values[code]] for code in column.codes.tolist()]
    index = table.schema.get_field_index("blob")
    return table.set_column(index, table.field(index), encoded(renamed)), doomed


def _small_groups(store: Store, spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Yield consecutive files that make one file of at most ``BLOB_LIMIT_BYTES``."""
    group, held = list[Span](), 0
    for span in spans:
        try:
            size = store.size(tensors_key(span))
        except FileNotFoundError:
            size = BLOB_LIMIT_BYTES  # it is gone, and so is what it held
        if group and held + size > BLOB_LIMIT_BYTES:
            if len(group) > 1:
                yield group
            group, held = [], 0
        group.append(span)
        held += size
    if len(group) > 1:
        yield group


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
