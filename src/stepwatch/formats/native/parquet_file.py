"""Parquet files in a store, by few requests: one for the footer, one for pages that lie together.

A request to an object store takes as long as many bytes, so what lies between is read as well.

In front of a footer lies a seal: checksums of all column chunks that it names, headers of pages
included, and of the footer itself. Readers of Parquet do not look there. A file without one, of an
older release, is read as it is; its pages carry checksums of their own.
"""

from __future__ import annotations

import mmap
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ...errors import CorruptRun
from ...numerics.digest import crc32c_of_array
from ...runtime.parallel import map_parallel
from ...store import Store

# What is read of a file of which only the name is known: most footers are smaller.
TAIL_BYTES = 64 << 10
# Between two ranges at most so much is read too.
HOLE_BYTES = 32 << 10
# Behind the footer: its length in four bytes, and a magic word of four.
_ENDING = 8
_MAGIC = b"PAR1"
# What ends a seal; in front of it four bytes for each column chunk, and four for the footer.
_SEAL = b"CRC1"
_CHECKSUM_BYTES = 4
# A seal that lies so close to a footer, and not right in front of it, was moved by damage. Arrow
# may crash on what it then takes for a footer.
_NEAR = 64
_LAST_TEXT = chr(0x10FFFF)


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a file and its footer are, in bytes."""

    file: int
    footer: int


#: Checksums of column chunks, shape ``[row groups, columns]``, uint32.
Checksums = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself, and how large it is.

    Args:
        metadata: The footer.
        extent: Sizes.
        checksums: Of its column chunks; ``None`` where there are none.
    """

    metadata: pq.FileMetaData
    extent: Extent
    checksums: Checksums | None = None


class Group(NamedTuple):
    """A row group with a footer of its own: its first name, and where that footer ends.

    What a file holds until there is a Parquet file itself, of this row group alone.
    """

    first: str
    stop: int


_PRIVATE: dict[str, int] = {}
if sys.platform != "win32":
    _PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}


def encode(
    groups: Iterable[pa.Table],
    *,
    most_bytes: int,
    compression: str,
    dictionaries: Sequence[str],
    statistics: Sequence[str],
) -> tuple[pa.Buffer, Extent, list[int]]:
    """Return a Parquet file, how large it is, and where the own footer of each row group ends.

    Args:
        groups: At least one, each asked for once those before are encoded; all but the first lose
            the metadata of their schema.
        most_bytes: More than the file takes; what it does not take costs no memory.
        compression: As Arrow calls it.
        dictionaries: Columns to store as dictionaries.
        statistics: Columns of which each row group tells extremes.
    """
    footers: list[pq.FileMetaData] = []
    checksums: list[Checksums] = []
    stops = [0]
    pool = pa.system_memory_pool()
    # A mapping, which is given back as it is freed: allocators would keep this much of memory.
    room = pa.py_buffer(mmap.mmap(-1, most_bytes, **_PRIVATE))
    memory = np.frombuffer(room, np.uint8)
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
        checksums.append(_checksums_of(memory, footers[-1]))
        at = sink.tell() - _footer_bytes(memory[: sink.tell()]) - _ENDING
        ending = bytes(memory[at : sink.tell()])
        stops.append(_put(memory, at, _seal(checksums[-1:], ending) + ending))
    stop = stops[-1]
    if len(stops) > 2:
        for footer in footers[1:]:
            footers[0].append_row_groups(footer)
        whole = pa.BufferOutputStream(pool)
        footers[0].write_metadata_file(whole)
        ending = whole.getvalue()[len(_MAGIC) :].to_pybytes()
        stop = _put(memory, stop, _seal(checksums, ending) + ending)
    return room[:stop], _extent_of(memory[:stop]), stops[1:]


def most_bytes(values: int, groups: int) -> int:
    """Return more than a file of such values takes: compressors may add a little."""
    return 2 * values + (64 << 10) * (groups + 1)


