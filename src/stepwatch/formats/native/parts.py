"""Parts of observations: Parquet files that know their steps, written whole and read by need.

A part says in its metadata which steps it holds and which step its worker recorded before it, so
the parts of a worker form a chain, and a part that is missing is noticed. A merged part appears
before those that it replaces go: of parts that hold the same steps the widest counts, and a
reader that finds a part gone lists again.

The part index (``contents/``) repeats what large parts say of themselves, so that a run opens by
few requests. It is only a hint: which parts there are, a listing says; what the index says of a
part that is not listed means nothing, and a part that it lacks is read itself. A part is entered
once it is stored and will not be merged again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...model.json_text import parse_json
from ...model.steps import Mode
from ...numerics.columns import array, numbers, rows_at, rows_where, texts
from ...numerics.digest import crc32c
from ...runtime.parallel import map_parallel
from ...store import Store
from ..interface import StepRange, worker_order
from ..manifest import worker_from_key, worker_in_key
from .observations import SCHEMA, SINCE_LATER, TEXT_COLUMNS, text_codes, texts_where
from .parquet_file import (
    Chunk,
    Extent,
    Footer,
    Group,
    chunks,
    distrusting,
    encode,
    footer_of,
    groups_between,
    groups_of,
    holds_only,
    most_bytes,
    pages_bytes,
    read_footer,
    read_ranges,
    verify_chunks,
)

OBSERVATIONS = "observations/"
TENSORS = "tensors/"
CONTENTS = "contents/"
# Room that a worker holds for its last note, and gives back just before it.
RESERVE = "reserve/"

_SPAN = re.compile(r"([^/]+)/(\d+)-(\d+)(?:-(\d+))?\.[a-z]+$")


class Span(NamedTuple):
    """What the key of a part says: whose steps it holds, from the first to the last.

    ``again`` is how often the run had been resumed when the part was written, so that no key is
    ever used for other values.
    """

    worker: str
    first: int
    last: int
    again: int = 0


def observations_key(span: Span) -> str:
    """Return the key of a part of observations.

    Example:
        >>> observations_key(Span("worker_0", 0, 99))
        'observations/worker_0/000000000000-000000000099.parquet'
        >>> observations_key(Span("worker_0", 50, 99, again=1))
        'observations/worker_0/000000000050-000000000099-1.parquet'
    """
    return f"{OBSERVATIONS}{part_name(span)}.parquet"


def tensors_key(span: Span) -> str:
    """Return the key of a part of raw values."""
    return f"{TENSORS}{part_name(span)}.safetensors"


def blob_name(span: Span) -> str:
    """Return what rows call the file of a part of raw values.

    Example:
        >>> blob_name(Span("worker_0", 0, 99))
        '000000000000-000000000099.safetensors'
    """
    return tensors_key(span).rpartition("/")[2]


def contents_key(span: Span) -> str:
    """Return the key of the page of contents that begins with this part.

    Example:
        >>> contents_key(Span("worker_0", 0, 99))
        'contents/worker_0/000000000000.json'
    """
    return f"{CONTENTS}{worker_in_key(span.worker)}/{span.first:012d}.json"


def parse_span(key: str) -> Span | None:
    """Return what the key of a part says, or ``None`` for another key."""
    match = _SPAN.search(key)
    if match is None:
        return None
    numbers = (int(number or 0) for number in match.groups()[1:])
    return Span(worker_from_key(match[1]), *numbers)


def part_name(span: Span) -> str:
    """Return whose part it is and which one, as its key says it."""
    # Twelve digits, so that the order of keys is the order of steps.
    again = f"-{span.again}" if span.again else ""
    return f"{worker_in_key(span.worker)}/{span.first:012d}-{span.last:012d}{again}"


@dataclass(frozen=True, slots=True)
class PartMeta:
    """What a part says of itself.

    Args:
        follows: The last step that the worker recorded before this part; -1 for none.
        ranges: The steps it holds.
        names: A digest of the tensors it holds and their collections: of parts with the same one
            only one needs to be read.
    """

    follows: int
    ranges: tuple[StepRange, ...]
    names: str = ""

    def to_fields(self) -> dict[str, object]:
        """Return it as it stands in JSON."""
        rows = [
            [range_.mode.value, range_.first, range_.count, range_.stride, range_.mode_first,
             range_.mode_stride]
            for range_ in self.ranges
        ]  # fmt: skip
        return {"follows": self.follows, "names": self.names, "steps": rows}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> PartMeta:
        """Return what ``to_fields`` was called on.

        Raises:
            KeyError, TypeError, ValueError: These are no such fields.
        """
        ranges = tuple(StepRange(Mode(mode), *rest) for mode, *rest in fields["steps"])
        return cls(int(fields["follows"]), ranges, str(fields["names"]))


_META = b"stepwatch"
# Row groups of merged parts hold whole tensors and at least this many rows.
GROUP_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class KnownPart:
    """What is known of a part without reading it.

    Args:
        span: The steps that it holds.
        meta: Its own metadata.
        num_rows: How many rows it has.
        extent: Its size, and that of its footer.
        groups: Its row groups, in the order of names, if each has a footer of its own; else none.
    """

    span: Span
    meta: PartMeta
    num_rows: int
    extent: Extent
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The rows of a part, in the groups in which they are written.

    Args:
        tables: The rows of each group, asked for once those before are encoded.
        firsts: The first tensor of each; one that is empty where rows are in the order of steps.
        num_rows: How many rows they have together.
        collections: The collection of every tensor, in the order of names.
        values_bytes: At least so many bytes their values take, with the texts of each group.
    """

    tables: Iterable[pa.Table]
    firsts: Sequence[str]
    num_rows: int
    collections: Mapping[str, str]
    values_bytes: int


