"""Parts of observations: Parquet files that know their steps, written whole and read by need.

The order that makes merging safe: the merged part appears before the parts that it replaces
go. A reader that meets both takes the wider one; a reader that finds a part gone lists again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import CorruptRun, StoreError
from ...steps import Mode
from ...store import Store, StoreFile
from ..step_range import StepRange
from .layout import Span, observations_key
from .observations import SCHEMA, SINCE_LATER, TEXT_COLUMNS
from .text_columns import text_codes

_META = b"stepwatch"
# Row groups of merged parts hold whole tensors and at least this many rows.
GROUP_ROWS = 4_096
# Arrow refuses the name of a column that a file does not have.
_ALWAYS_TEXT = [name for name in TEXT_COLUMNS if name not in SINCE_LATER]
_LAST_TEXT = chr(0x10FFFF)


@dataclass(frozen=True, slots=True)
class PartMeta:
    """What a part says of itself.

    Args:
        follows: The last step that the worker recorded before this part; -1 for none.
        ranges: The steps it holds.
        names: A digest of the tensors it holds and their collections: parts with the same one
            need to be asked only once.
    """

    follows: int
    ranges: tuple[StepRange, ...]
    names: str = ""


def write_part(
    store: Store, span: Span, table: pa.Table, meta: PartMeta, *, clustered: bool
) -> None:
    """Write rows as one part; ``clustered`` ones get row groups that end where a tensor ends."""
    rows = [
        [range_.mode.value, range_.first, range_.count, range_.stride, range_.mode_first,
         range_.mode_stride]
        for range_ in meta.ranges
    ]  # fmt: skip
    fields = {"follows": meta.follows, "names": _digest(tensors_in(table)), "steps": rows}
    text = json.dumps(fields, separators=(",", ":"))
    table = table.replace_schema_metadata({_META: text.encode()})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd" if clustered else "lz4",  # what is fresh is soon written again
        use_dictionary=TEXT_COLUMNS,
        write_page_checksum=True,
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
        return self._read(range(self._metadata.num_row_groups), columns)

    def read_tensors(
        self, tensors: frozenset[str], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of some tensors, reading no row group that holds none of them."""
        groups = [
            group
            for group, (low, high) in enumerate(self._bounds)
            if any(low <= name <= high for name in tensors)
        ]
        table = self._read(groups, columns and [*dict.fromkeys((*columns, "tensor"))])
        if all(low == high for low, high in (self._bounds[group] for group in groups)):
            return table  # nothing else is in there
        return table.filter(pc.is_in(table.column("tensor"), pa.array(sorted(tensors))))

    @cached_property
    def _bounds(self) -> list[tuple[str, str]]:
        """The first and the last name of each row group."""
        column = self._metadata.schema.names.index("tensor")
        bounds = []
        for group in range(self._metadata.num_row_groups):
            statistics = self._metadata.row_group(group).column(column).statistics
            known = statistics is not None and statistics.has_min_max
            bounds.append((statistics.min, statistics.max) if known else ("", _LAST_TEXT))
        return bounds

    def _read(self, groups: Sequence[int], columns: Sequence[str] | None) -> pa.Table:
        file = self._open(self._metadata)
        with self._distrusting(0):
            table = file.read_row_groups(list(groups), columns=columns)
        for name in SCHEMA.names if columns is None else columns:
            if name not in table.column_names and name in SINCE_LATER:  # it is from before
                table = table.append_column(name, pa.nulls(len(table), SCHEMA.field(name).type))
        return table if columns is None else table.select(list(columns))

    def _open(self, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
        file = StoreFile(self._store, self.key)
        with self._distrusting(file.size()):  # the footer lies at the end
            return pq.ParquetFile(
                pa.PythonFile(file, mode="r"),
                metadata=metadata,
                read_dictionary=_ALWAYS_TEXT,
                page_checksum_verification=True,
            )

    @contextmanager
    def _distrusting(self, offset: int) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, StoreError):
            raise  # the store says so, not the bytes
        except (pa.ArrowException, OSError) as error:
            reason = str(error).split("\n")[0][:200]
            raise CorruptRun(self.key, offset, reason) from None

    def _parse_meta(self) -> PartMeta:
        try:
            fields = json.loads(self._metadata.metadata[_META])
            ranges = tuple(StepRange(Mode(mode), *rest) for mode, *rest in fields["steps"])
            return PartMeta(int(fields["follows"]), ranges, str(fields["names"]))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(self.key, 0, f"no steps in its metadata ({error!r})") from None