def _put(memory: npt.NDArray[np.uint8], at: int, data: bytes) -> int:
    """Set bytes from ``at`` on and return where they end."""
    stop = at + len(data)
    memory[at:stop] = np.frombuffer(data, np.uint8)
    return stop


def with_seal(data: pa.Buffer) -> list[bytes | memoryview]:
    """Return a Parquet file that was written without a seal, in pieces, with one."""
    memory = np.frombuffer(data, np.uint8)
    at = len(memory) - _footer_bytes(memory) - _ENDING
    ending = bytes(memory[at:])
    checksums = _checksums_of(memory, pq.read_metadata(pa.BufferReader(data)))
    return [memoryview(data)[:at], _seal([checksums], ending), ending]


def _seal(checksums: Sequence[Checksums], ending: bytes) -> bytes:
    """Return what stands in front of a footer, whose length and magic word follow it."""
    footer = crc32c_of_array(np.frombuffer(ending[:-_ENDING], np.uint8))
    numbers = [*(one.astype("<u4").tobytes() for one in checksums), footer.to_bytes(4, "little")]
    return b"".join(numbers) + _SEAL


def _checksums_of(memory: npt.NDArray[np.uint8], metadata: pq.FileMetaData) -> Checksums:
    groups = range(metadata.num_row_groups)
    found = [crc32c_of_array(memory[slice(*one.range)]) for one in _chunks(metadata, groups)]
    return np.array(found, np.uint32).reshape(len(groups), -1)


def _extent_of(file: npt.NDArray[np.uint8]) -> Extent:
    return Extent(len(file), _footer_bytes(file))


def _footer_bytes(file: npt.NDArray[np.uint8]) -> int:
    return int.from_bytes(bytes(file[-_ENDING:-4]), "little")


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
    length = min(size, _ending_bytes(extent.footer) if extent else TAIL_BYTES)
    tail = store.get(key, size - length, length)
    found = Extent(size, int.from_bytes(tail[-_ENDING:-4], "little"))
    if extent and (len(tail) < length or found != extent or tail[-4:] != _MAGIC):
        return read_footer(store, key)
    missing = min(_ending_bytes(found.footer), size) - len(tail)
    if missing > 0:
        tail = store.get(key, size - len(tail) - missing, missing) + tail
    return footer_of(key, tail, size)


def _ending_bytes(footer: int) -> int:
    """Return how much holds a footer and its seal; a chunk takes over 32 bytes of a footer."""
    return _ENDING + footer + len(_SEAL) + _CHECKSUM_BYTES + footer // 8


def footer_of(key: str, tail: bytes | memoryview, size: int) -> Footer:
    """Return the footer of a file of ``size`` bytes.

    Args:
        key: Its key, for errors.
        tail: At least its last ``_ending_bytes``; of a row group with a footer of its own, what
            lies up to that.
        size: Where the file, or the footer of the row group, ends.

    Raises:
        CorruptRun: It is not the footer that was written, or none.
    """
    extent = Extent(size, int.from_bytes(tail[-_ENDING:-4], "little"))
    tail = bytes(tail[-_ending_bytes(extent.footer) :])
    before, ending = tail[: -extent.footer - _ENDING], tail[-extent.footer - _ENDING :]
    numbers = _sealed_numbers(before)
    if numbers is None and _SEAL in before[-_NEAR:] + ending[:_NEAR]:
        raise CorruptRun(key, size - len(ending), "bytes came or went at the footer")
    if numbers is None:
        with distrusting(key, size):
            return Footer(pq.read_metadata(pa.BufferReader(ending)), extent)
    if crc32c_of_array(np.frombuffer(ending[:-_ENDING], np.uint8)) != numbers[-1]:
        raise _damaged(key, size - len(ending), "the footer")
    with distrusting(key, size):
        metadata = pq.read_metadata(pa.BufferReader(ending))
    num_groups, num_columns = metadata.num_row_groups, metadata.num_columns
    checksums = numbers[-1 - num_groups * num_columns : -1]
    return Footer(metadata, extent, checksums.reshape(num_groups, num_columns))


