"""What a profile shows, as small tables and as a page: step times, busy devices, what ran when.

Functions that return tables take a ``Profile``, of a run or of a job on SageMaker, and give Arrow
tables; ``to_pandas()`` makes frames of them. ``summarize`` is what ``stepwatch profile`` prints,
``operators`` what the traces of detailed windows hold.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.profile.tables import ends_ns, rows_by
from ..model.json_text import parse_json
from ..model.steps import Mode
from ..numerics.columns import numbers, rows_where
from ..trial import Trial
from ..trial.profile import Profile
from .statistics import Ints, quantiles
from .steps import step_times

#: From where to where a device counts as busy, in use, idle; percent.
RANGES = ((90.0, 100.0), (10.0, 90.0), (0.0, 10.0))
_NS_PER_MS = 1e6
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_NUMBERS = ("mean", "min", *_QUANTILES, "max")
_DEVICE = ("node", "device", "metric")
_STRETCH = ("start_ns", "end_ns", "steps")


@dataclass(frozen=True, slots=True)
class JobTimes:
    """When a job began and ended, and its training loop in between.

    Times are nanoseconds since the Unix epoch.

    Args:
        began_ns: When it began.
        ended_ns: When it ended, or until when something is known of it.
        loop_began_ns: When the first step began; ``None`` if none was timed.
        loop_ended_ns: When the last step ended.
    """

    began_ns: int
    ended_ns: int
    loop_began_ns: int | None = None
    loop_ended_ns: int | None = None

    def seconds(self) -> dict[str, float]:
        """Return how long the job took and, if steps were timed, each of its three parts."""
        found = {"job": (self.ended_ns - self.began_ns) / 1e9}
        if self.loop_began_ns is not None and self.loop_ended_ns is not None:
            found["initialization"] = (self.loop_began_ns - self.began_ns) / 1e9
            found["training_loop"] = (self.loop_ended_ns - self.loop_began_ns) / 1e9
            found["finalization"] = (self.ended_ns - self.loop_ended_ns) / 1e9
        return found


def job_times(profile: Profile, trial: Trial | None = None) -> JobTimes | None:
    """Return when a job began and ended; ``None`` if nothing is known of it.

    Args:
        profile: The profile.
        trial: The run that it is of: what its processes noted of their beginning and end counts
            more than the first and the last row of the profile.
    """
    spans, times = profile.spans(), numbers(profile.system().column("time_ns"))
    starts, ends = _starts(spans), ends_ns(spans)
    began = [int(one.min()) for one in (times, starts) if len(one)]
    ended = [int(one.max()) for one in (times, ends) if len(one)]
    if trial is not None:
        started_ns = trial.reader.manifest.started_ns
        noted = [end.ended_ns for end in trial.reader.ends().values() if end.ended_ns]
        began = [started_ns] if started_ns else began or noted
        ended = noted or ended or began
    if not began:
        return None
    steps = np.array(spans.column("kind").to_pylist(), object) == "step"
    if not steps.any():
        return JobTimes(min(began), max(ended))
    loop = int(starts[steps].min()), int(ends[steps].max())
    return JobTimes(min(*began, loop[0]), max(*ended, loop[1]), *loop)


def interval_statistics(
    profile: Profile, kind: str = "step", by: Sequence[str] = ("worker", "mode")
) -> pa.Table:
    """Return how long intervals take.

    Args:
        profile: The profile.
        kind: A regular expression for the whole kind of those that count.
        by: Columns of spans; each set of their texts has a row.

    Returns:
        The columns of ``by``, ``count``, and in milliseconds ``mean_ms``, ``min_ms``, ``p50_ms``,
        ``p95_ms``, ``p99_ms``, ``max_ms``.
    """
    spans = profile.spans(kind=kind)
    rows = []
    for texts, at in rows_by(spans, by):
        counts = numbers(spans.column("count"))[at]
        each_ms = numbers(spans.column("duration_ns"))[at] / counts / _NS_PER_MS
        longest = numbers(spans.column("longest_ns"))[at].max()
        found = _statistics(each_ms, counts, "_ms")
        rows.append({**dict(zip(by, texts, strict=True)), **found, "max_ms": longest / _NS_PER_MS})
    return _table(rows, by, ["count"], [f"{name}_ms" for name in _NUMBERS])


def device_statistics(
    profile: Profile,
    device: str = ".*",
    metric: str = ".*",
    mode: Mode | str | None = None,
) -> pa.Table:
    """Return the numbers of each metric of each device.

    Args:
        profile: The profile.
        device: A regular expression for the whole name of the devices that count.
        metric: A regular expression for the whole name of the metrics that count.
        mode: Only while a step of this mode ran; ``None`` for the whole run.

    Returns:
        ``node``, ``device``, ``metric``, ``count``, ``mean``, ``min``, ``p50``, ``p95``, ``p99``,
        ``max``.
    """
    system = profile.system(device=device, metric=metric)
    if mode is not None:
        times = numbers(system.column("time_ns"))
        system = rows_where(system, _within(profile, Mode(mode), times))
    return _table([*_device_rows(system)], _DEVICE, ["count"], _NUMBERS)


def time_in_ranges(
    profile: Profile,
    device: str = r"cpu\d+|gpu\d+",
    metric: str = "busy_percent",
    ranges: Sequence[tuple[float, float]] = RANGES,
) -> pa.Table:
    """Return for which share of its readings each device was in each range.

    Args:
        profile: The profile.
        device: A regular expression for the whole name of the devices that count.
        metric: A regular expression for the whole name of the metrics that count.
        ranges: From where to where. A value is in the first that holds it, ends included.

    Returns:
        ``node``, ``device``, ``metric``, ``low``, ``high``, ``share`` from 0 to 1.
    """
    system = profile.system(device=device, metric=metric)
    rows = []
    for texts, at in rows_by(system, _DEVICE):
        counts = numbers(system.column("count"))[at]
        left, values = counts.copy(), numbers(system.column("value"))[at]
        for low, high in ranges:
            inside = (values >= low) & (values <= high)
            share = float(left[inside].sum() / counts.sum())
            left[inside] = 0
            rows.append(
                {**dict(zip(_DEVICE, texts, strict=True)), "low": low, "high": high, "share": share}
            )
    return _table(rows, _DEVICE, (), ("low", "high", "share"))


def mode_stretches(profile: Profile) -> pa.Table:
    """Return in which mode a job was when: stretches of steps, what is before, between and after.

    Steps of several workers are taken together.

    Returns:
        ``mode``, which is empty where no step ran, ``start_ns``, ``end_ns``, ``steps``; ascending.
    """
    steps = profile.spans(kind="step")
    starts, ends, modes = (
        _starts(steps),
        ends_ns(steps),
        np.array(steps.column("mode").to_pylist(), object),
    )
    counts = numbers(steps.column("count"))
    times = job_times(profile)
    rows: list[dict[str, object]] = []
    if times is None or not len(starts):
        return _table(rows, ["mode"], _STRETCH, ())
    first = np.flatnonzero(np.r_[True, modes[1:] != modes[:-1]])
    now = times.began_ns
    for begin, stop in zip(first, [*first[1:], len(starts)], strict=True):
        start, end = int(starts[begin]), int(ends[begin:stop].max())
        if start > now:
            rows.append({"mode": "", "start_ns": now, "end_ns": start, "steps": 0})
        number = int(counts[begin:stop].sum())
        rows.append({"mode": modes[begin], "start_ns": start, "end_ns": end, "steps": number})
        now = max(now, end)
    if times.ended_ns > now:
        rows.append({"mode": "", "start_ns": now, "end_ns": times.ended_ns, "steps": 0})
    return _table(rows, ["mode"], _STRETCH, ())


def ran_during(profile: Profile, start_ns: Sequence[int], end_ns: Sequence[int]) -> pa.Table:
    """Return what ran in some stretches of time, such as those in which a GPU was idle.

    Args:
        profile: The profile.
        start_ns: Where each stretch begins; they do not overlap.
        end_ns: Where each ends; the same for a moment.

    Returns:
        ``kind``, ``name``, ``count`` of the intervals that overlap one, and ``overlap_ns``, for
        how long they do; the longest first.
    """
    if not len(start_ns):
        return _table((), ("kind", "name"), ("count", "overlap_ns"), ())
    spans = profile.spans(int(min(start_ns)), int(max(end_ns)) + 1)
    starts, ends = _starts(spans), ends_ns(spans)
    overlaps, overlap = np.zeros(len(spans), bool), np.zeros(len(spans), np.int64)
    for begin, stop in zip(start_ns, end_ns, strict=True):
        overlaps |= (starts <= stop) & (ends >= begin)
        overlap += np.maximum(0, np.minimum(ends, stop) - np.maximum(starts, begin))
    found = [
        (int(overlap[at].sum()), int(overlaps[at].sum()), kind, name)
        for (kind, name), at in rows_by(spans, ("kind", "name"))
        if overlaps[at].any()
    ]
    columns = ("overlap_ns", "count", "kind", "name")
    rows = [dict(zip(columns, row, strict=True)) for row in sorted(found, reverse=True)]
    return _table(rows, ("kind", "name"), ("count", "overlap_ns"), ())


def _statistics(values: npt.NDArray[np.float64], counts: Ints, unit: str = "") -> dict[str, object]:
    """Return the numbers of values that stand for so many each."""
    found = quantiles(values, tuple(_QUANTILES.values()), counts)
    return {
        "count": int(counts.sum()),
        f"mean{unit}": float(np.average(values, weights=counts)),
        f"min{unit}": float(values.min()),
        **{f"{name}{unit}": at for name, at in zip(_QUANTILES, found, strict=True)},
        f"max{unit}": float(values.max()),
    }


def _device_rows(system: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the numbers of each metric of each device, by name."""
    for texts, at in rows_by(system, _DEVICE):
        counts, values, low, high = (
            column[at] for column in _columns(system, "count", "value", "min", "max")
        )
        extremes = {"min": float(low.min()), "max": float(high.max())}
        yield {**dict(zip(_DEVICE, texts, strict=True)), **_statistics(values, counts), **extremes}


