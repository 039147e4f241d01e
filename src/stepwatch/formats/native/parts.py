"""Parts of observations: Parquet files that know their steps, written whole and read by need.

The order that makes merging safe: the merged part appears before the parts that it replaces
go. A reader that meets both takes the wider one; a reader that finds a part gone lists again.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...steps import Mode
from ...store import Store
from .layout import Span, observations_key
from .observations import SCHEMA, SINCE_LATER, TEXT_COLUMNS
from .parquet_file import (
    Extent,
    Footer,
    Group,
    chunk_ranges,
    distrusting,
    encode,
    groups_of,
    holds_only,
    read_footer,
    read_ranges,
)
from .part_meta import PartMeta
from .text_columns import text_codes

_META = b"stepwatch"
# Row groups of merged parts hold whole tensors and at least this many rows.
GROUP_ROWS = 2_000
# Arrow refuses the name of a column that a file does not have.
_ALWAYS_TEXT = [name for name in TEXT_COLUMNS if name not in SINCE_LATER]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a part without asking it.

    Args:
        span: Whose steps it holds.
        meta: What it says of itself.
        num_rows: How many rows it has.
        extent: How large it is.
        groups: Its row groups, in the order of names, if each has a footer of its own; else none.
    """

    span: Span
    meta: PartMeta
    num_rows: int
    extent: Extent
    groups: tuple[Group, ...] = ()


def write_part(
    store: Store, span: Span, table: pa.Table, meta: PartMeta, *, clustered: bool
) -> Known:
    """Write rows as one part; ``clustered`` ones get row groups that end where a tensor ends."""
    meta = replace(meta, names=_digest(tensors_in(table)))
    text = json.dumps(meta.to_fields(), separators=(",", ":"))
    table = table.replace_schema_metadata({_META: text.encode()})
    edges = list(_row_groups(table)) if clustered else [(0, len(table))]
    data, extent, stops = encode(
        [_without_unused(table.slice(start, stop - start)) for start, stop in edges],
        compression="zstd" if clustered else "lz4",  # what is fresh is soon written again
        dictionaries=TEXT_COLUMNS,
        statistics=["step", "tensor"],
    )
    store.put(observations_key(span), data)
    firsts = [table.column("tensor")[start].as_py() for start, _ in edges] if clustered else [""]
    groups = tuple(map(Group, firsts, stops))
    return Known(span, meta, len(table), extent, groups)


def _row_groups(table: pa.Table) -> Iterator[tuple[int, int]]:
    codes = table.column("tensor").combine_chunks().indices.to_numpy()
    ends = [*(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    start = 0
    for end in ends:
        if end - start >= GROUP_ROWS or end == len(codes):
            yield start, end
            start = end


def _without_unused(table: pa.Table) -> pa.Table:
    """Return rows with only those names of tensors that they have: each group stores its own."""
    codes = text_codes(table.column("tensor"))
    used, numbers = np.unique(codes.codes, return_inverse=True)
    names = pa.array([codes.values[code] for code in used], pa.string())
    column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), names)
    return table.set_column(table.column_names.index("tensor"), "tensor", column)


def tensors_in(table: pa.Table) -> dict[str, str]:
    """Return the collection of every tensor that has a row, in the order of names."""
    # By hand: to group, Arrow would import its query engine into the training process.
    tensors, collections = (text_codes(table.column(name)) for name in ("tensor", "collection"))
    collection_of = np.full(len(tensors.values), -1)
    collection_of[tensors.codes] = collections.codes
    pairs = zip(tensors.values, collection_of.tolist(), strict=True)
    return {name: collections.values[code] for name, code in sorted(pairs) if code >= 0}


def _digest(tensors: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(tensors).encode()).hexdigest()[:32]