def _sealed_numbers(before: bytes) -> Checksums | None:
    """Return the numbers of the seal in front of a footer; ``None`` where there is none."""
    numbers = before[len(before) % _CHECKSUM_BYTES : -len(_SEAL)]
    if not before.endswith(_SEAL) or not numbers:
        return None
    return np.frombuffer(numbers, "<u4").astype(np.uint32)


def _damaged(key: str, offset: int, what: str) -> CorruptRun:
    return CorruptRun(key, offset, f"{what} is not what was written: its checksum differs")


# A file may say that little in it is much: so many rows of the same values. What is read is at most
# so large, and so many times as large as the file, which no run of ours comes near.
_MOST_FREE_BYTES = 64 << 20
_MOST_TIMES_LARGER = 4096
_VALUE_BYTES = 8


def verify_chunks(key: str, file: pa.Buffer, footer: Footer, wanted: Sequence[Chunk]) -> None:
    """Raise CorruptRun if a column chunk is not what was written, or claims to be too large.

    Without checksums only its size is tested.
    """
    size_bytes, most = (
        sum(one.size_bytes for one in wanted),
        _MOST_TIMES_LARGER * footer.extent.file,
    )
    if size_bytes > _MOST_FREE_BYTES + most:
        reason = f"{size_bytes:,} bytes of values, in a file of {footer.extent.file:,}"
        raise CorruptRun(key, 0, reason)
    if footer.checksums is None:
        return
    memory = np.frombuffer(file, np.uint8)
    for one in wanted:
        start, stop = one.range
        if crc32c_of_array(memory[start:stop]) != footer.checksums[one.group, one.column]:
            path = footer.metadata.schema.column(one.column).path
            raise _damaged(key, start, f"the column {path}")


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


def groups_between(metadata: pq.FileMetaData, column: str, first: str, last: str) -> list[int]:
    """Return the row groups that may hold names from the first to the last, both included."""
    bounds = _bounds(metadata, column)
    groups = range(metadata.num_row_groups)
    return [one for one in groups if bounds(one)[0] <= last and first <= bounds(one)[1]]


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


class Chunk(NamedTuple):
    """A column of a row group: which, where its pages lie, from and to, and how large it is read.

    The size is at least that of its values, in bytes.
    """

    group: int
    column: int
    range: tuple[int, int]
    size_bytes: int


def chunks(
    metadata: pq.FileMetaData, groups: Iterable[int], columns: Sequence[str] | None
) -> list[Chunk]:
    """Return some columns of some row groups, in the order of the file."""
    wanted = {
        index
        for index, path in enumerate(_paths(metadata))
        if columns is None or path.partition(".")[0] in columns
    }
    found = (one for one in _chunks(metadata, groups) if one.column in wanted)
    return sorted(found, key=lambda one: one.range)


def _chunks(metadata: pq.FileMetaData, groups: Iterable[int]) -> Iterator[Chunk]:
    for group in groups:
        row_group = metadata.row_group(group)
        for index in range(metadata.num_columns):
            chunk = row_group.column(index)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page:
                start = min(start, chunk.dictionary_page_offset)
            size_bytes = max(chunk.total_uncompressed_size, chunk.num_values * _VALUE_BYTES)
            yield Chunk(group, index, (start, start + chunk.total_compressed_size), size_bytes)


def pages_bytes(metadata: pq.FileMetaData, columns: Collection[str]) -> int:
    """Return how large the pages of some columns are before they are compressed."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    found = [index for index, path in enumerate(_paths(metadata)) if path in columns]
    return sum(group.column(index).total_uncompressed_size for group in groups for index in found)


def _paths(metadata: pq.FileMetaData) -> list[str]:
    """Return the path of each column, in the order in which row groups hold them."""
    return [metadata.schema.column(index).path for index in range(metadata.num_columns)]


def read_ranges(store: Store, key: str, size: int, ranges: Sequence[tuple[int, int]]) -> pa.Buffer:
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
    return file


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