def fresh_rows(table: pa.Table) -> RowGroups:
    """Return rows that are in the order of steps, as one group."""
    return RowGroups([table], [""], len(table), tensors_in(table), table.nbytes)


def clustered_rows(table: pa.Table) -> RowGroups:
    """Return rows, whose columns are one chunk each, in groups that end where a tensor ends."""
    groups = group_tensors(count_rows(table))
    tables = list(split_rows(by_tensor(table), groups))
    return RowGroups(
        tables,
        [group.tensors[0] for group in groups],
        len(table),
        tensors_in(table),
        sum(one.nbytes for one in tables),
    )


def write_part(store: Store, span: Span, rows: RowGroups, meta: PartMeta) -> KnownPart:
    """Write rows as one part; held are no more of them than a group, and what is encoded."""
    meta = replace(meta, names=_digest(rows.collections))
    text = json.dumps(meta.to_fields(), separators=(",", ":"))
    is_fresh = rows.firsts == [""]
    data, extent, stops = encode(
        (
            _without_unused(table).replace_schema_metadata({_META: text.encode()})
            for table in rows.tables
        ),
        most_bytes=most_bytes(rows.values_bytes, len(rows.firsts)),
        compression="lz4" if is_fresh else "zstd",  # what is fresh is soon written again
        dictionaries=TEXT_COLUMNS,
        statistics=["step", "tensor"],
    )
    store.put(observations_key(span), data)
    groups = tuple(map(Group, rows.firsts, stops))
    return KnownPart(span, meta, rows.num_rows, extent, groups)


class TensorGroup(NamedTuple):
    """Tensors of one row group, in the order of names, and how many rows they have together."""

    tensors: tuple[str, ...]
    num_rows: int


def count_rows(table: pa.Table) -> dict[str, int]:
    """Return how many rows each tensor has, in the order of names."""
    found = text_codes(table.column("tensor"))
    counts = np.bincount(found.codes, minlength=len(found.values)).tolist()
    return {name: count for name, count in sorted(zip(found.values, counts, strict=True)) if count}


