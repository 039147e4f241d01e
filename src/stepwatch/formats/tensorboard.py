"""Writes scalars and histograms in the event files that TensorBoard reads.

An event file is a sequence of protocol buffers, each framed with a checksum. TensorBoard follows
one file of a folder as it grows, and leaves it for good when it finds one of a later name. It goes
on after a record that is cut off once the rest has come, but never gets over one that is damaged.
So nothing is written behind a record that may be torn: a new file is begun.

Histograms have TensorFlow's buckets: limits at 1e-12, 1.1 times that and so on up to 1e20, the
same below zero, and zero. A binary search for each element would take ten times longer than the
table used here: the first 16 bits of a float64 say its sign, its exponent and its magnitude to a
sixteenth. Numbers that share them are at most a factor of 1.0625 apart, so at most one limit lies
between them; the table says which, and one comparison on which side of it an element lies.
"""

from __future__ import annotations

import math
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..model.record import Layout, StepRecord, TensorInfo
from ..model.steps import Mode
from ..numerics.statistics import (
    BLOCK,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    SUM_SQ,
    merge,
    summarize,
)
from ..store import BytesLike, Store, open_store
from .manifest import End, worker_in_key
from .smdebug.collections import SCALAR_COLLECTIONS, Reduction
from .smdebug.reductions import reductions
from .smdebug.wire import bytes_field, double_field, float_field, frame, varint_field

# The fields of the messages.
_WALL_TIME, _STEP, _FILE_VERSION, _SUMMARY = 1, 2, 3, 5
_VALUE = 1
_TAG, _SIMPLE_VALUE, _HISTOGRAM = 1, 2, 5


def version_record(seconds: float) -> bytes:
    """Return the record that an event file begins with.

    Args:
        seconds: When it was begun, since the Unix epoch.
    """
    return frame(double_field(_WALL_TIME, seconds) + bytes_field(_FILE_VERSION, b"brain.Event:2"))


def summary_record(seconds: float, step: int, values: bytes) -> bytes:
    """Return the record of what is shown of one step.

    Args:
        seconds: When the step ended, since the Unix epoch.
        step: Its number.
        values: Points and histograms, joined.
    """
    summary = bytes_field(_SUMMARY, values)
    return frame(double_field(_WALL_TIME, seconds) + varint_field(_STEP, step) + summary)


def point_prefix(tag: bytes) -> bytes:
    """Return what stands before the number in a point of the curve with this tag.

    The number follows as a little-endian float32 and ends the point.
    """
    point = bytes_field(_TAG, tag) + float_field(_SIMPLE_VALUE, 0.0)
    return bytes_field(_VALUE, point)[:-4]


def histogram_value(tag: bytes, histogram: bytes) -> bytes:
    """Return a histogram, a ``HistogramProto``, under this tag."""
    return bytes_field(_VALUE, bytes_field(_TAG, tag) + bytes_field(_HISTOGRAM, histogram))


#: Where a store cannot append, each file is stored anew as a whole until it is so large.
WHOLE_BYTES = 1 << 20


@runtime_checkable
class Appends(Protocol):
    """A store that can add to a value; one whose files other programs follow as they grow."""

    def append(self, key: str, data: BytesLike) -> None:
        """Add to the end of a value, new or not."""


