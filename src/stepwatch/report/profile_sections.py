"""Where the time of a run went and what its machines did, in short: a part of the run report."""

from __future__ import annotations

from collections.abc import Iterator

from ..plots import lines, shares
from ..plots.downsample import envelope
from ..trial.profile import Profile
from .document import Block, Chart, Table, Text
from .machine import machine_chart
from .step_times import StepTimes, duration_row, step_times, total
from .tensors import POINTS, numbers
from .usage import Machines, Usage, usage, verdicts

_STEPS = ("worker", "mode", "steps", "mean s", "max s", "p99 s", "p95 s", "p50 s", "min s")
_USAGE = ("machine", "what", "unit", "max", "p99", "p95", "p50", "min")


def time_and_machine(profile: Profile) -> Iterator[Block]:
    """Yield the time of steps and their phases, and the use of machines; nothing if unknown."""
    times = [*step_times(profile)]
    if times:
        yield durations_table(times)
        yield durations_chart(times)
        yield shares_chart(total([one.phases() for one in times]), "Where the steps' time went")
    used = usage(Machines(profile))
    yield from (Text(sentence) for sentence in verdicts(used))
    yield from filter(None, (usage_table(used),))
    chart = machine_chart(profile, None, None, title="The machine over the run")
    yield from filter(None, (chart,))


def durations_table(times: list[StepTimes]) -> Table:
    """Return how long steps took."""
    return Table(_STEPS, tuple(duration_row(one) for one in times), "Time of a step")


def durations_chart(times: list[StepTimes]) -> Chart:
    """Return how long each step took, a line for each mode, and worker where there are several."""
    several = len({one.worker for one in times}) > 1
    columns = {
        f"{one.mode} {one.worker}" if several else one.mode: envelope(
            one.rows.column("step").to_numpy(), one.seconds * 1000, points=POINTS
        )
        for one in times[:16]
    }
    said = {"title": "Time of each step", "unit": "ms"}
    return Chart(lines, {**said, "columns": columns}, {**said, "columns": numbers(columns)})


def usage_table(used: list[Usage]) -> Table | None:
    """Return how much of each machine was used; ``None`` if nothing was read."""
    rows = tuple(
        (one.node, one.metric, one.unit, one.max, one.p99, one.p95, one.p50, one.min)
        for one in used
    )
    return Table(_USAGE, rows, "Use of each machine") if rows else None


def shares_chart(parts: dict[str, float], title: str, unit: str = "s") -> Chart:
    """Return how a whole is divided."""
    return Chart(shares, {"parts": parts, "title": title, "unit": unit}, narrow=True)