def group_tensors(counts: Mapping[str, int]) -> list[TensorGroup]:
    """Return the row groups of a part that is clustered, by how many rows each tensor has."""
    groups, names, num_rows = list[TensorGroup](), list[str](), 0
    for name, count in counts.items():
        names.append(name)
        num_rows += count
        if num_rows >= GROUP_ROWS:
            groups.append(TensorGroup(tuple(names), num_rows))
            names, num_rows = [], 0
    return [*groups, TensorGroup(tuple(names), num_rows)] if names else groups


def by_tensor(table: pa.Table) -> pa.Table:
    """Return rows, whose columns are one chunk each, in the order of tensors, then of steps."""
    names = table.column("tensor").combine_chunks()
    by_name = np.argsort(np.argsort(np.array(names.dictionary.to_pylist(), object)))
    order = np.lexsort((numbers(table.column("step")), by_name[numbers(names.indices)]))
    return rows_at(table, order)


def split_rows(table: pa.Table, groups: Iterable[TensorGroup]) -> Iterator[pa.Table]:
    """Yield the rows of each group, of rows that are in the order of tensors."""
    start = 0
    for group in groups:
        yield table.slice(start, group.num_rows)
        start += group.num_rows


def _without_unused(table: pa.Table) -> pa.Table:
    """Return rows with only those names of tensors that they have: each group stores its own."""
    codes = text_codes(table.column("tensor"))
    used, indices = np.unique(codes.codes, return_inverse=True)
    names = texts([codes.values[code] for code in used])
    column = pa.DictionaryArray.from_arrays(array(indices, pa.int32()), names)
    return table.set_column(table.column_names.index("tensor"), "tensor", column)


def tensors_in(table: pa.Table) -> dict[str, str]:
    """Return the collection of every tensor that has a row, in the order of names."""
    # By hand: to group, Arrow would import its query engine into the training process.
    tensors, collections = (text_codes(table.column(name)) for name in ("tensor", "collection"))
    collection_of = np.full(len(tensors.values), -1)
    collection_of[tensors.codes] = collections.codes
    pairs = zip(tensors.values, collection_of.tolist(), strict=True)
    return {name: collections.values[code] for name, code in sorted(pairs) if code >= 0}


def _digest(tensors: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(tensors).encode()).hexdigest()[:32]


