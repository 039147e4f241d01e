"""What several devices of a machine did at the same moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..checks import Floats
from .window import Ints, ProfileWindow, Readings, together

Mask = npt.NDArray[np.bool_]


class Together(NamedTuple):
    """The readings of some devices at each moment; all have shape ``[moments]``."""

    lowest: Floats
    mean: Floats
    highest: Floats


def snapshots(*several: Sequence[Readings]) -> tuple[Ints, list[Together]]:
    """Return the moments at which each of several groups of devices was read, and what was.

    Args:
        several: The readings of each device, for each group.
    """
    known = [one for group in several for one in group]
    if not all(several) or not known:
        nothing = np.empty(0)
        return np.empty(0, np.int64), [Together(nothing, nothing, nothing)] * len(several)
    times = np.concatenate([one.time_ns for one in known])
    number = together(times)
    moments = int(number.max(initial=-1)) + 1
    first = np.full(moments, np.iinfo(np.int64).max)
    np.minimum.at(first, number, times)
    found, start, complete = [], 0, np.ones(moments, bool)
    for group in several:
        values = np.concatenate([one.values for one in group])
        of = number[start : start + len(values)]
        start += len(values)
        lowest, highest = np.full(moments, np.inf), np.full(moments, -np.inf)
        np.minimum.at(lowest, of, values)
        np.maximum.at(highest, of, values)
        counts = np.bincount(of, minlength=moments)
        complete &= counts > 0
        mean = np.bincount(of, values, minlength=moments) / np.maximum(counts, 1)
        found.append(Together(lowest, mean, highest))
    kept = [Together(*(column[complete] for column in one)) for one in found]
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
