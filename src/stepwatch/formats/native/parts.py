"""Parts of observations: Parquet files that know their steps, written whole and read by need.

The order that makes merging safe: the merged part appears before the parts that it replaces
go. A reader that meets both takes the wider one; a reader that finds a part gone lists again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...steps import Mode
from ...store import Store, StoreFile
from .layout import Span, observations_key
from .observations import TEXT_COLUMNS, StepRange

_META = b"stepwatch"
# Row groups of merged parts hold whole tensors and at least this many rows.
GROUP_ROWS = 4_096


@dataclass(frozen=True, slots=True)
class PartMeta:
    """What a part says of itself.

    Args:
        follows: The last step that the worker recorded before this part; -1 for none.
        ranges: The steps it holds.
    """

    follows: int
    ranges: tuple[StepRange, ...]


def write_part(
    store: Store, span: Span, table: pa.Table, meta: PartMeta, *, clustered: bool
) -> None:
    """Write rows as one part; ``clustered`` ones get row groups that end where a tensor ends."""
    rows = [
        [range_.mode.value, range_.first, range_.count, range_.stride, range_.mode_first,
         range_.mode_stride]
        for range_ in meta.ranges
    ]  # fmt: skip
    text = json.dumps({"follows": meta.follows, "steps": rows}, separators=(",", ":"))
    table = table.replace_schema_metadata({_META: text.encode()})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=TEXT_COLUMNS
    ) as writer:
        for start, stop in _row_groups(table) if clustered else [(0, len(table))]:
            writer.write_table(table.slice(start, stop - start))
    store.put(observations_key(span), sink.getvalue())


def _row_groups(table: pa.Table) -> Iterator[tuple[int, int]]:
    codes = table.column("tensor").combine_chunks().indices.to_numpy()
    ends = [*(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    start = 0
    for end in ends:
        if end - start >= GROUP_ROWS or end == len(codes):
            yield start, end
            start = end


class Part:
    """One part of observations in a store.

    Args:
        store: Where it lies.
        span: Whose steps it holds.

    Raises:
        FileNotFoundError: It is gone, merged into another.
        CorruptRun: It is not what a writer wrote.
    """

    def __init__(self, store: Store, span: Span) -> None:
        self.span = span
        self.key = observations_key(span)
        self._store = store
        file = self._open()
        self._metadata = file.metadata
        self.meta = self._parse_meta()
        self.num_rows: int = file.metadata.num_rows
        self._tensors_of: dict[int, frozenset[str]] = {}

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows, all columns by default."""
        return self._read(range(self._metadata.num_row_groups), columns)

    def read_tensors(
        self, tensors: frozenset[str], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of some tensors, reading no row group that holds none of them."""
        groups = [
            group
            for group in range(self._metadata.num_row_groups)
            if self._may_hold(group, tensors)
        ]
        table = self._read(groups, columns and [*dict.fromkeys((*columns, "tensor"))])
        return table.filter(pc.is_in(table.column("tensor"), pa.array(sorted(tensors))))

    def tensors(self) -> dict[str, str]:
        """Return the collection of every tensor that has a row here."""
        table = self._read(range(self._metadata.num_row_groups), ["tensor", "collection"])
        pairs = table.group_by(["tensor", "collection"]).aggregate([])
        return dict(zip(*(pairs.column(index).to_pylist() for index in range(2)), strict=True))

    def _may_hold(self, group: int, tensors: frozenset[str]) -> bool:
        statistics = self._metadata.row_group(group).column(self._tensor_column).statistics
        if statistics is None or not statistics.has_min_max:
            return True
        return any(statistics.min <= name <= statistics.max for name in tensors)

    def _read(self, groups: Sequence[int], columns: Sequence[str] | None) -> pa.Table:
        try:
            return self._open().read_row_groups(list(groups), columns=columns)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise CorruptRun(self.key, 0, _first_line(error)) from None

    def _open(self) -> pq.ParquetFile:
        source = pa.PythonFile(StoreFile(self._store, self.key), mode="r")
        try:
            return pq.ParquetFile(
                source, metadata=getattr(self, "_metadata", None), read_dictionary=TEXT_COLUMNS
            )
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            size = self._store.size(self.key)
            raise CorruptRun(self.key, size, _first_line(error)) from None

    def _parse_meta(self) -> PartMeta:
        try:
            fields = json.loads(self._metadata.metadata[_META])
            ranges = tuple(StepRange(Mode(mode), *rest) for mode, *rest in fields["steps"])
            self._tensor_column = self._metadata.schema.names.index("tensor")
            return PartMeta(int(fields["follows"]), ranges)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(self.key, 0, f"no steps in its metadata ({error!r})") from None


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0][:200]