class Part:
    """One part of observations in a store.

    Args:
        store: Where it lies.
        span: The steps that it holds.
        known: What is known of it; by default its footer is read now, else when rows are.
        footers: ``Part.read_footer``, or a cache of it. By default each part caches its own.

    Raises:
        FileNotFoundError: It is gone, merged into another.
        CorruptRun: It is not what a writer wrote.
    """

    def __init__(
        self,
        store: Store,
        span: Span,
        known: KnownPart | None = None,
        footers: Callable[[Part], Footer] | None = None,
    ) -> None:
        self.span = span
        self.key = observations_key(span)
        self._store = store
        self._footers = footers or lru_cache(maxsize=1)(Part.read_footer)
        self._extent = known.extent if known else None
        self.known = known or self._read_meta()
        self._extent = self.known.extent

    @property
    def meta(self) -> PartMeta:
        return self.known.meta

    @property
    def num_rows(self) -> int:
        return self.known.num_rows

    @property
    def is_checked(self) -> bool:
        """Whether it has checksums of all that it holds; those of older releases have not."""
        return self._footers(self).checksums is not None

    def read_footer(self) -> Footer:
        """Read its footer."""
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
            start, stop = stops[index], stops[index + 1]
            source = read_ranges(self._store, self.key, stop, [(start, stop)])
            footer = footer_of(self.key, memoryview(source)[start:stop], stop)
            wanted = chunks(footer.metadata, [0], _named(columns))
            file = self._open(source, footer, wanted)
            if holds_only(file.metadata, "tensor", tensors):
                tables.append(self.decode(file, [0], columns))
            else:
                tables.append(_only(tensors, self.decode(file, [0], _named(columns)), columns))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()

    def load(self) -> LoadedPart:
        """Read all of it, as it is stored."""
        footer = self._footers(self)
        groups = range(footer.metadata.num_row_groups)
        values_bytes = sum(one.size_bytes for one in chunks(footer.metadata, groups, None))
        texts_bytes = pages_bytes(footer.metadata, TEXT_COLUMNS)
        return LoadedPart(self, self._load(footer, groups, None), values_bytes, texts_bytes)

    def _read(
        self,
        footer: Footer,
        groups: Sequence[int],
        columns: Sequence[str] | None,
        *,
        use_threads: bool,
    ) -> pa.Table:
        file = self._load(footer, groups, columns)
        return self.decode(file, groups, columns, use_threads=use_threads)

    def _load(
        self, footer: Footer, groups: Sequence[int], columns: Sequence[str] | None
    ) -> pq.ParquetFile:
        """Return a file that holds some columns of some groups."""
        wanted = chunks(footer.metadata, groups, columns)
        ranges = [one.range for one in wanted]
        source = read_ranges(self._store, self.key, footer.extent.file, ranges)
        return self._open(source, footer, wanted)

    def _open(self, source: pa.Buffer, footer: Footer, wanted: Sequence[Chunk]) -> pq.ParquetFile:
        """Verify column chunks and return the file that holds them."""
        verify_chunks(self.key, source, footer, wanted)
        with distrusting(self.key, 0):
            there = set(footer.metadata.schema.names)
            return pq.ParquetFile(
                pa.BufferReader(source),
                metadata=footer.metadata,
                # Arrow refuses the name of a column that a file does not have.
                read_dictionary=[name for name in TEXT_COLUMNS if name in there],
                pre_buffer=False,
                page_checksum_verification=True,
            )

    def decode(
        self,
        file: pq.ParquetFile,
        groups: Sequence[int],
        columns: Sequence[str] | None,
        *,
        use_threads: bool = False,
    ) -> pa.Table:
        """Return some columns of some groups of a file that holds them."""
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

    def _read_meta(self) -> KnownPart:
        footer = self._footers(self)
        try:
            meta = PartMeta.from_fields(parse_json(footer.metadata.metadata[_META]))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptRun(self.key, 0, f"no steps in its metadata ({error!r})") from None
        return KnownPart(self.span, meta, footer.metadata.num_rows, footer.extent)


@dataclass(frozen=True)
class LoadedPart:
    """A part in memory as it is stored; its rows are decoded as they are asked for.

    Args:
        part: The part.
        file: All of it.
        values_bytes: At least so many bytes its values take.
        texts_bytes: And its texts, each once for a group that has it.
    """

    part: Part
    file: pq.ParquetFile
    values_bytes: int
    texts_bytes: int

    @property
    def is_fresh(self) -> bool:
        """Whether its rows are in the order of steps: to decode some of them, all are."""
        return bool(self.file.num_row_groups == 1)

    def column_values(self, columns: Sequence[str]) -> pa.Table:
        """Return some columns of all rows."""
        return self.part.decode(self.file, range(self.file.num_row_groups), columns)

    def rows(self, tensors: frozenset[str]) -> pa.Table:
        """Return the rows of some tensors."""
        first, last = min(tensors), max(tensors)
        groups = groups_between(self.file.metadata, "tensor", first, last)
        return _only(tensors, self.part.decode(self.file, groups, None), None)


def _named(columns: Sequence[str] | None) -> Sequence[str] | None:
    return columns and [*dict.fromkeys((*columns, "tensor"))]


