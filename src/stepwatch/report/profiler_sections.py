"""Sections of the profiler report: steps, GPUs, and what makes GPUs wait.

Where a rule judges what a section shows, the section shows the rule's own numbers (its
``details``) and its thresholds, so that both say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ..formats.profile.tables import rows_by
from ..plots import boxes, histogram, shares
from ..plots.downsample import envelope
from ..profile.statistics import BINS, ENOUGH_STEPS, jensen_shannon, quantiles
from ..profile.steps import StepTimes, by_mode, by_name, overlapping, step_times, total
from ..profile.usage import JoinedReadings, Machines, Usage
from ..profile.windows import CORES, GPUS
from ..trial.profile import Profile
from .charts import MOST_MACHINES, POINTS, lines_chart, machine_chart
from .document import Block, Cell, Chart, Table, Text

#: Above this a device counts as well used, percent.
WELL_USED = 70.0
_MOST_LINES = 16
_STEPS = ("worker", "mode", "steps", "mean s", "max s", "p99 s", "p95 s", "p50 s", "min s")
_USAGE = ("machine", "what", "unit", "max", "p99", "p95", "p50", "min")


def time_and_machine(profile: Profile) -> Iterator[Block]:
    """Yield the time of steps and their phases, and the use of machines; nothing if unknown."""
    times = step_times(profile)
    if times:
        yield durations_table(times)
        yield durations_chart(times)
        yield shares_chart(total(one.phases() for one in times), "Where the steps' time went")
    yield from usage_blocks(Machines(profile).usage())
    chart = machine_chart(profile, None, None, title="The machine over the run")
    yield from filter(None, (chart,))


def durations_table(times: Sequence[StepTimes]) -> Table:
    """Return how long steps took."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.worker, one.mode, int(one.counts.sum()), one.mean, float(one.longest.max()),
         *one.quantiles(0.99, 0.95, 0.5, 0.0))
        for one in times
    )  # fmt: skip
    return Table(_STEPS, rows, "Time of a step")


def durations_chart(times: Sequence[StepTimes]) -> Chart:
    """Return how long each step took, a line for each mode, and worker where there are several."""
    several = len({one.worker for one in times}) > 1
    columns = {
        f"{one.mode} {one.worker}" if several else one.mode: envelope(
            one.rows.column("step").to_numpy(), one.seconds * 1000, points=POINTS
        )
        for one in times[:_MOST_LINES]
    }
    return lines_chart(columns, {"title": "Time of each step", "unit": "ms"})


def usage_blocks(used: Sequence[Usage]) -> Iterator[Block]:
    """Yield a sentence for each machine and a table of all; nothing if nothing was read."""
    yield from (Text(sentence) for sentence in verdicts(used))
    if used:
        yield Table(_USAGE, tuple(astuple(one) for one in used), "Use of each machine")


def shares_chart(parts: dict[str, float], title: str, unit: str = "s") -> Chart:
    """Return how a whole is divided."""
    return Chart(shares, {"parts": parts, "title": title, "unit": unit}, narrow=True)


def verdicts(used: Sequence[Usage]) -> Iterator[str]:
    """Yield a sentence for each machine: whether it is used well, and what holds it up.

    Example:
        >>> low = [Usage("here", name, "%", 9, 9, 9, 9, 9) for name in ("GPU", "CPU")]
        >>> list(verdicts(low))
        ['here is under-used: p95 of its GPUs is 9 %, of its CPUs 9 %. A smaller machine would do.']
    """
    for node in dict.fromkeys(one.node for one in used):
        of_node = {one.metric: one for one in used if one.node == node}
        gpu, cpu = of_node.get("GPU"), of_node.get("CPU")
        if cpu is not None or gpu is not None:
            yield f"{node} {_verdict(gpu, cpu)}"


def _verdict(gpu: Usage | None, cpu: Usage | None) -> str:
    of_cpu = f"of its CPUs {cpu.p95:g} %" if cpu else "of its CPUs nothing is known"
    if gpu is None:
        busy = cpu is not None and cpu.p95 >= WELL_USED
        load = "is busy" if busy else "has cores to spare"
        return f"has no GPU that was read, and {load}: p95 {of_cpu}."
    if gpu.p50 > WELL_USED:
        return f"is well used: the median of its GPUs is {gpu.p50:g} %."
    if gpu.p95 < WELL_USED and cpu is not None and cpu.p95 > WELL_USED:
        return f"is held up by its CPUs: p95 of its GPUs is {gpu.p95:g} %, {of_cpu}."
    if gpu.p95 < WELL_USED:
        used = f"p95 of its GPUs is {gpu.p95:g} %, {of_cpu}"
        return f"is under-used: {used}. A smaller machine would do."
    cpu_half = f" and of its CPUs {cpu.p50:g} %" if cpu else ""
    return f"is used in part: the median of its GPUs is {gpu.p50:g} %{cpu_half}."


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