def _table(
    rows: Sequence[Mapping[str, object]],
    texts: Sequence[str],
    integers: Sequence[str],
    numbers: Sequence[str],
) -> pa.Table:
    """Return rows as a table that has these columns, also where there is no row."""
    kinds = ((texts, pa.string()), (integers, pa.int64()), (numbers, pa.float64()))
    schema = pa.schema([(name, kind) for names, kind in kinds for name in names])
    return pa.Table.from_pylist(rows, schema)


def _within(profile: Profile, mode: Mode, times: Ints) -> npt.NDArray[np.bool_]:
    """Return at which times a step of a mode ran."""
    steps = profile.steps(mode=mode)
    starts, ends = _starts(steps), ends_ns(steps)
    if not len(starts):
        return np.zeros(len(times), bool)
    last = np.searchsorted(starts, times, "right") - 1
    return (last >= 0) & (times <= np.maximum.accumulate(ends)[last])


def _starts(spans: pa.Table) -> Ints:
    starts: Ints = numbers(spans.column("start_ns"))
    return starts


# So many rows of each series are enough for a summary, however long the run was.
_POINTS = 20_000
_MOST_NAMES = 15


@dataclass(frozen=True, slots=True)
class StepSummary:
    """How long the steps of a worker in a mode took; the shares of its phases sum to 1."""

    worker: str
    mode: str
    count: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float
    shares: dict[str, float]


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """The numbers of one metric of a device over a run."""

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

    steps: tuple[StepSummary, ...]
    devices: tuple[DeviceSummary, ...]
    spent: tuple[Spent, ...]
    traces: tuple[str, ...]
    notes: tuple[str, ...]


