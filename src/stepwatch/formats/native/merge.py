"""Merging parts: few large ones instead of many small ones.

Ten parts become one, ten of those become one again, so that the number of parts grows with
the logarithm of the run, up to a size that one merge may cost. A merged part is clustered by
tensor, then step: one tensor's series lies together. Only neighbours are merged: a part that
spans steps of another would hide it from readers. With the rows the files of full values are merged
that they name, as far as those are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from ...store import Store, put_parts
from ..interface import LevelMerger, join_ranges
from ..manifest import worker_in_key
from .blobs import Array, RunBlobFile, encode_checked
from .observations import encoded, text_codes
from .parts import (
    TENSORS,
    KnownPart,
    LoadedPart,
    Part,
    PartIndex,
    PartMeta,
    RowGroups,
    Span,
    TensorGroup,
    blob_name,
    by_tensor,
    count_rows,
    group_tensors,
    observations_key,
    parse_span,
    rewrite_part_index,
    split_rows,
    tensors_in,
    tensors_key,
    write_part,
)

# A part that large stays as it is.
ROW_LIMIT = 500_000
# A merge of merged parts decodes so many rows at once, of about 250 bytes each, or all of one
# tensor; of the rest it holds what is stored.
PORTION_ROWS = 1 << 16
# Files of full values are merged up to this size; a merge holds one in memory, twice.
BLOB_LIMIT_BYTES = 16 << 20
# Merging in the training process stops here: half a second. ``compact`` goes on from there.
TRAINING_ROW_LIMIT = ROW_LIMIT // 2


def merge_parts(store: Store, parts: Sequence[Part]) -> KnownPart:
    """Replace consecutive parts of one worker by one part that holds the same rows."""
    merged = _joined([part.span for part in parts])
    ranges = join_ranges(range_ for part in parts for range_ in part.meta.ranges)
    meta = PartMeta(parts[0].meta.follows, tuple(ranges))
    loaded = [part.load() for part in parts]
    every = pa.concat_tables(
        [one.column_values(["tensor", "collection", "blob"]) for one in loaded]
    )
    blobs = _merge_blobs(store, merged.worker, text_codes(every.column("blob")).values)
    groups = group_tensors(count_rows(every))
    rows = RowGroups(
        (_with_blobs(table, blobs) for table in _merged_groups(loaded, groups)),
        [group.tensors[0] for group in groups],
        len(every),
        tensors_in(every),
        sum(one.values_bytes + len(groups) * one.texts_bytes for one in loaded),
    )
    known = write_part(store, merged, rows, meta)
    pa.default_memory_pool().release_unused()  # what is decoded would stay with this thread
    for part in parts:
        store.delete(observations_key(part.span))
    for name in blobs:
        store.delete(f"{TENSORS}{worker_in_key(merged.worker)}/{name}")
    return known


def _merged_groups(
    parts: Sequence[LoadedPart], groups: Sequence[TensorGroup]
) -> Iterator[pa.Table]:
    """Yield the rows of each group, in the order of tensors, then of steps.

    Args:
        parts: In the order of steps.
        groups: All of their tensors.
    """
    num_rows = sum(group.num_rows for group in groups)
    most = num_rows if all(one.is_fresh for one in parts) else PORTION_ROWS
    for several in _portions(groups, most):
        tensors = frozenset(name for group in several for name in group.tensors)
        tables = [one.rows(tensors) for one in parts]
        table = pa.concat_tables(tables).unify_dictionaries()
        if len(tensors) > 1:  # of one tensor they are in the order of steps already
            table = by_tensor(table.combine_chunks())
        yield from split_rows(table, several)


def _portions(groups: Sequence[TensorGroup], most: int) -> Iterator[list[TensorGroup]]:
    """Yield groups that are decoded together, of so many rows at most if they are several."""
    portion, held = list[TensorGroup](), 0
    for group in groups:
        if portion and held + group.num_rows > most:
            yield portion
            portion, held = [], 0
        portion.append(group)
        held += group.num_rows
    if portion:
        yield portion


def _joined(spans: Sequence[Span]) -> Span:
    """Return the span of what consecutive ones of a worker are merged into."""
    again = max(span.again for span in spans)
    return Span(spans[0].worker, spans[0].first, spans[-1].last, again)


def _merge_blobs(store: Store, worker: str, names: Sequence[str]) -> dict[str, str]:
    """Merge the files of full values that rows name, where they are small.

    Returns:
        For each file that nobody is to name any more, the one that holds what it held.
    """
    spans = {span: name for name in names if (span := parse_span(f"{worker}/{name}"))}
    merged_into: dict[str, str] = {}
    for group in _small_groups(store, sorted(spans)):
        merged = _joined(group)
        values: dict[str, Array] = {}
        for span in group:
            key = tensors_key(span)
            file = RunBlobFile(key, partial(store.get, key))
            values |= {name: file.get(name) for name in file.names}
        put_parts(store, tensors_key(merged), encode_checked(values))
        merged_into |= dict.fromkeys((spans[span] for span in group), blob_name(merged))
    return merged_into


def _with_blobs(table: pa.Table, merged_into: Mapping[str, str]) -> pa.Table:
    """Return rows that name the files into which those that they name were merged."""
    column = text_codes(table.column("blob"))
    if not merged_into.keys() & set(column.values):
        return table
    names = [merged_into.get(name, name) for name in column.values]
    renamed = [None if code < 0 else names[code] for code in column.codes.tolist()]
    index = table.schema.get_field_index("blob")
    return table.set_column(index, table.field(index), encoded(renamed))


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
