"""A profile in a page: where the time of steps goes, and how busy the machines are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.native.text_columns import text_codes
from ..formats.profile.tables import PHASES
from ..trial.profile import Profile

# So many rows of each series are enough for a summary, however long the run was.
_POINTS = 20_000
_MOST_NAMES = 15


@dataclass(frozen=True, slots=True)
class StepTimes:
    """How long the steps of a worker in a mode took.

    Args:
        worker: Who took them.
        mode: For what.
        count: How many there are.
        mean_ms: The mean.
        p50_ms: The median.
        p95_ms: One in twenty took longer.
        max_ms: The longest.
        shares: The share of each phase, by name; they sum to 1.
    """

    worker: str
    mode: str
    count: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class Used:
    """What a device was at over a run."""

    node: str
    device: str
    metric: str
    mean: float
    p95: float
    min: float
    max: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What took time beside phases: layers, pauses, waits for others, loaders, windows."""

    kind: str
    name: str
    worker: str
    count: int
    total_ms: float
    mean_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Summary:
    """A profile in a page."""

    steps: tuple[StepTimes, ...]
    devices: tuple[Used, ...]
    spent: tuple[Spent, ...]
    traces: tuple[str, ...]
    notes: tuple[str, ...]


def summarize(profile: Profile) -> Summary:
    """Return a summary; with empty parts for what was not profiled."""
    return Summary(
        tuple(_steps(profile.steps(points=_POINTS))),
        tuple(_devices(profile.system(points=_POINTS))),
        tuple(_spent(profile.spans(kind="layer|pause|collective|loader|window", points=_POINTS))),
        tuple(profile.traces),
        tuple(profile.notes),
    )


def _steps(table: pa.Table) -> Iterator[StepTimes]:
    for (worker, mode), rows in _groups(table, "worker", "mode"):
        counts = _numbers(rows, "count")
        durations = _numbers(rows, "duration_ns")
        each_ms = np.repeat(durations / counts, counts.astype(np.int64)) / 1e6
        total = durations.sum() or 1.0
        yield StepTimes(
            worker,
            mode,
            int(counts.sum()),
            float(each_ms.mean()),
            float(np.percentile(each_ms, 50)),
            float(np.percentile(each_ms, 95)),
            float(_numbers(rows, "longest_ns").max()) / 1e6,
            {name: float(_numbers(rows, f"{name}_ns").sum() / total) for name in PHASES},
        )


def _devices(table: pa.Table) -> Iterator[Used]:
    for (node, device, metric), rows in _groups(table, "node", "device", "metric"):
        values, counts = _numbers(rows, "value"), _numbers(rows, "count")
        yield Used(
            node,
            device,
            metric,
            float(np.average(values, weights=counts)),
            float(np.percentile(values, 95)),
            float(_numbers(rows, "min").min()),
            float(_numbers(rows, "max").max()),
        )


def _spent(table: pa.Table) -> Iterator[Spent]:
    found = []
    for (kind, name, worker), rows in _groups(table, "kind", "name", "worker"):
        total_ms = float(_numbers(rows, "duration_ns").sum()) / 1e6
        count = int(_numbers(rows, "count").sum())
        longest = float(_numbers(rows, "longest_ns").max()) / 1e6
        found.append(Spent(kind, name, worker, count, total_ms, total_ms / count, longest))
    found.sort(key=lambda one: (one.kind, -one.total_ms))
    told: dict[str, int] = {}
    for one in found:
        told[one.kind] = told.get(one.kind, 0) + 1
        if told[one.kind] <= _MOST_NAMES:
            yield one


def _groups(table: pa.Table, *columns: str) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the rows of each set of texts, in the order of these."""
    if not len(table):
        return
    texts = [text_codes(table.column(name)) for name in columns]
    order = np.lexsort([one.codes for one in texts])
    changes = sum(np.abs(np.diff(one.codes[order])) for one in texts)
    starts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]
    rows = table.take(pa.array(order))
    found = []
    for start, stop in pairwise(starts):
        key = tuple(one.values[one.codes[order[start]]] for one in texts)
        found.append((key, rows.slice(start, stop - start)))
    yield from sorted(found, key=itemgetter(0))


def _numbers(rows: pa.Table, column: str) -> npt.NDArray[np.float64]:
    return np.asarray(rows.column(column).to_numpy(), np.float64)
