"""Parquet files in a store, by few requests: one for the footer, one for pages that lie together.

A request to an object store takes as long as many bytes, so what lies between is read as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...runtime.parallel import map_parallel
from ...store import Store

# What is read of a file of which only the name is known: most footers are smaller.
TAIL_BYTES = 64 << 10
# Between two ranges at most so much is read too.
HOLE_BYTES = 32 << 10
# Behind the footer: its length in four bytes, and a magic word of four.
_ENDING = 8
_MAGIC = b"PAR1"
_LAST_TEXT = chr(0x10FFFF)


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a file and its footer are, in bytes."""

    file: int
    footer: int


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself, and how large it is."""

    metadata: pq.FileMetaData
    extent: Extent


class Group(NamedTuple):
    """A row group with a footer of its own: its first name, and where that footer ends.

    What a file holds until there is a Parquet file itself, of this row group alone.
    """

    first: str
    stop: int


def encode(
    groups: Sequence[pa.Table],
    *,
    compression: str,
    dictionaries: Sequence[str],
    statistics: Sequence[str],
) -> tuple[pa.Buffer, Extent, list[int]]:
    """Return a Parquet file, how large it is, and where the own footer of each row group ends.

    Args:
        groups: At least one; all but the first lose the metadata of their schema.
        compression: As Arrow calls it.
        dictionaries: Columns to store as dictionaries.
        statistics: Columns of which each row group tells extremes.
    """
    footers: list[pq.FileMetaData] = []
    stops = [0]
    pool = pa.system_memory_pool()
    room = pa.allocate_buffer(_most_bytes(groups), memory_pool=pool)
    for group in groups:
        sink = pa.FixedSizeBufferWriter(room)
        table = group if not footers else group.replace_schema_metadata(None)
        with pq.ParquetWriter(
            sink,
            table.schema,
            compression=compression,
            use_dictionary=list(dictionaries),
            write_statistics=list(statistics),
            write_page_checksum=True,
            store_schema=not footers,
            metadata_collector=footers,
            memory_pool=pool,
        ) as writer:
            # A footer says where pages lie by their offset in the stream, so what lies before
            # them goes through it again, onto itself.
            sink.write(room[sink.tell() : stops[-1]])
            writer.write_table(table)
        stops.append(sink.tell())
    if len(groups) == 1:
        return room[: stops[1]], _extent_of(room[: stops[1]]), stops[1:]
    for footer in footers[1:]:
        footers[0].append_row_groups(footer)
    ending = pa.BufferOutputStream(pool)
    footers[0].write_metadata_file(ending)
    sink.write(ending.getvalue()[len(_MAGIC) :])
    data = room[: sink.tell()]
    return data, _extent_of(data), stops[1:]


def _extent_of(data: pa.Buffer) -> Extent:
    return Extent(len(data), int.from_bytes(data[-_ENDING:-4].to_pybytes(), "little"))


def _most_bytes(groups: Sequence[pa.Table]) -> int:
    """Return more than a file of these row groups takes: compressors may add a little."""
    rows = sum(int(group.nbytes) for group in groups)
    return 2 * rows + (64 << 10) * (len(groups) + 1)


def read_footer(store: Store, key: str, extent: Extent | None = None) -> Footer:
    """Return the footer of a Parquet file.

    Args:
        store: Where it lies.
        key: Its key.
        extent: What is known of it, so that one request is enough. It is not believed where the
            file tells otherwise.

    Raises:
        FileNotFoundError: It is gone.
        CorruptRun: It is no Parquet file, or not all of one.
    """
    size = extent.file if extent else store.size(key)
    length = min(size, extent.footer + _ENDING if extent else TAIL_BYTES)
    tail = store.get(key, size - length, length)
    found = Extent(size, int.from_bytes(tail[-_ENDING:-4], "little"))
    if extent and (len(tail) < length or found != extent or tail[-4:] != _MAGIC):
        return read_footer(store, key)
    missing = min(found.footer + _ENDING, size) - len(tail)
    if missing > 0:
        tail = store.get(key, size - len(tail) - missing, missing) + tail
    with distrusting(key, size):
        return Footer(pq.read_metadata(pa.BufferReader(tail[-found.footer - _ENDING :])), found)


@contextmanager
def distrusting(key: str, offset: int) -> Iterator[None]:
    """Raise CorruptRun where bytes of a file are not what they should be."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0][:200]
        raise CorruptRun(key, offset, reason) from None


