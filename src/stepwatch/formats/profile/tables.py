"""The two tables of a profile, readings of devices and timed intervals, and their clock.

A row may stand for several that were joined: ``count`` says how many, and the extremes are those
of all of them. So a table of any length can be reduced to any number of rows.

Intervals are measured by a clock that only goes forward, whatever is done to the machine's time,
and stored in the time that the machine had then: no interval is longer than it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...numerics.columns import array, numbers, rows_at
from ..native.observations import TEXT, encoded, text_codes

Ints = npt.NDArray[np.int64]
#: The phases of a step, in their order; each nanosecond of a step belongs to one of them.
PHASES = ("data", "forward", "backward", "optimizer", "other")


class Sample(NamedTuple):
    """A reading of a device at a moment.

    Args:
        time_ns: When, nanoseconds since the Unix epoch.
        device: What was read, such as ``cpu0``, ``memory`` or ``gpu0``.
        metric: Which of its numbers, with its unit, such as ``used_percent``.
        value: The number.
    """

    time_ns: int
    device: str
    metric: str
    value: float


class Span(NamedTuple):
    """A timed interval.

    Args:
        start_ns: When it began, nanoseconds since the Unix epoch.
        duration_ns: How long it took.
        kind: ``step``, ``phase`` or what else; see docs/profiler.md.
        name: What ran.
        mode: The mode of its step; empty if it belongs to none.
        step: The global step; -1 if it belongs to none.
        thread: What it ran on; intervals of one thread and kind do not overlap.
    """

    start_ns: int
    duration_ns: int
    kind: str
    name: str
    mode: str = ""
    step: int = -1
    thread: str = "main"


@dataclass(frozen=True)
class Table:
    """How one of the tables is made, and how its rows are joined.

    Args:
        name: The name of the table.
        schema: Its columns.
        time: The column that says when.
        joined: How each number of several rows becomes one.
        mean: The column of which the mean is taken, weighted by ``count``; empty for none.
    """

    name: str
    schema: pa.Schema
    time: str
    joined: Mapping[str, np.ufunc] = field(default_factory=dict)
    mean: str = ""

    @property
    def series(self) -> list[str]:
        """The columns of which each set of texts is a series of its own."""
        return [column.name for column in self.schema if column.type == TEXT]

    @property
    def floats(self) -> list[str]:
        """The columns of measured values; most devices know few different ones."""
        return [column.name for column in self.schema if column.type == pa.float64()]


SYSTEM = Table(
    "system",
    pa.schema(
        [("node", TEXT), ("device", TEXT), ("metric", TEXT), ("time_ns", pa.int64())]
        + [(name, pa.float64()) for name in ("value", "min", "max")]
        + [("count", pa.int64())]
    ),
    "time_ns",
    {"time_ns": np.minimum, "min": np.minimum, "max": np.maximum, "count": np.add},
    mean="value",
)
SPANS = Table(
    "spans",
    pa.schema(
        [(name, TEXT) for name in ("worker", "mode", "kind", "name", "thread")]
        + [(name, pa.int64()) for name in ("step", "start_ns", "duration_ns")]
        + [(name, pa.int64()) for name in ("longest_ns", "count")]
    ),
    "start_ns",
    {
        "step": np.minimum,
        "start_ns": np.minimum,
        "duration_ns": np.add,
        "longest_ns": np.maximum,
        "count": np.add,
    },
)


def system_table(node: str, samples: Sequence[Sample]) -> pa.Table:
    """Return readings of a machine as a table.

    Example:
        >>> system_table("here", [Sample(7, "cpu0", "busy_percent", 12.5)]).to_pylist()[0]["max"]
        12.5
    """
    times, devices, metrics, values = _columns(samples, 4)
    return _table(
        SYSTEM,
        {
            "node": [node] * len(samples),
            "device": devices,
            "metric": metrics,
            "time_ns": times,
            **dict.fromkeys(("value", "min", "max"), values),
            "count": np.ones(len(samples), np.int64),
        },
    )


def spans_table(worker: str, spans: Sequence[Span], offset_ns: int = 0) -> pa.Table:
    """Return intervals of a worker as a table, their starts moved by ``offset_ns``."""
    starts, durations, kinds, names, modes, steps, threads = _columns(spans, 7)
    return _table(
        SPANS,
        {
            "worker": [worker] * len(spans),
            "mode": modes,
            "kind": kinds,
            "name": names,
            "thread": threads,
            "step": steps,
            "start_ns": np.asarray(starts, np.int64) + offset_ns,
            "duration_ns": durations,
            "longest_ns": durations,
            "count": np.ones(len(spans), np.int64),
        },
    )


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[Sequence[object]]:
    return [*zip(*rows, strict=True)] if rows else [()] * width


def _table(kind: Table, columns: Mapping[str, Any]) -> pa.Table:
    arrays = [
        encoded(columns[one.name]) if one.type == TEXT else array(columns[one.name], one.type)
        for one in kind.schema
    ]
    return pa.Table.from_arrays(arrays, schema=kind.schema)


def thin(kind: Table, table: pa.Table, buckets: int) -> pa.Table:
    """Return a table of at most ``buckets`` rows for each series; a smaller one as it is.

    The time from the first row to the last is cut into buckets. Of a step all rows are in the
    bucket in which it began, so that its phases still add up to it.

    Args:
        kind: Which table it is.
        table: Its rows.
        buckets: How many there are, at least 1.
    """
    if len(table) <= buckets:
        return table
    table = table.unify_dictionaries().combine_chunks()
    times = _when(kind, table)
    width = max(1, -(-int(times.max() - times.min() + 1) // buckets))
    bucket = (times - times.min()) // width
    series = _series(kind, table)
    order = np.lexsort((times, bucket, series))
    series, bucket = series[order], bucket[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(series) != 0) | (np.diff(bucket) != 0)])
    if len(starts) == len(table):
        return table
    return _joined(kind, table, order, starts)


def by_series(kind: Table, table: pa.Table) -> pa.Table:
    """Return rows with those of a series together, ascending by time: so they take less room."""
    table = table.unify_dictionaries().combine_chunks()
    order = np.lexsort((numbers(table.column(kind.time)), _series(kind, table)))
    return rows_at(table, order)


def _joined(kind: Table, table: pa.Table, order: Ints, starts: Ints) -> pa.Table:
    """Return one row for those from each start to the next, in this order of rows."""
    columns = {
        name: joined.reduceat(numbers(table.column(name))[order], starts)
        for name, joined in kind.joined.items()
    }
    if kind.mean:
        weights = numbers(table.column("count"))[order]
        sums = np.add.reduceat(numbers(table.column(kind.mean))[order] * weights, starts)
        columns[kind.mean] = sums / columns["count"]
    firsts = rows_at(table.select(kind.series), order[starts])
    arrays = [
        array(columns[one.name]) if one.name in columns else firsts.column(one.name)
        for one in kind.schema
    ]
    return pa.Table.from_arrays(arrays, schema=kind.schema)


def _series(kind: Table, table: pa.Table) -> Ints:
    numbers = np.zeros(len(table), np.int64)
    for name in kind.series:
        codes = text_codes(table.column(name))
        numbers = numbers * (len(codes.values) + 1) + codes.codes
        numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return numbers


def _when(kind: Table, table: pa.Table) -> Ints:
    """Return when each row was, for those of a step when that began."""
    times: Ints = numbers(table.column(kind.time))
    if kind is not SPANS:
        return times
    steps = numbers(table.column("step"))
    workers = text_codes(table.column("worker")).codes
    of_step = np.unique(np.stack([workers, steps]), axis=1, return_inverse=True)[1].reshape(-1)
    began = np.full(int(of_step.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(began, of_step, times)
    return np.where(steps < 0, times, began[of_step])


# The two clocks may part by so much before it is noticed: adjusting less would tear steps apart.
_SLACK_NS = 10_000_000


class Clock:
    """Turns ticks of ``time.perf_counter_ns`` into nanoseconds since the Unix epoch.

    Args:
        ticks: The clock that only goes forward; for tests.
        wall: The time of the machine; for tests.

    Example:
        >>> clock = Clock(ticks=lambda: 5, wall=lambda: 1_000)
        >>> clock.unix_ns(7)
        1002
    """

    def __init__(
        self,
        ticks: Callable[[], int] = time.perf_counter_ns,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        self.ticks = ticks
        self._wall = wall
        #: How much later a moment is, since the Unix epoch, than its tick says.
        self.offset_ns = wall() - ticks()

    def unix_ns(self, ticks: int) -> int:
        return ticks + self.offset_ns

    def settle(self) -> None:
        """Follow the time of the machine if that was set, or the machine slept; now and then."""
        offset = self._wall() - self.ticks()
        if abs(offset - self.offset_ns) > _SLACK_NS:
            self.offset_ns = offset


def rows_by(
    table: pa.Table, columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int64]]]:
    """Yield, for each set of texts in some columns, which rows have it; in the order of the texts.

    Example:
        >>> table = pa.table({"node": ["b", "a", "b"], "value": [1, 2, 3]})
        >>> [(node, rows.tolist()) for (node,), rows in rows_by(table, ["node"])]
        [('a', [1]), ('b', [0, 2])]
    """
    codes = [text_codes(table.column(name)) for name in columns]
    sets, of = np.unique(np.stack([one.codes for one in codes]), axis=1, return_inverse=True)
    order = np.argsort(of.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(of.reshape(-1), minlength=sets.shape[1]))
    found = {
        tuple(one.values[sets[column, number]] for column, one in enumerate(codes)): rows
        for number, rows in enumerate(np.split(order, ends[:-1]) if len(order) else [])
    }
    yield from sorted(found.items())


def ends_ns(spans: pa.Table) -> Ints:
    """Return when each interval ended; of several that were joined, when the first did at most.

    Args:
        spans: Columns ``start_ns`` and ``longest_ns``.
    """
    ends: Ints = numbers(spans.column("start_ns")) + numbers(spans.column("longest_ns"))
    return ends