class SummaryFiles:
    """One file that grows, and another after a refusal; where nothing grows, a sequence.

    Args:
        store: Where they lie.
        folder: Where in it; empty, or ends in ``/``.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        host = re.sub(r"[^-\w.]", "_", socket.gethostname())
        seconds, rest_ns = divmod(time.time_ns(), 10**9)
        # Names sort by time, as TensorBoard reads them, and no two writers share one.
        who = f"{seconds:010d}.{rest_ns:09d}.{host}.{os.getpid()}"
        self._stem = f"{folder}events.out.tfevents.{who}"
        self._number = 0
        self._is_begun = False
        self._whole = b""

    def add(self, records: bytes) -> None:
        """Store further records.

        Raises:
            StoreError: The store refuses; they are not stored, and what was before still is.
        """
        data = records if self._is_begun else version_record(time.time()) + records
        try:
            self._put(f"{self._stem}.{self._number:06d}", data)
        except BaseException:
            if self._is_begun:
                self._begin_another()
            raise
        self._is_begun = True
        if len(self._whole) >= WHOLE_BYTES:
            self._begin_another()

    def _put(self, key: str, data: bytes) -> None:
        if isinstance(self._store, Appends):
            self._store.append(key, data)
            return
        self._store.put(key, self._whole + data)
        self._whole += data

    def _begin_another(self) -> None:
        self._number += 1
        self._is_begun, self._whole = False, b""


Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float64]

_FIRST, _GROWTH, _END = 1e-12, 1.1, 1e20


@cache
def limits() -> Floats:
    """Return the limits of all buckets, shape ``[1549]``, float64, ascending; not to be changed."""
    # Each from the one before, as TensorFlow does: powers would differ in the last bits.
    limit, positive = _FIRST, []
    while limit < _END:
        positive.append(limit)
        limit *= _GROWTH
    return np.array([*(-one for one in reversed(positive)), 0.0, *positive])


@cache
def _table() -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the bucket of the least number of each cell, and where each bucket ends.

    A cell is all the numbers that share their first 16 bits. The outermost buckets have no end.
    """
    edges = limits()
    cell = np.arange(1 << 16, dtype=np.uint64)
    # Below zero, the least number has the greatest magnitude.
    least = cell << np.uint64(48) | np.where(cell >> np.uint64(15), (1 << 48) - 1, 0).astype("u8")
    bucket = np.searchsorted(edges, least.view(np.float64), side="right") - 1
    ends = np.append(edges[1:-1], np.inf)
    return np.clip(bucket, 0, len(ends) - 1), ends


def bucket_counts(array: Array) -> npt.NDArray[np.int64]:
    """Return how many elements each bucket holds.

    A bucket holds its lower limit and not its upper one. Elements beyond the outermost limits are
    counted in the outermost buckets, those that are not finite nowhere.

    Args:
        array: Any shape; integers or real floats, those of ml_dtypes included.

    Returns:
        Shape ``[1548]``, int64.
    """
    buckets, ends = _table()
    flat = array.reshape(-1)
    counts = np.zeros(len(ends), np.int64)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK].astype(np.float64)
        finite = np.isfinite(block)
        if not finite.all():
            block = block[finite]
        found = buckets[(block.view(np.uint64) >> np.uint64(48)).astype(np.intp)]
        found += block >= ends[found]
        counts += np.bincount(found, minlength=len(ends))
    return counts


def histogram(array: Array) -> bytes | None:
    """Return the histogram of a tensor as a ``HistogramProto``.

    It goes from the first bucket that holds something to the last, with an empty one before: only
    upper limits are written.

    Args:
        array: Any shape.

    Returns:
        ``None`` where there is nothing to count: no finite element, or truth values, text or
        complex numbers.
    """
    if not _is_counted(array.dtype):
        return None
    counts, edges = bucket_counts(array), limits()
    filled = np.flatnonzero(counts)
    if not filled.size:
        return None
    first, last = filled[0], filled[-1]
    row = summarize(array)
    numbers = (row[MIN], row[MAX], counts.sum(), row[SUM], row[SUM_SQ])
    parts = [double_field(1 + number, float(value)) for number, value in enumerate(numbers)]
    held = np.concatenate([[0.0], counts[first : last + 1]])
    parts.append(bytes_field(6, edges[first : last + 2].astype("<f8").tobytes()))
    parts.append(bytes_field(7, held.astype("<f8").tobytes()))
    return b"".join(parts)


def _is_counted(dtype: np.dtype[np.generic]) -> bool:
    # Floats of ml_dtypes say kind V, as structures do.
    return dtype.kind in "iuf" or (dtype.kind, dtype.type.__module__) == ("V", "ml_dtypes")


class Tags:
    """Makes tags of names, and never one tag of two names.

    A tag has letters, digits and ``-/_.`` only; the rest becomes ``_``. Where another name has a
    tag already, a number follows.

    Example:
        >>> tags = Tags()
        >>> tags["conv/kernel:0"], tags["/conv/kernel_0"], tags["conv/kernel:0"]
        (b'conv/kernel_0', b'conv/kernel_0_1', b'conv/kernel_0')
    """

    def __init__(self) -> None:
        self._tag_of: dict[str, bytes] = {}
        self._used: set[str] = set()

    def __getitem__(self, name: str) -> bytes:
        tag = self._tag_of.get(name)
        if tag is None:
            tag = self._tag_of[name] = self._free_tag(name).encode()
        return tag

    def _free_tag(self, name: str) -> str:
        tag = wanted = re.sub(r"[^-/\w.]", "_", name).lstrip("/")
        number = 0
        while tag in self._used:
            number += 1
            tag = f"{wanted}_{number}"
        self._used.add(tag)
        return tag


