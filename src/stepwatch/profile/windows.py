"""A profile cut into windows of time, so that rules see the same ones live and in replay.

Windows end at whole multiples of their length since the Unix epoch, whenever a run began and
whoever reads it. One is handed out once something was written that is later than its end by
``LATE_NS``: until then somebody may still write to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.native.observations import text_codes
from ..formats.profile.reader import Machine
from ..formats.profile.tables import ends_ns, rows_by
from ..numerics.columns import numbers, rows_at, rows_where
from ..numerics.measures import Floats
from .statistics import Ints, natural_key

Names = npt.NDArray[np.object_]
#: Readings that lie no further apart were taken together.
ALIGN_NS = 20_000_000
CORES, GPUS = r"cpu\d+", r"gpu\d+"


class Readings(NamedTuple):
    """Readings of one device, ascending by time.

    Args:
        time_ns: When, shape ``[readings]``, nanoseconds since the Unix epoch.
        values: What was read, shape ``[readings]``; neither nan nor negative.
    """

    time_ns: Ints
    values: Floats


class Spans(NamedTuple):
    """Intervals of one worker, ascending by their start.

    Args:
        start_ns: When each began, shape ``[intervals]``, nanoseconds since the Unix epoch.
        duration_ns: How long each took.
        step: The global step of each; -1 for none.
        name: What ran.
        thread: What it ran on.
    """

    start_ns: Ints
    duration_ns: Ints
    step: Ints
    name: Names
    thread: Names


_NONE = Spans(*(np.empty(0, kind) for kind in (np.int64, np.int64, np.int64, object, object)))


@dataclass(frozen=True)
class ProfileWindow:
    """A window of time of a profile, of which nothing is written any more.

    Args:
        start_ns: Where it begins, nanoseconds since the Unix epoch.
        end_ns: It ends before.
        step: The last global step that had begun by its end; -1 for none.
        system: Readings that were taken in it.
        spans: Intervals that ended in it.
        machines: What is known of each machine.
        is_last: Whether the run ended with it.
    """

    start_ns: int
    end_ns: int
    step: int
    system: pa.Table
    spans: pa.Table
    machines: dict[str, Machine] = field(default_factory=dict)
    is_last: bool = False

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns

    def readings(self, device: str, metric: str) -> dict[tuple[str, str], Readings]:
        """Return readings of devices, by machine and device.

        A row that stands for several readings counts as so many of their mean.

        Args:
            device: A regular expression for the whole name of a device.
            metric: The name of the metric.
        """
        found = self._readings.get(metric, {})
        return {one: readings for one, readings in found.items() if re.fullmatch(device, one[1])}

    def intervals(self, kind: str) -> Mapping[tuple[str, str], Spans]:
        """Return intervals of a kind, by worker and mode."""
        return self._intervals.get(kind, {})

    @cached_property
    def slowest_steps(self) -> tuple[Ints, Floats]:
        """When the slowest of the steps that run changes, ascending, and how long that one takes.

        Nanoseconds, nan where no step runs.
        """
        starts, took, *_ = _joined(self.intervals("step").values())
        edges = np.unique(np.r_[starts, starts + took])
        first, last = np.searchsorted(edges, starts), np.searchsorted(edges, starts + took)
        slowest = np.full(len(edges), np.nan)
        for at in np.argsort(took).tolist():
            slowest[first[at] : last[at]] = took[at]
        return edges, slowest

    @cached_property
    def phases(self) -> dict[str, tuple[Ints, Ints]]:
        """When phases of each name began, and when they ended; both ascending, of all workers."""
        starts, took, _, names, _ = _joined(self.intervals("phase").values())
        of_each = ((name, names == name) for name in sorted(set(names.tolist())))
        return {name: (np.sort(starts[at]), np.sort((starts + took)[at])) for name, at in of_each}

    # Each is split once: there may be many machines and workers, and every rule asks.
    @cached_property
    def _readings(self) -> dict[str, dict[tuple[str, str], Readings]]:
        """All readings, by metric, and by machine and device."""
        counts, values, times = (
            numbers(self.system.column(name)) for name in ("count", "value", "time_ns")
        )
        series = rows_by(self.system, ("node", "device", "metric"))
        found: dict[str, dict[tuple[str, str], Readings]] = {}
        for (node, device, metric), rows in sorted(
            series, key=lambda one: (one[0][0], natural_key(one[0][1]))
        ):
            rows = np.repeat(rows, counts[rows])
            rows = rows[values[rows] >= 0]  # what a driver could not tell is nan, or negative
            found.setdefault(metric, {})[node, device] = Readings(times[rows], values[rows])
        return found

    @cached_property
    def _intervals(self) -> dict[str, dict[tuple[str, str], Spans]]:
        """All intervals, by kind, and by worker and mode."""
        found: dict[str, dict[tuple[str, str], Spans]] = {}
        for (kind, worker, mode), rows in rows_by(self.spans, ("kind", "worker", "mode")):
            found.setdefault(kind, {})[worker, mode] = _spans(rows_at(self.spans, rows))
        return found


def moments(times: Ints) -> tuple[Ints, Ints]:
    """Return the moments at which readings were taken together.

    Args:
        times: When each was taken, shape ``[readings]``, in any order.

    Returns:
        When the first reading of each moment was taken, ascending, and of which moment each
        reading is.

    Example:
        >>> first, moment = moments(np.array([500_000_000, 0, 19_000_000]))
        >>> first.tolist(), moment.tolist()
        ([0, 500000000], [1, 0, 0])
    """
    order = np.argsort(times, kind="stable")
    moment = np.zeros(len(times), np.int64)
    moment[order[1:]] = np.cumsum(np.diff(times[order]) > ALIGN_NS)
    first = np.full(int(moment.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, moment, times)
    return first, moment


def by_node(readings: Mapping[tuple[str, str], Readings]) -> dict[str, list[Readings]]:
    """Return the readings of each machine's devices, in the order of their names."""
    found: dict[str, list[Readings]] = {}
    for (node, _), one in readings.items():
        found.setdefault(node, []).append(one)
    return found


