"""Keys and parts of a profile's tables: Parquet files, merged by levels while they are written.

As with observations a merged part appears before those that it replaces go, of two that hold the
same the wider one counts, and no key ever holds another value, also when a training is resumed at
an earlier step. Of each part a merged one keeps a bounded number of moments, so that what a run of
any length leaves grows with the logarithm of its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...numerics.columns import numbers, rows_where
from ...store import Store
from ..interface import LevelMerger
from ..native.parquet_file import (
    arrow_copy,
    chunks,
    distrusting,
    footer_of,
    verify_chunks,
    with_seal,
)
from ..native.parts import Span as Range
from ..native.parts import part_name, widest_spans
from .tables import SPANS, Table, by_series, ends_ns, thin

PROFILE = "profile/"
MACHINES = f"{PROFILE}machines/"
# What the sampler writes, a process of its own.
SAMPLED = (f"{PROFILE}system/", MACHINES)
# Whoever puts something there asks for it to be profiled from then on.
CONFIG_KEY = f"{PROFILE}profilerconfig.json"
TRACES = f"{PROFILE}traces/"
PYTHON = f"{PROFILE}python/"

_PART = re.compile(r"profile/[a-z]+/([^/]+)/(\d+)-(\d+)(?:-(\d+))?_(\d+)-(\d+)\.parquet")


@dataclass(frozen=True, slots=True)
class PartKey:
    """What the key of a part says, so that a reader need not open those that it does not want.

    Args:
        table: The name of its table.
        range: Whose part it is, and which parts it holds, counted as they were first written; and
            how often the worker had been resumed when it was written.
        first_ms: No row is from before; milliseconds since the Unix epoch.
        last_ms: No row ends after.
    """

    table: str
    range: Range
    first_ms: int
    last_ms: int

    def __str__(self) -> str:
        name = f"{part_name(self.range)}_{self.first_ms}-{self.last_ms}"
        return f"{PROFILE}{self.table}/{name}.parquet"

    def overlaps(self, start_ns: int | None, end_ns: int | None) -> bool:
        """Return whether it may hold something from ``start_ns`` on and before ``end_ns``."""
        begins = end_ns is None or self.first_ms * 1_000_000 < end_ns
        return begins and (start_ns is None or (self.last_ms + 1) * 1_000_000 > start_ns)


def parse_part(table: str, key: str) -> PartKey | None:
    """Return what the key of a part of a table says, ``None`` for another key.

    Example:
        >>> parse_part("system", "profile/system/here/000000000000-000000000009_5-25.parquet").range
        Span(worker='here', first=0, last=9, again=0)
    """
    match = _PART.fullmatch(key)
    if match is None:
        return None
    first, last, again, first_ms, last_ms = (int(number or 0) for number in match.groups()[1:])
    return PartKey(table, Range(match[1], first, last, again), first_ms, last_ms)


def parts_prefix(table: str, who: str = "") -> str:
    """Return what the keys of the parts of a table begin with; those of one machine or worker."""
    return f"{PROFILE}{table}/{who}/" if who else f"{PROFILE}{table}/"


def machine_key(node: str) -> str:
    """Return the key of the note that says what a machine is."""
    return f"{MACHINES}{node}.json"


def node_name(host: str) -> str:
    """Return the name of a machine as it may stand in a key.

    Example:
        >>> node_name("gpu-7.example.org"), node_name("a b/c"), node_name("")
        ('gpu-7.example.org', 'a_b_c', 'machine')
    """
    return re.sub(r"[^\w.-]", "_", host).strip(".") or "machine"


def trace_key(first: int, last: int, rank: int, suffix: str = ".json.gz") -> str:
    """Return the key of the trace of some steps of one worker.

    One folder holds one file for each rank, as Holistic Trace Analysis wants to find them.

    Example:
        >>> trace_key(5, 7, 0)
        'profile/traces/steps_000000000005-000000000007/rank0.json.gz'
    """
    return f"{TRACES}{_steps(first, last)}/rank{rank}{suffix}"


def python_key(first: int, last: int, rank: int, suffix: str) -> str:
    """Return the key of what the functions of Python took in some steps of one worker."""
    return f"{PYTHON}{_steps(first, last)}/rank{rank}{suffix}"


def _steps(first: int, last: int) -> str:
    return f"steps_{first:012d}-{last:012d}"


#: A merged part has at most this many rows of each series.
MOMENTS = 2_000


def list_parts(store: Store, table: Table, who: str = "") -> list[PartKey]:
    """Return the parts of a table that count, by whom and in the order in which they came."""
    keys = (parse_part(table.name, key) for key in store.list(parts_prefix(table.name, who)))
    known = {key.range: key for key in keys if key is not None}
    return [known[range_] for range_ in widest_spans(known)]


def write_part(store: Store, table: Table, rows: pa.Table, range_: Range) -> PartKey:
    """Store rows, at least one, as a part."""
    starts = numbers(rows.column(table.time))
    ends = ends_ns(rows) if table is SPANS else starts
    key = PartKey(table.name, range_, int(starts.min()) // 1_000_000, int(ends.max()) // 1_000_000)
    sink = pa.BufferOutputStream(pa.system_memory_pool())
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        use_dictionary=[*table.series, *table.floats],
        column_encoding={
            one.name: "DELTA_BINARY_PACKED" for one in table.schema if one.type == pa.int64()
        },
        write_page_checksum=True,
        memory_pool=pa.system_memory_pool(),
    )
    store.put(str(key), b"".join(with_seal(sink.getvalue())))
    return key


def read_part(store: Store, table: Table, key: PartKey) -> pa.Table:
    """Return the rows of a part.

    Raises:
        FileNotFoundError: It is gone, merged into another.
        CorruptRun: It is not what a writer wrote.
    """
    data = arrow_copy(store.get(str(key)))
    footer = footer_of(str(key), memoryview(data), len(data))
    every = range(footer.metadata.num_row_groups)
    verify_chunks(str(key), data, footer, chunks(footer.metadata, every, None))
    with distrusting(str(key), 0):
        try:
            rows = pq.ParquetFile(
                pa.BufferReader(data),
                metadata=footer.metadata,
                read_dictionary=table.series,
                page_checksum_verification=True,
            ).read()
        except KeyError as error:
            raise CorruptRun(str(key), 0, f"it has no column {error}") from None
    if rows.schema.names != table.schema.names:
        raise CorruptRun(str(key), 0, f"its columns are {', '.join(rows.schema.names)}")
    return rows if rows.schema.equals(table.schema) else rows.cast(table.schema)


class PartsWriter:
    """Writes one machine's or worker's part of a table.

    Args:
        store: Where the run lies.
        table: The table.
        who: The machine or worker. What it wrote before stays as it is.
    """

    def __init__(self, store: Store, table: Table, who: str) -> None:
        self._store, self._table, self._who = store, table, who
        before = list_parts(store, table, who)
        self._next = before[-1].range.last + 1 if before else 0
        self._levels = LevelMerger(self._merge)

    def write(self, rows: pa.Table) -> None:
        """Store rows, later than those before, and merge what is due."""
        if not len(rows):
            return
        range_ = Range(self._who, self._next, self._next)
        self._next += 1
        self._levels.add(write_part(self._store, self._table, rows, range_))

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


def truncate_spans(store: Store, worker: str, first: int) -> None:
    """Remove what a worker did from the moment on at which it first began global step ``first``."""
    parts = _parts(store, worker)
    again = 1 + max((key.range.again for key in parts), default=0)
    began_ns = min((_began_ns(rows, first) for rows in parts.values()), default=0)
    for key in sorted(parts, key=lambda key: -key.range.last):
        rows = parts[key]
        kept = rows_where(rows, numbers(rows.column("start_ns")) < began_ns)
        if len(kept) < len(rows):
            if len(kept):
                write_part(store, SPANS, kept, key.range._replace(again=again))
            store.delete(str(key))


def _parts(store: Store, worker: str) -> dict[PartKey, pa.Table]:
    """Return the rows of all parts that can be read, also of those that lie within another."""
    found = {}
    for text in store.list(parts_prefix(SPANS.name, worker)):
        key = parse_part(SPANS.name, text)
        if key is not None:
            with suppress(FileNotFoundError, CorruptRun):
                found[key] = read_part(store, SPANS, key)
    return found


def _began_ns(rows: pa.Table, step: int) -> int:
    """Return when the first interval of this step or a later one began."""
    is_later = numbers(rows.column("step")) >= step
    starts = numbers(rows.column("start_ns"))[is_later]
    return int(starts.min(initial=np.iinfo(np.int64).max))
