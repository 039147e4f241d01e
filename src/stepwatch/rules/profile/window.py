"""What rules see of a profile: one window of time after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...formats.native.text_columns import text_codes
from ...formats.profile.groups import rows_by
from ...formats.profile.machine import Machine
from ..checks import Floats

Ints = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]
#: Readings that lie no further apart were taken together.
TOGETHER_NS = 20_000_000
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
            device: Finds itself in the whole name of a device.
            metric: The name of the metric.
        """
        found = {}
        for (node, name, of), rows in rows_by(self.system, ("node", "device", "metric")):
            if of == metric and re.fullmatch(device, name):
                counts = self.system.column("count").to_numpy()[rows]
                values = np.repeat(self.system.column("value").to_numpy()[rows], counts)
                times = np.repeat(self.system.column("time_ns").to_numpy()[rows], counts)
                known = values >= 0  # what a driver could not tell is nan, or negative
                found[node, name] = Readings(times[known], values[known])
        return dict(sorted(found.items(), key=lambda item: _by_number(item[0])))

    def intervals(self, kind: str) -> dict[tuple[str, str], Spans]:
        """Return intervals of a kind, by worker and mode.

        Args:
            kind: Finds itself in the whole of the kind.
        """
        found = {}
        wanted = pc.match_substring_regex(
            self.spans.column("kind").cast(pa.string()), f"^({kind})$"
        )
        spans = self.spans.filter(wanted)
        for (worker, mode), rows in rows_by(spans, ("worker", "mode")):
            found[worker, mode] = _spans(spans.take(pa.array(rows)))
        return found


def together(times: Ints) -> Ints:
    """Return which readings were taken together, as ascending numbers.

    Args:
        times: When each was taken, shape ``[readings]``, in any order.

    Example:
        >>> together(np.array([500_000_000, 0, 19_000_000]))
        array([1, 0, 0])
    """
    order = np.argsort(times, kind="stable")
    numbers = np.zeros(len(times), np.int64)
    numbers[order[1:]] = np.cumsum(np.diff(times[order]) > TOGETHER_NS)
    return numbers


def by_node(readings: Mapping[tuple[str, str], Readings]) -> dict[str, list[Readings]]:
    """Return the readings of each machine's devices, in the order of their names."""
    found: dict[str, list[Readings]] = {}
    for (node, _), one in readings.items():
        found.setdefault(node, []).append(one)
    return found


def mean_together(readings: Sequence[Readings]) -> Readings:
    """Return the mean over devices, at least one, of the readings that were taken together."""
    times = np.concatenate([one.time_ns for one in readings])
    values = np.concatenate([one.values for one in readings])
    number = together(times)
    if not len(times):
        return Readings(times, values)
    first = np.full(int(number.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, number, times)
    return Readings(first, np.bincount(number, values) / np.bincount(number))


def _spans(table: pa.Table) -> Spans:
    """Return the intervals of rows; one that stands for several is its longest and equal others."""
    counts = table.column("count").to_numpy()
    longest = table.column("longest_ns").to_numpy()
    others = np.maximum(table.column("duration_ns").to_numpy() - longest, 0)
    rows = np.repeat(np.arange(len(table)), counts)
    is_first = np.r_[True, np.diff(rows) != 0] if len(rows) else np.empty(0, bool)
    durations = np.where(is_first, longest[rows], others[rows] // np.maximum(counts[rows] - 1, 1))
    names, threads = (text_codes(table.column(name)) for name in ("name", "thread"))
    return Spans(
        table.column("start_ns").to_numpy()[rows],
        durations,
        table.column("step").to_numpy()[rows],
        np.array(names.values, object)[names.codes[rows]],
        np.array(threads.values, object)[threads.codes[rows]],
    )


def _by_number(name: tuple[str, str]) -> tuple[str, str, int]:
    """Return what sorts ``gpu2`` before ``gpu10``."""
    node, device = name
    plain = device.rstrip("0123456789")
    return node, plain, int(device[len(plain) :] or -1)
