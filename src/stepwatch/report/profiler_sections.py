"""Sections of the profiler report: steps, GPUs, and what makes GPUs wait.

Where a rule judges what a section shows, the section shows the rule's own numbers (its
``details``) and its thresholds, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ..formats.profile.tables import rows_by
from ..plots import boxes, histogram
from ..profile.statistics import BINS, ENOUGH_STEPS, jensen_shannon, quantiles
from ..profile.steps import StepTimes, by_mode, by_name, overlapping, step_times, total
from ..profile.usage import JoinedReadings, Machines
from ..profile.windows import CORES, GPUS
from ..trial.profile import Profile
from .charts import MOST_MACHINES
from .document import Block, Cell, Chart, Table, Text
from .profile_sections import durations_table, shares_chart

#: What a rule says of its judgement, see ``Rule.details``; empty where it was not asked to judge.
Details = Mapping[str, Any]

_NO_GPU = "No GPU was read."
_NO_STEP = "No step was timed."
#: A GPU whose p95 and p5 differ by more percent is called fluctuating.
FLUCTUATING = 50.0
#: A phase with more than this of the time of both is pointed out; and what lies between steps.
LOPSIDED, MUCH_BETWEEN = 0.7, 0.25
_DURATION_BINS = 100


def gpu_usage(machines: Machines, metric: str, title: str) -> Iterator[Block]:
    """Yield a table of a metric of all GPUs, and a box for each of the first machines'."""
    found = {node: machines.devices(node, GPUS, metric) for node in machines.nodes}
    rows = tuple(
        _gpu_row(node, name, readings)
        for node, gpus in found.items()
        for name, readings in gpus.items()
    )
    if not rows:
        yield Text(_NO_GPU, "note")
        return
    yield Table(("machine", "GPU", "max %", "p95 %", "p5 %", ""), rows, title)
    yield from _boxes(found, title)


def _gpu_row(node: str, name: str, readings: JoinedReadings) -> tuple[Cell, ...]:
    p95, p5 = readings.quantiles(0.95, 0.05)
    swings = "fluctuating" if p95 - p5 > FLUCTUATING else ""
    note = swings if readings.highest else "not used"
    return node, name, round(readings.highest, 1), round(p95, 1), round(p5, 1), note


def _boxes(found: Mapping[str, Mapping[str, JoinedReadings]], title: str) -> Iterator[Chart]:
    """Yield a chart for each of the first machines that have a device."""
    about = "whiskers: smallest and largest within 1.5 times the box"
    for node, devices in [one for one in found.items() if one[1]][:MOST_MACHINES]:
        values = {name: readings.box() for name, readings in devices.items()}
        options = {"values": values, "title": f"{title} of {node}", "about": about, "unit": "%"}
        yield Chart(boxes, options)


def balance(machines: Machines, details: Details, threshold: float) -> Iterator[Block]:
    """Yield how evenly the GPUs of each machine are used, by ``load_balancing``.

    Args:
        machines: What was read.
        details: A histogram of each GPU, as ``machine/gpu``.
        threshold: Above this distance two GPUs are used differently.
    """
    found: dict[str, dict[str, list[int]]] = {}
    for name, counts in details.items():
        node, _, gpu = name.rpartition("/")
        found.setdefault(node, {})[gpu] = counts
    if not any(machines.devices(node, GPUS, "busy_percent") for node in machines.nodes):
        yield Text(_NO_GPU, "note")
    elif all(len(gpus) < 2 for gpus in found.values()):
        yield Text("No machine has several GPUs, so there is nothing to balance within one.")
    rows = [
        (node, one, other, round(jensen_shannon(*map(np.array, (gpus[one], gpus[other]))), 2))
        for node, gpus in found.items()
        for one, other in combinations(gpus, 2)
    ]
    apart = tuple(sorted((row for row in rows if row[-1] > threshold), key=lambda row: -row[-1]))
    if apart:
        columns = ("machine", "GPU", "other GPU", "distance")
        yield Table(columns, apart, "GPUs that are used differently: 0 is alike, 0.83 not at all")
    for node, gpus in [*found.items()][:MOST_MACHINES]:
        options = {"edges": BINS.tolist(), "counts": gpus, "unit": "% busy"}
        yield Chart(histogram, {**options, "title": f"Use of the GPUs of {node}"})


