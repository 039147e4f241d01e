"""Steps in the profiler report: on what they spent their time, and which took far longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..plots import histogram
from ..trial.profile import Profile
from .document import Block, Chart, Table, Text
from .machine import rows_of
from .profile_sections import durations_table, shares_chart
from .step_times import StepTimes, by_mode, step_times, total

_NS = 1_000_000_000
_BINS = 100
#: A phase with more than this of the time of both is pointed out; and what lies between steps.
LOPSIDED, MUCH_BETWEEN = 0.7, 0.25


def by_phase(profile: Profile) -> Iterator[Block]:
    """Yield how time is divided: by mode, forward and backward, by phase, and in collectives."""
    times = [*step_times(profile)]
    if not times:
        yield Text("No step was timed.", "note")
        return
    modes, phases = by_mode(times), total([one.phases() for one in times])
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
    for kind, title in (
        ("collective", "Collectives"),
        ("pause", "Pauses"),
    ):
        found = _by_name(profile.spans(kind=kind))
        if found:
            yield shares_chart(found, title)


def step_durations(times: list[StepTimes], profile: Profile) -> Iterator[Block]:
    """Yield how long steps took, how many are outliers, and what these spent their time on."""
    if not times:
        yield Text("No step was timed.", "note")
        return
    yield durations_table(times)
    yield _outliers_table(times)
    yield from (
        _durations_histogram(times, mode) for mode in dict.fromkeys(one.mode for one in times)
    )
    slow = [(one, one.outliers()) for one in times]
    if any(rows.any() for _, rows in slow):
        yield Text("The slow steps spent their time like this, beside the others:")
        yield shares_chart(total([one.phases(rows) for one, rows in slow]), "Slow steps")
        yield shares_chart(total([one.phases(~rows) for one, rows in slow]), "All other steps")
        found = _met(profile, slow)
        if found:
            yield shares_chart(found, "What else ran during slow steps")


def _outliers_table(times: list[StepTimes]) -> Table:
    rows = []
    for one in times:
        _, deviation = one.mean_and_deviation()
        slow = int(one.counts[one.outliers()].sum())
        limit = one.limit if np.isfinite(one.limit) else None
        rows.append((one.worker, one.mode, slow, limit, deviation))
    columns = ("worker", "mode", "slow steps", "slow above, s", "standard deviation, s")
    return Table(columns, tuple(rows), "Steps that took far longer")


def _durations_histogram(times: list[StepTimes], mode: str) -> Chart:
    """Return how long the steps of a mode took that are no outliers, a colour for each worker."""
    of_mode = [one for one in times if one.mode == mode]
    usual = {
        one.worker: (one.seconds[~one.outliers()] * 1000, one.counts[~one.outliers()])
        for one in of_mode
    }
    highest = max((float(values.max(initial=0)) for values, _ in usual.values()), default=0.0)
    lowest = min((float(values.min()) for values, _ in usual.values() if len(values)), default=0.0)
    edges = np.linspace(lowest, highest if highest > lowest else lowest + 1, _BINS + 1)
    counts = {
        worker: np.histogram(values, edges, weights=weights)[0].tolist()
        for worker, (values, weights) in usual.items()
    }
    said = {"edges": edges.tolist(), "counts": counts, "unit": "ms"}
    return Chart(
        histogram,
        {**said, "title": f"How long {mode} steps take", "about": "without the slow ones"},
    )


def _met(profile: Profile, slow: list[tuple[StepTimes, npt.NDArray[np.bool_]]]) -> dict[str, float]:
    """Return what else ran while slow steps did, in seconds."""
    found: list[dict[str, float]] = []
    for times, rows in slow:
        spans = profile.spans(worker=times.worker, kind="pause|collective|loader|window")
        starts = spans.column("start_ns").to_numpy()
        ends = starts + spans.column("longest_ns").to_numpy()
        begins = times.rows.column("start_ns").to_numpy()[rows]
        stops = begins + times.rows.column("longest_ns").to_numpy()[rows]
        met = np.zeros(len(spans), bool)
        for begin, stop in zip(begins, stops, strict=True):
            met |= (starts < stop) & (ends > begin)
        found.append(_by_name(spans.filter(pa.array(met))))
    return total(found)


def _by_name(spans: pa.Table) -> dict[str, float]:
    names = pc.unique(spans.column("name")).to_pylist()
    return {
        name: float(rows_of(spans, "name", name).column("duration_ns").to_numpy().sum()) / _NS
        for name in names
    }
