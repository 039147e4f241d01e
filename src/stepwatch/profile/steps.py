"""How long the steps of a run took, worker by worker and mode by mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.profile.tables import PHASES, ends_ns, rows_by
from ..numerics.columns import numbers, rows_at, rows_where
from ..numerics.measures import Floats
from ..trial.profile import Profile
from .statistics import Ints, quantiles

Mask = npt.NDArray[np.bool_]
_NS = 1_000_000_000


@dataclass(frozen=True)
class StepTimes:
    """The steps of one worker and mode.

    Args:
        worker: The worker.
        mode: Their mode.
        rows: As ``Profile.steps`` has them; a row may stand for several steps.
    """

    worker: str
    mode: str
    rows: pa.Table

    @cached_property
    def counts(self) -> Ints:
        """For how many steps each row stands."""
        return numbers(self.rows.column("count"))

    @cached_property
    def seconds(self) -> Floats:
        """How long a step took; where a row stands for several, on average."""
        return numbers(self.rows.column("duration_ns")) / self.counts / _NS

    @cached_property
    def longest(self) -> Floats:
        """The longest step of each row, seconds."""
        return numbers(self.rows.column("longest_ns")) / _NS

    @property
    def total(self) -> float:
        """The seconds of all steps together."""
        return float(numbers(self.rows.column("duration_ns")).sum()) / _NS

    @property
    def shares(self) -> dict[str, float]:
        """The share of each phase in the time of all steps; they sum to 1."""
        whole = numbers(self.rows.column("duration_ns")).sum() or 1
        sums = {name: numbers(self.rows.column(f"{name}_ns")).sum() for name in PHASES}
        return {name: float(value / whole) for name, value in sums.items()}

    @property
    def mean(self) -> float:
        """The mean time of a step, seconds."""
        return float(np.average(self.seconds, weights=self.counts))

    @property
    def deviation(self) -> float:
        """The standard deviation of what steps took, seconds."""
        return float(np.sqrt(np.average((self.seconds - self.mean) ** 2, weights=self.counts)))

    def quantiles(self, *wanted: float) -> tuple[float, ...]:
        """Return quantiles of what steps took, seconds."""
        return quantiles(self.seconds, wanted, self.counts)

    def phases(self, rows: Mask | None = None) -> dict[str, float]:
        """Return the seconds of each phase; of some rows only, if they are given."""
        chosen = self.rows if rows is None else rows_where(self.rows, rows)
        return {name: float(numbers(chosen.column(f"{name}_ns")).sum()) / _NS for name in PHASES}


def step_times(profile: Profile, points: int | None = None) -> list[StepTimes]:
    """Return the steps of each worker and mode: TRAIN comes before EVAL.

    Args:
        profile: The profile.
        points: At most so many rows of each; see ``Profile.steps``.
    """
    rows = profile.steps(points=points)
    found = [
        StepTimes(worker, mode, rows_at(rows, at))
        for (worker, mode), at in rows_by(rows, ("worker", "mode"))
    ]
    found.sort(key=lambda one: one.mode, reverse=True)
    return sorted(found, key=lambda one: one.worker)


def total(parts: Iterable[dict[str, float]]) -> dict[str, float]:
    """Return the sum of several divisions of time, by name."""
    found: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found.get(name, 0.0) + value
    return found


def by_mode(times: list[StepTimes]) -> dict[str, float]:
    """Return the seconds in the steps of each mode, and between all steps, over all workers."""
    between = 0.0
    for worker in dict.fromkeys(one.worker for one in times):
        rows = pa.concat_tables(one.rows for one in times if one.worker == worker)
        starts = numbers(rows.column("start_ns"))
        durations = numbers(rows.column("duration_ns"))
        span = ((starts + durations).max() - starts.min()) / _NS
        between += max(0.0, float(span - durations.sum() / _NS))
    return {**total({one.mode: one.total} for one in times), "between steps": between}


def by_name(spans: pa.Table) -> dict[str, float]:
    """Return the seconds of the intervals of each name."""
    durations = numbers(spans.column("duration_ns"))
    return {name: float(durations[at].sum()) / _NS for (name,), at in rows_by(spans, ("name",))}


def overlapping(profile: Profile, times: StepTimes, rows: Mask) -> dict[str, float]:
    """Return what else a worker did while some of its steps ran, in seconds, by name."""
    spans = profile.spans(worker=times.worker, kind="pause|collective|loader|window")
    starts = numbers(spans.column("start_ns"))
    ends = ends_ns(spans)
    begins = numbers(times.rows.column("start_ns"))[rows]
    stops = ends_ns(times.rows)[rows]
    overlaps: Iterator[Mask] = (
        (starts < stop) & (ends > begin) for begin, stop in zip(begins, stops, strict=True)
    )
    chosen = np.zeros(len(spans), bool)
    for one in overlaps:
        chosen |= one
    return by_name(rows_where(spans, chosen))