def batch_size(machines: Machines) -> Iterator[Block]:
    """Yield what a larger batch could still use, on each machine."""
    found: dict[str, dict[str, JoinedReadings]] = {}
    for node in machines.nodes:
        cpu = machines.together(node, r"cpu\d*", "busy_percent")
        memory = machines.devices(node, GPUS, "memory_percent")
        found[node] = {
            **({"CPU": cpu} if cpu else {}),
            **machines.devices(node, GPUS, "busy_percent"),
            **{f"{name} memory": readings for name, readings in memory.items()},
        }
    if not any(found.values()):
        yield Text("No device was read.", "note")
    yield from _boxes(found, "Use")


def by_phase(profile: Profile) -> Iterator[Block]:
    """Yield how time is divided: by mode, forward and backward, by phase, and in collectives."""
    times = step_times(profile)
    if not times:
        yield Text(_NO_STEP, "note")
        return
    modes, phases = by_mode(times), total(one.phases() for one in times)
    between = modes["between steps"] / max(sum(modes.values()), 1e-9)
    if between > MUCH_BETWEEN:
        yield Text(f"{between:.0%} of the time of the loop lies between steps.", "warning")
    both = {name: phases[name] for name in ("forward", "backward")}
    for name, seconds in both.items():
        share = seconds / max(sum(both.values()), 1e-9)
        if share > LOPSIDED:
            yield Text(f"{name} takes {share:.0%} of the time of forward and backward.", "warning")
    yield shares_chart(modes, "Steps by mode")
    if sum(both.values()):
        yield shares_chart(both, "Forward and backward")
    yield shares_chart(phases, "All phases")
    for kind, title in (("collective", "Collectives"), ("pause", "Pauses")):
        if found := by_name(profile.spans(kind=kind)):
            yield shares_chart(found, title)


def step_durations(profile: Profile, details: Details) -> Iterator[Block]:
    """Yield how long steps took, which are far longer than most, and on what these spent it.

    Args:
        profile: The profile of the run.
        details: What ``step_outlier`` says of each ``worker MODE``: above its limit a step is slow.
    """
    times = step_times(profile)
    if not times:
        yield Text(_NO_STEP, "note")
        return
    limits = [_limit(details, one) for one in times]
    slow = [one.longest > limit for one, limit in zip(times, limits, strict=True)]
    yield durations_table(times)
    rows = tuple(
        (one.worker, one.mode, int(one.counts[rows].sum()),
         limit if np.isfinite(limit) else None, one.deviation)
        for one, limit, rows in zip(times, limits, slow, strict=True)
    )  # fmt: skip
    columns = ("worker", "mode", "slow steps", "slow above, s", "standard deviation, s")
    yield Table(columns, rows, "Steps that took far longer")
    for mode in dict.fromkeys(one.mode for one in times):
        usual = {
            one.worker: (1000 * one.seconds[~rows], one.counts[~rows])
            for one, rows in zip(times, slow, strict=True)
            if one.mode == mode
        }
        yield _durations_histogram(usual, mode)
    pairs = [*zip(times, slow, strict=True)]
    if any(rows.any() for rows in slow):
        yield Text("The slow steps spent their time like this, beside the others:")
        yield shares_chart(total(one.phases(rows) for one, rows in pairs), "Slow steps")
        yield shares_chart(total(one.phases(~rows) for one, rows in pairs), "All other steps")
        found = total(overlapping(profile, one, rows) for one, rows in pairs)
        if found:
            yield shares_chart(found, "What else ran during slow steps")


def _limit(details: Details, times: StepTimes) -> float:
    """Return above how many seconds a step is slow; infinite where the rule saw too few."""
    of_kind = details.get(f"{times.worker} {times.mode}", {})
    return float(of_kind["limit"]) if of_kind.get("steps", 0) > ENOUGH_STEPS else float("inf")


