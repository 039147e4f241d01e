"""Parts of a profile's tables: Parquet files, merged by levels while they are written.

As with observations the merged part appears before those that it replaces go, and of two that
hold the same the wider one counts. Of each part a merged one holds at most so many moments, so
that what a run of any length leaves grows with the logarithm of its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...store import Store
from ..native.chain import widest
from ..native.layout import Span as Range
from ..native.parquet_file import distrusting
from .layout import PartKey, parse_part, parts_prefix
from .tables import SPANS, Table, by_series, thin

FAN_IN = 10
#: A merged part tells each series by at most so many rows.
MOMENTS = 2_000


def list_parts(store: Store, table: Table, who: str = "") -> list[PartKey]:
    """Return the parts of a table that count, by whom and in the order in which they came."""
    keys = (parse_part(table.name, key) for key in store.list(parts_prefix(table.name, who)))
    known = {key.range: key for key in keys if key is not None}
    return [known[range_] for range_ in widest(known)]


def write_part(store: Store, table: Table, rows: pa.Table, range_: Range) -> PartKey:
    """Store rows, at least one, as a part."""
    starts = rows.column(table.time).to_numpy()
    ends = starts + rows.column("longest_ns").to_numpy() if table is SPANS else starts
    key = PartKey(table.name, range_, int(starts.min()) // 1_000_000, int(ends.max()) // 1_000_000)
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        use_dictionary=[*table.series, *table.floats],
        column_encoding={
            one.name: "DELTA_BINARY_PACKED" for one in table.schema if one.type == pa.int64()
        },
        write_page_checksum=True,
    )
    store.put(str(key), sink.getvalue())
    return key


def read_part(store: Store, table: Table, key: PartKey) -> pa.Table:
    """Return the rows of a part.

    Raises:
        FileNotFoundError: It is gone, merged into another.
        CorruptRun: It is not what a writer wrote.
    """
    data = store.get(str(key))
    with distrusting(str(key), 0):
        try:
            rows = pq.ParquetFile(
                pa.BufferReader(data),
                read_dictionary=table.series,
                page_checksum_verification=True,
            ).read()
        except KeyError as error:
            raise CorruptRun(str(key), 0, f"it has no column {error}") from None
    if rows.schema.names != table.schema.names:
        raise CorruptRun(str(key), 0, f"its columns are {', '.join(rows.schema.names)}")
    return rows.cast(table.schema)


class _Level(NamedTuple):
    part: PartKey
    level: int


class PartsWriter:
    """Writes one machine's or worker's part of a table.

    Args:
        store: Where the run lies.
        table: Which table.
        who: Whose rows. What it wrote before stays as it is.
    """

    def __init__(self, store: Store, table: Table, who: str) -> None:
        self._store, self._table, self._who = store, table, who
        before = list_parts(store, table, who)
        self._next = before[-1].range.last + 1 if before else 0
        self._levels: list[_Level] = []

    def write(self, rows: pa.Table) -> None:
        """Store rows, later than those before, and merge what is due."""
        if not len(rows):
            return
        range_ = Range(self._who, self._next, self._next)
        self._next += 1
        new: _Level | None = _Level(write_part(self._store, self._table, rows, range_), 0)
        while new is not None:
            self._levels.append(new)
            new = self._merge_due(new.level)

    def _merge_due(self, level: int) -> _Level | None:
        due = [one.part for one in self._levels if one.level == level]
        if len(due) < FAN_IN:
            return None
        before = [one for one in self._levels if one.level != level]
        self._levels = []  # should merging fail, these stay as they are
        merged = self._merge(due)
        self._levels = before
        return _Level(merged, level + 1)

    def _merge(self, parts: Sequence[PartKey]) -> PartKey:
        table = self._table
        rows = pa.concat_tables([read_part(self._store, table, key) for key in parts])
        range_ = Range(self._who, parts[0].range.first, parts[-1].range.last)
        merged = write_part(
            self._store, table, by_series(table, thin(table, rows, MOMENTS)), range_
        )
        for key in parts:
            self._store.delete(str(key))
        return merged