def mean_aligned(readings: Sequence[Readings]) -> Readings:
    """Return the mean over devices, at least one, of the readings that were taken together."""
    times = np.concatenate([one.time_ns for one in readings])
    values = np.concatenate([one.values for one in readings])
    first, moment = moments(times)
    return Readings(first, np.bincount(moment, values) / np.bincount(moment))


def _spans(table: pa.Table) -> Spans:
    """Return the intervals of rows; one that stands for several is its longest and equal others."""
    counts = numbers(table.column("count"))
    longest = numbers(table.column("longest_ns"))
    others = np.maximum(numbers(table.column("duration_ns")) - longest, 0)
    rows = np.repeat(np.arange(len(table)), counts)
    is_first = np.r_[True, np.diff(rows) != 0] if len(rows) else np.empty(0, bool)
    durations = np.where(is_first, longest[rows], others[rows] // np.maximum(counts[rows] - 1, 1))
    names, threads = (text_codes(table.column(name)) for name in ("name", "thread"))
    return Spans(
        numbers(table.column("start_ns"))[rows],
        durations,
        numbers(table.column("step"))[rows],
        np.array(names.values, object)[names.codes[rows]],
        np.array(threads.values, object)[threads.codes[rows]],
    )


def _joined(several: Iterable[Spans]) -> Spans:
    """Return the intervals of several workers as those of one, one worker after the other."""
    return Spans(*map(np.concatenate, zip(_NONE, *several, strict=True)))


LATE_NS = 15 * 10**9
#: A long profile is read in pieces of so many windows.
_PIECE = 60


class ProfileSource(Protocol):
    """What ``WindowSplitter`` needs of ``trial.profile.Profile``."""

    @property
    def bounds(self) -> tuple[int, int] | None: ...

    @property
    def machines(self) -> Mapping[str, Machine]: ...

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table: ...

    def spans(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table: ...


class WindowSplitter:
    """Hands out the windows of a profile, each ``length_ns`` long, in order and each once."""

    def __init__(self, length_ns: int) -> None:
        self._length_ns = length_ns
        self._next_ns: int | None = None
        self._step = -1

    def windows(self, profile: ProfileSource, *, ended: bool) -> Iterator[ProfileWindow]:
        """Yield the windows that are complete and were not handed out yet.

        Args:
            profile: As it is now.
            ended: Whether nothing more will be written; then the last window is one, too.
        """
        bounds = profile.bounds
        if bounds is None:
            return
        length = self._length_ns
        if self._next_ns is None:
            self._next_ns = bounds[0] // length * length
        last_ns = bounds[1] if ended else bounds[1] - LATE_NS - length
        machines = dict(profile.machines)
        while self._next_ns <= last_ns:
            pieces = min(_PIECE, (last_ns - self._next_ns) // length + 1)
            end_ns = self._next_ns + pieces * length
            yield from self._cut(profile, machines, end_ns, bounds[1] if ended else None)

    def _cut(
        self,
        profile: ProfileSource,
        machines: dict[str, Machine],
        end_ns: int,
        run_ended_ns: int | None,
    ) -> Iterator[ProfileWindow]:
        assert self._next_ns is not None
        system = profile.system(self._next_ns, end_ns)
        spans = profile.spans(self._next_ns, end_ns + 1)
        times = numbers(system.column("time_ns"))
        ends = ends_ns(spans)
        steps = numbers(spans.column("step"))
        for start in range(self._next_ns, end_ns, self._length_ns):
            stop = start + self._length_ns
            inside = (ends >= start) & (ends < stop)
            self._step = max(self._step, int(steps[inside].max(initial=-1)))
            self._next_ns = stop
            low, high = np.searchsorted(times, (start, stop))
            yield ProfileWindow(
                start_ns=start,
                end_ns=stop,
                step=self._step,
                system=system.slice(low, high - low),
                spans=rows_where(spans, inside),
                machines=machines,
                is_last=run_ended_ns is not None and stop > run_ended_ns,
            )