def _durations_histogram(usual: Mapping[str, tuple[Any, Any]], mode: str) -> Chart:
    """Return how long the steps of a mode took that are not slow, a colour for each worker."""
    known = [values for values, _ in usual.values() if len(values)]
    lowest = min((float(values.min()) for values in known), default=0.0)
    highest = max((float(values.max()) for values in known), default=0.0)
    edges = np.linspace(lowest, highest if highest > lowest else lowest + 1, _DURATION_BINS + 1)
    counts = {
        worker: np.histogram(values, edges, weights=weights)[0].tolist()
        for worker, (values, weights) in usual.items()
    }
    options = {"edges": edges.tolist(), "counts": counts, "unit": "ms"}
    title = {"title": f"How long {mode} steps take", "about": "without the slow ones"}
    return Chart(histogram, {**options, **title})


def loading(profile: Profile, details: Details) -> Iterator[Block]:
    """Yield how many processes load data, how long a batch takes, and what steps wait for it.

    Args:
        profile: The profile of the run.
        details: What ``dataloader`` counted.
    """
    phases = total(one.phases() for one in step_times(profile))
    if sum(phases.values()):
        share = phases["data"] / sum(phases.values())
        yield Text(f"Steps wait for data during {share:.1%} of their time.")
    spans = profile.spans(kind="loader")
    if not len(spans):
        yield Text("No process that loads data was seen: the training process does that itself.")
        return
    cores = max(details.get("cores", {}).values(), default=None)
    at_once = details.get("processes", {})
    rows = tuple(
        (worker, len(set(spans.take(pa.array(at)).column("thread").to_pylist())),
         at_once.get(worker), cores)
        for (worker,), at in rows_by(spans, ("worker",))
    )  # fmt: skip
    columns = ("worker", "processes that load", "in a median second", "cores of a machine")
    yield Table(columns, rows)
    yield _load_times(spans)


def _load_times(spans: pa.Table) -> Chart:
    counts = spans.column("count").to_numpy()
    ms = spans.column("duration_ns").to_numpy() / counts / 1e6
    p25, p50, p95, high = quantiles(ms, (0.25, 0.5, 0.95, 0.99), counts)
    edges = np.linspace(0, max(high, 1e-3), _DURATION_BINS + 1)
    heights = np.histogram(np.minimum(ms, edges[-1]), edges, weights=counts)[0].tolist()
    options = {"edges": edges.tolist(), "counts": {"batches": heights}, "unit": "ms"}
    lines = {"p25": p25, "p50": p50, "p95": p95}
    return Chart(histogram, {**options, "title": "How long a batch takes to load", "lines": lines})


def bottlenecks(machines: Machines, details: Details, reason: str) -> Iterator[Block]:
    """Yield how often GPUs wait for something else, and on what steps spend these moments.

    Args:
        machines: What was read.
        details: What ``cpu_bottleneck`` or ``io_bottleneck`` counted on each machine.
        reason: What the rule looks for, such as ``busy core``.
    """
    for node in machines.nodes[:MOST_MACHINES]:
        counted = details.get(node)
        if counted is None:
            if not machines.devices(node, CORES, "busy_percent"):
                yield Text(f"{node}: nothing is known of its cores.", "note")
            continue
        moments, idle, waits = (counted[name] for name in ("moments", "low", "met"))
        share = waits / max(1, moments)
        if not machines.devices(node, GPUS, "busy_percent"):
            observed = f"{reason} was seen at {share:.0%} of all moments"
            yield Text(f"{node} has no GPU that was read; {observed}.")
            continue
        waiting = f"a GPU waits at {idle / max(1, moments):.0%}, {share:.0%} with {reason}"
        yield Text(f"{node}: of {moments:,} moments {waiting}.")
        parts = {
            "GPUs at work": float(moments - idle),
            f"a GPU waits: {reason}": float(waits),
            "a GPU waits: other": float(idle - waits),
        }
        yield shares_chart(parts, f"Moments of {node}", "moments")
        if counted["phases"]:
            yield shares_chart(counted["phases"], "What steps did at these moments", "moments")