def _only(tensors: frozenset[str], table: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """Return some columns of the rows of some tensors."""
    if not set(text_codes(table.column("tensor")).values) <= tensors:
        table = rows_where(table, texts_where(table.column("tensor"), tensors.__contains__))
    return table if columns is None else table.select(list(columns))


def widest_spans(spans: Iterable[Span | None]) -> list[Span]:
    """Return the spans that lie within no other, by worker and step."""
    there = [span for span in spans if span is not None]
    found: list[Span] = []
    for span in sorted(there, key=lambda span: (worker_order(span.worker), span.first, -span.last)):
        if not (found and covers(found[-1], span)):
            found.append(span)
    return found


def covers(wide: Span, span: Span) -> bool:
    """Return whether a span lies within another of the same worker."""
    same = wide.worker == span.worker
    return same and wide.first <= span.first and span.last <= wide.last


def find_gaps(parts: Iterable[Part]) -> list[Span]:
    """Return the steps that are missing: a part follows a step that no part before it holds."""
    holes: list[Span] = []
    last: dict[str, int] = {}
    for part in parts:
        before = last.get(part.span.worker, -1)
        if part.meta.follows != before:
            holes.append(Span(part.span.worker, before + 1, part.meta.follows))
        last[part.span.worker] = part.span.last
    return holes


# A page is written again for each part that is entered, so that it must stay small.
PAGE_PARTS = 64
_log = logging.getLogger("stepwatch")


class PartIndex:
    """Enters the large parts of one worker into the index while they are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._page: list[KnownPart] = []

    def enter(self, parts: Iterable[KnownPart]) -> None:
        """Enter parts that follow those before and will not be merged again."""
        for known in parts:
            self._page.append(known)
            if len(self._page) == PAGE_PARTS:
                page, self._page = self._page, []
                _put_index_page(self._store, page)
        _put_index_page(self._store, self._page)


def rewrite_part_index(store: Store, worker: str, parts: Sequence[KnownPart]) -> None:
    """Make the index of a worker hold exactly these parts, in the order of steps."""
    before = store.list(f"{CONTENTS}{worker_in_key(worker)}/")
    PartIndex(store).enter(parts)
    pages = {contents_key(part.span) for part in parts[::PAGE_PARTS]}
    for key in set(before) - pages:
        store.delete(key)


def read_part_index(store: Store) -> dict[Span, KnownPart]:
    """Return what the part index says; a page that is damaged is passed over."""

    def read(key: str) -> list[KnownPart]:
        try:
            return list(_index_page_from_json(store.get(key), key.split("/")[1]))
        except FileNotFoundError:
            return []  # rewritten meanwhile
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            _log.warning("%s: %s is passed over: %r", store.url, key, error)
            return []

    pages = map_parallel(read, store.list(CONTENTS))
    return {known.span: known for page in pages for known in page}


def _put_index_page(store: Store, page: Sequence[KnownPart]) -> None:
    rows = [
        {
            "part": observations_key(known.span).rpartition("/")[2],
            "rows": known.num_rows,
            "bytes": known.extent.file,
            "footer": known.extent.footer,
            "tensors": [group.first for group in known.groups],
            "stops": [group.stop for group in known.groups],
            **known.meta.to_fields(),
        }
        for known in page
    ]
    if rows:
        key = contents_key(page[0].span)
        checked = [{**fields, "crc32c": _index_checksum(fields)} for fields in rows]
        store.put(key, json.dumps(checked, separators=(",", ":")).encode())


def _index_checksum(fields: Mapping[str, object]) -> str:
    """Return the checksum of an entry, eight hexadecimal digits."""
    return f"{crc32c(json.dumps(fields, separators=(',', ':')).encode()):08x}"


def _index_page_from_json(data: bytes, worker: str) -> Iterator[KnownPart]:
    for fields in parse_json(data):
        checksum = fields.pop("crc32c", None)  # missing in those of older releases
        if checksum is not None and checksum != _index_checksum(fields):
            raise ValueError("its checksum differs")
        span = parse_span(f"{worker}/{fields['part']}")
        if span is None:
            raise ValueError(f"{fields['part']!r} is no part")
        yield KnownPart(
            span,
            PartMeta.from_fields(fields),
            int(fields["rows"]),
            Extent(int(fields["bytes"]), int(fields["footer"])),
            tuple(map(Group, fields["tensors"], fields["stops"])),
        )
