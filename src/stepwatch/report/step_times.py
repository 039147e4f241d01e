"""How long steps took, and on what they spent it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..formats.profile.tables import PHASES
from ..rules.profile.recent import longest_usual
from ..trial.profile import Profile
from .machine import quantiles, rows_of

Floats = npt.NDArray[np.float64]
_NS = 1_000_000_000
#: Steps this many deviations above the median are outliers, once there are enough of them.
DEVIATIONS, ENOUGH = 3.0, 100


@dataclass(frozen=True)
class StepTimes:
    """The steps of one worker and mode.

    Args:
        worker: Whose.
        mode: Theirs.
        rows: As ``Profile.steps`` has them.
    """

    worker: str
    mode: str
    rows: pa.Table

    @property
    def seconds(self) -> Floats:
        """How long a step took; where a row stands for several, on average."""
        return self.rows.column("duration_ns").to_numpy() / self.counts / _NS  # type: ignore[no-any-return]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """For how many steps each row stands."""
        return self.rows.column("count").to_numpy()  # type: ignore[no-any-return]

    @property
    def longest(self) -> float:
        """The longest step, seconds."""
        return float(self.rows.column("longest_ns").to_numpy().max()) / _NS

    def mean_and_deviation(self) -> tuple[float, float]:
        """Return the mean and the standard deviation of what steps took."""
        weights = self.counts
        mean = float(np.average(self.seconds, weights=weights))
        return mean, float(np.sqrt(np.average((self.seconds - mean) ** 2, weights=weights)))

    @property
    def limit(self) -> float:
        """Above how many seconds a step took far longer than most; infinite for few steps."""
        if self.counts.sum() <= ENOUGH:
            return float("inf")
        (median,) = quantiles(self.seconds, self.counts, (0.5,))
        (apart,) = quantiles(np.abs(self.seconds - median), self.counts, (0.5,))
        return longest_usual(median, apart, deviations=DEVIATIONS)

    def outliers(self) -> npt.NDArray[np.bool_]:
        """Return which rows took far longer than most."""
        return self.rows.column("longest_ns").to_numpy() / _NS > self.limit  # type: ignore[no-any-return]

    def phases(self, rows: npt.NDArray[np.bool_] | None = None) -> dict[str, float]:
        """Return the seconds of each phase; of some rows only, if they are given."""
        return {name: _seconds(self.rows, f"{name}_ns", rows) for name in PHASES}


def step_times(profile: Profile) -> Iterator[StepTimes]:
    """Yield the steps of each worker and mode."""
    rows = profile.steps()
    for worker in sorted(pc.unique(rows.column("worker")).to_pylist()):
        of_worker = rows_of(rows, "worker", worker)
        for mode in sorted(pc.unique(of_worker.column("mode")).to_pylist(), reverse=True):
            yield StepTimes(worker, mode, rows_of(of_worker, "mode", mode))


def duration_row(
    times: StepTimes,
) -> tuple[str, str, int, float, float, float, float, float, float]:
    """Return worker, mode, how many steps; mean, max, p99, p95, p50 and min in seconds."""
    p99, p95, p50, low = quantiles(times.seconds, times.counts, (0.99, 0.95, 0.5, 0.0))
    mean, _ = times.mean_and_deviation()
    return (
        times.worker,
        times.mode,
        int(times.counts.sum()),
        mean,
        times.longest,
        p99,
        p95,
        p50,
        low,
    )


def total(parts: list[dict[str, float]]) -> dict[str, float]:
    """Return the sum of several divisions of time, by name."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0.0) for part in parts) for name in names}


def by_mode(times: list[StepTimes]) -> dict[str, float]:
    """Return the seconds in the steps of each mode, and between all steps, over all workers."""
    found: dict[str, float] = {}
    between = 0.0
    for worker in dict.fromkeys(one.worker for one in times):
        rows = pa.concat_tables(one.rows for one in times if one.worker == worker)
        starts = rows.column("start_ns").to_numpy()
        durations = rows.column("duration_ns").to_numpy()
        span = ((starts + durations).max() - starts.min()) / _NS
        between += max(0.0, float(span - durations.sum() / _NS))
    for one in times:
        seconds = float(one.rows.column("duration_ns").to_numpy().sum()) / _NS
        found[one.mode] = found.get(one.mode, 0.0) + seconds
    return {**found, "between steps": between}


def _seconds(rows: pa.Table, column: str, chosen: npt.NDArray[np.bool_] | None) -> float:
    values = rows.column(column).to_numpy()
    return float((values if chosen is None else values[chosen]).sum()) / _NS
