"""What profile rules ask of the windows they are shown.

Which moments lie in a pause (evaluation, checkpoints), what several devices of a machine read at
the same moment, what the training did then, and the last readings of a series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.steps import Mode
from ..numerics.measures import Floats
from .statistics import Ints
from .windows import ProfileWindow, Readings, Spans, moments

Mask = npt.NDArray[np.bool_]


def outside(windows: Sequence[ProfileWindow], times: Ints) -> Mask:
    """Return which moments lie outside of evaluation and checkpoints.

    Args:
        windows: Those that hold the pauses, and their neighbours.
        times: Nanoseconds since the Unix epoch, shape ``[moments]``.
    """
    pauses = [spans for window in windows for spans in checkpoints(window)]
    pauses += [
        spans
        for window in windows
        for (_, mode), spans in window.intervals("step").items()
        if mode in (Mode.EVAL.value, Mode.PREDICT.value)
    ]
    return ~within(pauses, times)


def checkpoints(window: ProfileWindow) -> list[Spans]:
    """Return the intervals in which each worker wrote checkpoints."""
    pauses = window.intervals("pause").values()
    return [Spans(*(column[one.name == "checkpoint"] for column in one)) for one in pauses]


def within(several: list[Spans], times: Ints) -> Mask:
    """Return which moments lie in one of the intervals, shape ``[moments]``."""
    found = np.zeros(len(times), bool)
    for spans in several:
        if len(spans.start_ns):
            last = np.searchsorted(spans.start_ns, times, "right") - 1
            ends = np.maximum.accumulate(spans.start_ns + spans.duration_ns)
            found |= (last >= 0) & (times < ends[last])
    return found


class RecentReadings:
    """The last readings of a series, and how many there were.

    Args:
        length: So many are kept.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self.values: Floats = np.empty(0)
        self.count = 0

    def add(self, values: Floats) -> None:
        """Keep the next ones, and forget the oldest."""
        self.count += len(values)
        self.values = np.concatenate([self.values, values])[-self._length :]


class Snapshots(NamedTuple):
    """The readings of some devices at each moment; all have shape ``[moments]``."""

    lowest: Floats
    mean: Floats
    highest: Floats


def snapshots(*several: Sequence[Readings]) -> tuple[Ints, list[Snapshots]]:
    """Return the moments at which each of several groups of devices was read, and what was.

    Args:
        several: The readings of each device, for each group.
    """
    known = [one for group in several for one in group]
    if not all(several) or not known:
        nothing = np.empty(0)
        return np.empty(0, np.int64), [Snapshots(nothing, nothing, nothing)] * len(several)
    first, moment = moments(np.concatenate([one.time_ns for one in known]))
    found, start, complete = [], 0, np.ones(len(first), bool)
    for group in several:
        values = np.concatenate([one.values for one in group])
        of = moment[start : start + len(values)]
        start += len(values)
        lowest, highest = np.full(len(first), np.inf), np.full(len(first), -np.inf)
        np.minimum.at(lowest, of, values)
        np.maximum.at(highest, of, values)
        counts = np.bincount(of, minlength=len(first))
        complete &= counts > 0
        mean = np.bincount(of, values, minlength=len(first)) / np.maximum(counts, 1)
        found.append(Snapshots(lowest, mean, highest))
    kept = [Snapshots(*(column[complete] for column in one)) for one in found]
    return first[complete], kept


def step_time(window: ProfileWindow, times: Ints) -> Floats:
    """Return how long the step took that ran at each moment; nan where none ran.

    Of several workers it is the slowest.
    """
    edges, slowest = window.slowest_steps
    from_edge: Floats = np.r_[np.nan, slowest]
    return from_edge[np.searchsorted(edges, times, "right")]


def phases_at(window: ProfileWindow, times: Ints) -> Counter[str]:
    """Return in which phase of a step each worker was, counted over workers and moments."""
    found: Counter[str] = Counter()
    for name, (starts, ends) in window.phases.items():
        begun, ended = (np.searchsorted(one, times, "right").sum() for one in (starts, ends))
        found[name] = int(begun - ended)
    return +found


def first_start(window: ProfileWindow) -> int | None:
    """Return when the first of the steps that ended in a window began, ``None`` for no step."""
    starts = [spans.start_ns for spans in window.intervals("step").values()]
    known = [int(one.min()) for one in starts if len(one)]
    return min(known, default=None)