def summarize(profile: Profile) -> Summary:
    """Return a summary; with empty parts for what was not profiled."""
    return Summary(
        tuple(_steps(profile)),
        tuple(_devices(profile.system(points=_POINTS))),
        tuple(_spent(profile.spans(kind="layer|pause|collective|loader|window", points=_POINTS))),
        tuple(profile.traces),
        tuple(profile.notes),
    )


def _steps(profile: Profile) -> Iterator[StepSummary]:
    for times in sorted(step_times(profile, _POINTS), key=lambda one: (one.worker, one.mode)):
        p50, p95 = times.quantiles(0.5, 0.95)
        yield StepSummary(
            times.worker,
            times.mode,
            int(times.counts.sum()),
            1e3 * times.mean,
            1e3 * p50,
            1e3 * p95,
            1e3 * float(times.longest.max()),
            times.shares,
        )


def _devices(table: pa.Table) -> Iterator[DeviceSummary]:
    names = [one.name for one in fields(DeviceSummary)]
    for row in _device_rows(table):
        yield DeviceSummary(*(row[name] for name in names))


def _spent(table: pa.Table) -> Iterator[Spent]:
    durations, counts, longest = _columns(table, "duration_ns", "count", "longest_ns")
    found = []
    for (kind, name, worker), at in rows_by(table, ("kind", "name", "worker")):
        total_ms, count = float(durations[at].sum()) / _NS_PER_MS, int(counts[at].sum())
        most_ms = float(longest[at].max()) / _NS_PER_MS
        found.append(Spent(kind, name, worker, count, total_ms, total_ms / count, most_ms))
    num_listed: Counter[str] = Counter()
    for one in sorted(found, key=lambda one: (one.kind, -one.total_ms)):
        num_listed[one.kind] += 1
        if num_listed[one.kind] <= _MOST_NAMES:
            yield one


