"""What makes GPUs wait, in the profiler report: loading data, busy cores, I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..plots import histogram
from ..trial.profile import Profile
from .document import Block, Chart, Table, Text
from .machine import MOST_MACHINES, quantiles
from .profile_sections import shares_chart
from .step_times import step_times, total
from .usage import Machines, Readings

#: Below this a GPU waits; above these a core is busy, or waits for I/O. Percent.
IDLE, BUSY, WAITING = 10.0, 90.0, 50.0
_TICK_NS = 100_000_000
_BINS = 100
_WORDS = {"cpu": "busy core", "io": "I/O wait"}


def loading(profile: Profile) -> Iterator[Block]:
    """Yield how many processes load data, how long a batch takes, and what steps wait for it."""
    times = [*step_times(profile)]
    phases = total([one.phases() for one in times])
    if sum(phases.values()):
        share = phases["data"] / sum(phases.values())
        yield Text(f"Steps wait for data during {share:.1%} of their time.")
    spans = profile.spans(kind="loader")
    if not len(spans):
        yield Text("No process that loads data was seen: the training process does that itself.")
        return
    yield _loaders(profile, spans)
    yield _load_times(spans)


def _loaders(profile: Profile, spans: pa.Table) -> Table:
    """Return how many processes load data for each worker, beside the cores that there are."""
    cores = [machine.cores for machine in profile.machines.values() if machine.cores]
    rows = []
    for worker in sorted(set(spans.column("worker").to_pylist())):
        of_worker = [one == worker for one in spans.column("worker").to_pylist()]
        threads = set(spans.filter(pa.array(of_worker)).column("thread").to_pylist())
        rows.append((worker, len(threads), cores[0] if cores else None))
    return Table(("worker", "processes that load", "cores of a machine"), tuple(rows))


def _load_times(spans: pa.Table) -> Chart:
    counts = spans.column("count").to_numpy()
    ms = spans.column("duration_ns").to_numpy() / counts / 1e6
    p25, p50, p95, high = quantiles(ms, counts, (0.25, 0.5, 0.95, 0.99))
    edges = np.linspace(0, max(high, 1e-3), _BINS + 1)
    heights = np.histogram(np.minimum(ms, edges[-1]), edges, weights=counts)[0].tolist()
    said = {"edges": edges.tolist(), "counts": {"batches": heights}, "unit": "ms"}
    lines = {"p25": p25, "p50": p50, "p95": p95}
    return Chart(histogram, {**said, "title": "How long a batch takes to load", "lines": lines})


def bottlenecks(
    profile: Profile, machines: Machines, kind: Literal["cpu", "io"]
) -> Iterator[Block]:
    """Yield how often GPUs wait while a core is busy or waits for I/O, and on what steps spend it.

    Args:
        profile: Of the run.
        machines: What was read.
        kind: ``cpu`` or ``io``.
    """
    metric, limit = ("busy_percent", BUSY) if kind == "cpu" else ("iowait_percent", WAITING)
    for node in machines.nodes[:MOST_MACHINES]:
        cores = _extreme(machines.devices(node, r"cpu\d+", metric), np.fmax)
        gpus = _extreme(machines.devices(node, r"gpu\d+", "busy_percent"), np.fmin)
        if not cores:
            yield Text(f"{node}: nothing is known of its cores.", "note")
        elif not gpus:
            share = float(np.mean(np.array([*cores.values()]) > limit))
            seen = f"{_WORDS[kind]} was seen at {share:.0%} of all moments"
            yield Text(f"{node} has no GPU that was read; {seen}.")
        else:
            yield from _compared(profile, node, cores, gpus, limit, _WORDS[kind])


def _compared(
    profile: Profile,
    node: str,
    cores: dict[int, float],
    gpus: dict[int, float],
    limit: float,
    why: str,
) -> Iterator[Block]:
    both = sorted(cores.keys() & gpus.keys())
    idle = np.array([gpus[tick] < IDLE for tick in both], bool)
    held_up = idle & np.array([cores[tick] > limit for tick in both], bool)
    count = max(1, len(both))
    waits, blamed = idle.sum() / count, held_up.sum() / count
    yield Text(
        f"{node}: of {len(both):,} moments a GPU waits at {waits:.0%}, {blamed:.0%} with {why}."
    )
    parts = {
        "GPUs at work": float((~idle).sum()),
        f"a GPU waits: {why}": float(held_up.sum()),
        "a GPU waits: other": float((idle & ~held_up).sum()),
    }
    yield shares_chart(parts, f"Moments of {node}", "moments")
    spent = _spent(profile, np.array(both, np.int64)[held_up] * _TICK_NS)
    if spent:
        yield shares_chart(spent, "What steps did at these moments", "moments")


def _extreme(devices: dict[str, Readings], extreme: np.ufunc) -> dict[int, float]:
    """Return of each moment the extreme over all devices."""
    found: dict[int, float] = {}
    for readings in devices.values():
        ticks = (readings.times // _TICK_NS).tolist()
        for tick, value in zip(ticks, readings.values.tolist(), strict=True):
            found[tick] = float(extreme(found.get(tick, value), value))
    return found


def _spent(profile: Profile, moments: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return at how many moments which phase ran."""
    if not len(moments):
        return {}
    spans = profile.spans(kind="phase")
    starts = spans.column("start_ns").to_numpy()
    place = np.searchsorted(starts, moments, "right") - 1
    names = spans.column("name").to_pylist()
    found: dict[str, float] = {}
    for at in place[place >= 0].tolist():
        found[names[at]] = found.get(names[at], 0.0) + 1.0
    return found