#: What training changes and by how much: shown by its norm, also where it has one element.
NORMED = ("weights", "gradients")

_COLUMNS = (Reduction("mean"), Reduction("l2"))
_MEAN, _L2 = range(2)


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Args:
        row: Of its tensor in the layout; from the end of it on, of the totals.
        column: Whether it shows the mean or the l2 norm.
        prefix: What stands before its number in a point.
    """

    row: int
    column: int
    prefix: bytes


@dataclass(frozen=True)
class Curves:
    """What is shown of the tensors of a layout.

    Args:
        layout: Of the steps that are shown so.
        always: Curves that every step has a point of.
        thinned: Curves that some steps may leave out.
        totals: The rows of each set of tensors that is shown as if it were one tensor.
    """

    layout: Layout
    always: tuple[Curve, ...]
    thinned: tuple[Curve, ...] = ()
    totals: tuple[npt.NDArray[np.intp], ...] = ()

    @cached_property
    def _indices(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        every = (*self.always, *self.thinned)
        return (
            np.array([one.row for one in every], np.intp),
            np.array([one.column for one in every], np.intp),
        )

    def points(self, statistics: npt.NDArray[np.float64], *, thin: bool) -> bytes:
        """Return the points that a step adds, joined.

        An element that is nan or infinite makes its point so. What is not known has no point.

        Args:
            statistics: Those of the step, shape ``[tensors, NUM_FIELDS]``.
            thin: Leave out the thinned curves.
        """
        totals = [merge(statistics[rows]) for rows in self.totals]
        rows = np.concatenate([statistics, np.reshape(totals, (-1, NUM_FIELDS))])
        numbers = reductions(rows, _COLUMNS)
        is_odd = np.any(rows[:, [NAN, POSINF, NEGINF]] > 0, axis=1, keepdims=True)
        is_known = ~np.isnan(numbers) | is_odd
        with np.errstate(over="ignore"):  # what float32 cannot hold is shown as infinite
            data = numbers[self._indices].astype("<f4").tobytes()
        drawn = self.always if thin else (*self.always, *self.thinned)
        known = is_known[self._indices].tolist()
        return b"".join(
            curve.prefix + data[4 * number : 4 * number + 4]
            for number, curve in enumerate(drawn)
            if known[number]
        )


def all_curves(layout: Layout, tags: Tags) -> Curves:
    """Return a curve for every tensor of one element, and norms of ``NORMED``.

    The norm of all weights, and of all gradients, is always shown; that of each tensor is thinned.
    """
    names = [info.name for info in layout.tensors]
    kinds = {kind: layout.rows_of[kind] for kind in NORMED if kind in layout.rows_of}
    values = curves_of(layout, tags, lambda info: info.collection not in NORMED).always
    totals = (
        Curve(len(layout) + number, _L2, point_prefix(tags[f"l2/{kind}"]))
        for number, kind in enumerate(kinds)
    )
    norms = (
        Curve(row, _L2, point_prefix(tags[f"l2/{names[row]}"]))
        for rows in kinds.values()
        for row in rows.tolist()
    )
    return Curves(layout, (*values, *totals), tuple(norms), tuple(kinds.values()))


def curves_of(layout: Layout, tags: Tags, is_drawn: Callable[[TensorInfo], bool]) -> Curves:
    """Return a curve for every tensor of one element that ``is_drawn`` takes."""

    def curves() -> Iterator[Curve]:
        for row, info in enumerate(layout.tensors):
            if is_single(info) and is_drawn(info):
                yield Curve(row, _MEAN, point_prefix(tags[info.name]))

    return Curves(layout, tuple(curves()))


def is_single(info: TensorInfo) -> bool:
    return math.prod(info.shape) == 1


# How long steps are gathered before they are stored: where files grow, and where each is stored
# anew as a whole.
GATHER_S = 0.75
GATHER_WHOLE_S = 10.0
GATHER_BYTES = 1 << 20
# Each of the first MOST_NORMS steps of a mode has the norms of all tensors, of as many after them
# each second one, of twice as many after these each fourth: about the points TensorBoard shows.
MOST_NORMS = 1000


class TensorBoardWriter:
    """Writes what TensorBoard shows of one worker's steps.

    The folder has a folder for each mode, and those have one for each worker but ``worker_0``:
    TensorBoard shows each as a run. A step is its global step.

    Args:
        folder: Path or URL.
        worker: The worker whose steps are written.
        histogram: Returns the collection under which a tensor's histograms are shown, ``None``
            for no histogram. By default every tensor of more than one element of which the full
            value is saved has them, under its kind, and so have weights and gradients of one.
        scalar: Returns whether a tensor of one element is shown as a curve. It matters where
            ``histogram`` is given, and is by the kind of the tensor then if it is not. Without
            ``histogram``, all are shown, and norms of weights and gradients.
        clock: Seconds, monotonic; for tests.

    Raises:
        ConfigError: No store is installed for the URL.
    """

    def __init__(
        self,
        folder: str,
        worker: str,
        histogram: Callable[[str], str | None] | None = None,
        scalar: Callable[[str], bool] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        #: How many steps could not be stored.
        self.lost = 0
        self._store = open_store(folder)
        self._folder = "" if worker == "worker_0" else f"{worker_in_key(worker)}/"
        self._histogram = histogram
        self._scalar = scalar
        self._clock = clock
        self._gather_s = GATHER_S if isinstance(self._store, Appends) else GATHER_WHOLE_S
        self._tags = Tags()
        self._curves: dict[Mode, Curves] = {}
        self._num_steps = dict.fromkeys(Mode, 0)
        self._files: dict[Mode, SummaryFiles] = {}
        self._pending: dict[Mode, list[bytes]] = {}
        self._bytes = 0
        self._since = 0.0

    def write(self, record: StepRecord) -> None:
        try:
            data = b"".join(self._records(record))
        except BaseException:
            self.lost += 1
            raise
        if not data:
            return
        if not self._pending:
            self._since = self._clock()
        self._pending.setdefault(record.mode, []).append(data)
        self._bytes += len(data)
        if self._bytes >= GATHER_BYTES:
            self.flush()

    def tick(self) -> None:
        if self._pending and self._clock() - self._since >= self._gather_s:
            self.flush()

    def flush(self) -> None:
        """Store what was gathered. What cannot be stored is given up, not kept for ever."""
        pending, self._pending, self._bytes = self._pending, {}, 0
        with ExitStack() as work:  # each mode is stored, whatever becomes of the others
            for mode, steps in pending.items():
                work.callback(self._store_steps, mode, steps)

    def close(self, end: End) -> None:
        """Store what is left; TensorBoard does not ask how a run ended."""
        del end
        self.flush()

    def _store_steps(self, mode: Mode, steps: list[bytes]) -> None:
        files = self._files.get(mode)
        if files is None:
            files = self._files[mode] = SummaryFiles(self._store, f"{mode.value}/{self._folder}")
        try:
            files.add(b"".join(steps))
        except BaseException:
            self.lost += len(steps)
            raise

    def _records(self, record: StepRecord) -> Iterator[bytes]:
        seconds = record.time_ns / 1e9
        number = self._num_steps[record.mode]
        self._num_steps[record.mode] += 1
        points = self._curves_of(record).points(record.statistics, thin=not has_norms(number))
        if points:
            yield summary_record(seconds, record.step, points)
        for name, array in record.raw.items():
            collection = self._collection_of(record, name)
            counted = None if collection is None else histogram(array)
            if counted is not None:
                tag = self._tags[f"{collection}/{name}"]
                yield summary_record(seconds, record.step, histogram_value(tag, counted))

    def _curves_of(self, record: StepRecord) -> Curves:
        curves = self._curves.get(record.mode)
        if curves is None or curves.layout is not record.layout:
            if self._histogram is None:
                curves = all_curves(record.layout, self._tags)
            else:
                curves = curves_of(record.layout, self._tags, self._is_scalar)
            self._curves[record.mode] = curves
        return curves

    def _is_scalar(self, info: TensorInfo) -> bool:
        if self._scalar is not None:
            return self._scalar(info.name)
        return info.collection in SCALAR_COLLECTIONS or info.collection == "scalars"

    def _collection_of(self, record: StepRecord, name: str) -> str | None:
        """Return the collection under which a histogram of a tensor is shown, if one is."""
        if self._histogram is not None:
            return self._histogram(name)
        info = record.layout.tensors[record.layout.row_of[name]]
        is_curve = is_single(info) and info.collection not in NORMED
        return None if is_curve else info.collection


def has_norms(number: int) -> bool:
    """Return whether a step is shown with the norms of all its tensors.

    Args:
        number: How many steps of its mode were shown before it.

    Example:
        >>> list(filter(has_norms, (998, 999, 1000, 1001, 1998, 2001, 2002, 2004)))
        [998, 999, 1000, 1998, 2004]
    """
    every = 1
    while number >= MOST_NORMS * every:
        every *= 2
    return number % every == 0