def _columns(table: pa.Table, *names: str) -> list[Any]:
    return [numbers(table.column(name)) for name in names]


#: Of more traces only the last ones are read.
MOST_TRACES = 8
#: Operators with a smaller share are left out, and what is left is taken as the whole.
LEAST_SHARE = 0.02
_CPU, _GPU = ("cpu_op",), ("kernel", "gpu_memcpy", "gpu_memset")


def operators(trial: Trial) -> tuple[dict[str, float], dict[str, float]]:
    """Return the microseconds of each operator on the CPU, and on GPUs, the costliest first.

    Time within an operator that another one spends is counted for both. A trace that cannot be
    read counts for nothing.
    """
    on_cpu: dict[str, float] = defaultdict(float)
    on_gpu: dict[str, float] = defaultdict(float)
    for key in trial.profile.traces[-MOST_TRACES:]:
        for event in _events(trial, key):
            for found, kinds in ((on_cpu, _CPU), (on_gpu, _GPU)):
                if event.get("cat") in kinds and event.get("ph") == "X":
                    found[str(event.get("name"))] += float(event.get("dur", 0.0))
    return _costly(on_cpu), _costly(on_gpu)


def _events(trial: Trial, key: str) -> list[dict[str, Any]]:
    try:
        data = trial.store.get(key)
        text = gzip.decompress(data) if key.endswith(".gz") else data
        found = parse_json(text)
    except (OSError, EOFError, ValueError, zlib.error):
        return []
    events = found.get("traceEvents", []) if isinstance(found, dict) else found
    return [event for event in events if isinstance(event, dict)]


def _costly(found: dict[str, float]) -> dict[str, float]:
    whole = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return {name: cost for name, cost in ordered if cost >= LEAST_SHARE * whole > 0}