class Part:
    """One part of observations in a store.

    Args:
        store: Where it lies.
        span: Whose steps it holds.
        known: What is known of it; by default its footer is read now, else when rows are.
        footers: ``Part.read_footer``, or what remembers some of what it returned. By default each
            part remembers its own.

    Raises:
        FileNotFoundError: It is gone, merged into another.
        CorruptRun: It is not what a writer wrote.
    """

    def __init__(
        self,
        store: Store,
        span: Span,
        known: Known | None = None,
        footers: Callable[[Part], Footer] | None = None,
    ) -> None:
        self.span = span
        self.key = observations_key(span)
        self._store = store
        self._footers = footers or lru_cache(maxsize=1)(Part.read_footer)
        self._extent = known.extent if known else None
        self.known = known or self._ask()
        self._extent = self.known.extent

    @property
    def meta(self) -> PartMeta:
        """What it says of itself."""
        return self.known.meta

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
        return self.known.num_rows

    def read_footer(self) -> Footer:
        """Return its footer, as it is now."""
        return read_footer(self._store, self.key, self._extent)

    def may_hold(self, mode: Mode, step: int) -> bool:
        """Return whether a step, as ``mode`` counts it, may be here."""
        if mode is Mode.GLOBAL:
            return self.span.first <= step <= self.span.last
        return any(
            range_.mode is mode and range_.mode_first <= step <= range_.mode_last
            for range_ in self.meta.ranges
        )

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows, all columns by default."""
        footer = self._footers(self)
        return self._read(footer, range(footer.metadata.num_row_groups), columns, use_threads=True)

    def read_tensors(
        self, tensors: frozenset[str], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of some tensors, reading no row group that holds none of them."""
        if self.known.groups and tensors:
            return self._read_groups(tensors, columns)
        footer = self._footers(self)
        groups = groups_of(footer.metadata, "tensor", tensors)
        table = self._read(footer, groups, _named(columns), use_threads=False)
        return _only(tensors, table, columns)

    def _read_groups(self, tensors: frozenset[str], columns: Sequence[str] | None) -> pa.Table:
        """Read the row groups that may hold some tensors, each with its own footer."""
        stops = [0, *(group.stop for group in self.known.groups)]
        firsts = [group.first for group in self.known.groups]
        tables = []
        for index in sorted({max(0, bisect_right(firsts, name) - 1) for name in tensors}):
            place = (stops[index], stops[index + 1])
            file = self._open(read_ranges(self._store, self.key, place[1], [place]))
            if holds_only(file.metadata, "tensor", tensors):
                tables.append(self._decode(file, [0], columns))
            else:
                tables.append(_only(tensors, self._decode(file, [0], _named(columns)), columns))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()

    def _read(
        self,
        footer: Footer,
        groups: Sequence[int],
        columns: Sequence[str] | None,
        *,
        use_threads: bool,
    ) -> pa.Table:
        ranges = chunk_ranges(footer.metadata, groups, columns)
        source = read_ranges(self._store, self.key, footer.extent.file, ranges)
        file = self._open(source, footer.metadata)
        return self._decode(file, groups, columns, use_threads=use_threads)

    def _open(
        self, source: pa.BufferReader, metadata: pq.FileMetaData | None = None
    ) -> pq.ParquetFile:
        with distrusting(self.key, 0):
            return pq.ParquetFile(
                source,
                metadata=metadata,
                # Own footers are as new as the last text column; others may be from before.
                read_dictionary=_ALWAYS_TEXT if metadata else TEXT_COLUMNS,
                pre_buffer=False,
                page_checksum_verification=True,
            )

    def _decode(
        self,
        file: pq.ParquetFile,
        groups: Sequence[int],
        columns: Sequence[str] | None,
        *,
        use_threads: bool = False,
    ) -> pa.Table:
        with distrusting(self.key, 0):
            table = file.read_row_groups(list(groups), columns=columns, use_threads=use_threads)
        there = table.column_names
        for name in SINCE_LATER:
            if name not in there and name in (columns or SCHEMA.names):  # it is from before
                table = table.append_column(name, pa.nulls(len(table), SCHEMA.field(name).type))
        return (
            table
            if columns is None or table.column_names == list(columns)
            else table.select(list(columns))
        )

    def _ask(self) -> Known:
        footer = self._footers(self)
        try:
            meta = PartMeta.from_fields(json.loads(footer.metadata.metadata[_META]))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(self.key, 0, f"no steps in its metadata ({error!r})") from None
        return Known(self.span, meta, footer.metadata.num_rows, footer.extent)


def _named(columns: Sequence[str] | None) -> Sequence[str] | None:
    """Return columns with that of the names."""
    return columns and [*dict.fromkeys((*columns, "tensor"))]


def _only(tensors: frozenset[str], table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """Return some columns of the rows of some tensors."""
    if not set(text_codes(table.column("tensor")).values) <= tensors:
        table = table.filter(pc.is_in(table.column("tensor"), pa.array(sorted(tensors))))
    return table if columns is None else table.select(list(columns))
