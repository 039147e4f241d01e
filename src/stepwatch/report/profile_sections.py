"""Where the time of a run went and what its machines did, in short: a part of the run report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from ..plots import shares
from ..plots.downsample import envelope
from ..profile.steps import StepTimes, step_times, total
from ..profile.usage import Machines, Usage
from ..trial.profile import Profile
from .charts import POINTS, lines_chart, machine_chart
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