def groups_of(metadata: pq.FileMetaData, column: str, names: Collection[str]) -> list[int]:
    """Return the row groups that may hold some names.

    Args:
        metadata: Of a file whose row groups, if there are several, are in the order of names.
        column: The column of names.
        names: What to look for.
    """
    groups = range(metadata.num_row_groups)
    bounds = _bounds(metadata, column)
    found = set()
    for name in names:
        for group in groups[bisect_left(groups, name, key=lambda group: bounds(group)[1]) :]:
            if bounds(group)[0] > name:
                break
            found.add(group)
    return sorted(found)


def holds_only(metadata: pq.FileMetaData, column: str, names: Collection[str]) -> bool:
    """Return whether a file of one row group says that all its rows have one of some names."""
    first, last = _bounds(metadata, column)(0)
    return first == last and first in names


def _bounds(metadata: pq.FileMetaData, column: str) -> Callable[[int], tuple[str, str]]:
    """Return what gives the first and the last name that a row group may hold."""
    index = _paths(metadata).index(column)

    def bounds(group: int) -> tuple[str, str]:
        statistics = metadata.row_group(group).column(index).statistics
        known = statistics is not None and statistics.has_min_max
        return (statistics.min, statistics.max) if known else ("", _LAST_TEXT)

    return bounds


def chunk_ranges(
    metadata: pq.FileMetaData, groups: Iterable[int], columns: Sequence[str] | None
) -> list[tuple[int, int]]:
    """Return where the pages of some columns lie, from and to, in the order of the file."""
    wanted = [
        index
        for index, path in enumerate(_paths(metadata))
        if columns is None or path.partition(".")[0] in columns
    ]
    ranges = []
    for group in groups:
        row_group = metadata.row_group(group)
        for index in wanted:
            chunk = row_group.column(index)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page:
                start = min(start, chunk.dictionary_page_offset)
            ranges.append((start, start + chunk.total_compressed_size))
    return sorted(ranges)


def _paths(metadata: pq.FileMetaData) -> list[str]:
    """Return the path of each column, in the order in which row groups hold them."""
    return [metadata.schema.column(index).path for index in range(metadata.num_columns)]


def read_ranges(
    store: Store, key: str, size: int, ranges: Sequence[tuple[int, int]]
) -> pa.BufferReader:
    """Return a file of ``size`` bytes that holds some ranges of a value, and anything elsewhere.

    Raises:
        FileNotFoundError: It is gone.
    """
    file = pa.allocate_buffer(size, memory_pool=pa.system_memory_pool())
    memory = memoryview(file).cast("B")

    def read(span: tuple[int, int]) -> None:
        start, stop = span
        data = store.get(key, start, stop - start)
        memory[start : start + len(data)] = data

    map_parallel(read, _joined(ranges), threads=16)
    return pa.BufferReader(file)


def arrow_copy(data: bytes) -> pa.Buffer:
    """Return bytes in memory that Arrow owns.

    Arrow's threads may hold what they read from for longer than Python runs. If that is memory of
    Python's, giving it back aborts the process at its end.
    """
    buffer = pa.allocate_buffer(len(data), memory_pool=pa.system_memory_pool())
    memoryview(buffer).cast("B")[:] = data
    return buffer


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ascending ranges with those joined that lie close together."""
    holes = [
        (stop, start) for (_, stop), (start, _) in pairwise(ranges) if start - stop > HOLE_BYTES
    ]
    starts = [start for start, _ in ranges[:1]] + [start for _, start in holes]
    stops = [stop for stop, _ in holes] + [stop for _, stop in ranges[-1:]]
    return list(zip(starts, stops, strict=True))
