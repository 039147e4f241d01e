"""What a profile tells, as small tables: how long steps take, how busy devices are, what ran when.

All take a ``Profile``, of a run or of a job on SageMaker, and give Arrow tables; ``to_pandas()``
makes frames of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.profile.groups import rows_by
from ..steps import Mode
from ..trial.profile import Profile

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: From where to where a device counts as busy, in use, idle; percent.
RANGES = ((90.0, 100.0), (10.0, 90.0), (0.0, 10.0))
_NS_PER_MS = 1e6
_QUANTILES = {"p50": 50, "p95": 95, "p99": 99}
_NUMBERS = ("mean", "min", *_QUANTILES, "max")
_STRETCH = ("start_ns", "end_ns", "steps")


@dataclass(frozen=True, slots=True)
class JobTimes:
    """When a job began and ended, and its training loop in between.

    Times are nanoseconds since the Unix epoch.

    Args:
        began_ns: When the first row of the profile begins.
        ended_ns: When its last row ends.
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


def job_times(profile: Profile) -> JobTimes | None:
    """Return when a job began and ended; ``None`` for an empty profile."""
    spans, times = profile.spans(), profile.system().column("time_ns").to_numpy()
    starts, ends = _starts(spans), _ends(spans)
    if not len(times) + len(starts):
        return None
    steps = np.array(spans.column("kind").to_pylist(), object) == "step"
    loop = (int(starts[steps].min()), int(ends[steps].max())) if steps.any() else (None, None)
    began, ended = np.r_[times, starts].min(), np.r_[times, ends].max()
    return JobTimes(int(began), int(ended), *loop)


def interval_statistics(
    profile: Profile, kind: str = "step", by: Sequence[str] = ("worker", "mode")
) -> pa.Table:
    """Return how long intervals take.

    Args:
        profile: The profile.
        kind: Finds itself in the whole kind of those that count.
        by: Columns of spans; each set of their texts has a row.

    Returns:
        The columns of ``by``, ``count``, and in milliseconds ``mean_ms``, ``min_ms``, ``p50_ms``,
        ``p95_ms``, ``p99_ms``, ``max_ms``.
    """
    spans = profile.spans(kind=kind)
    rows = []
    for texts, at in rows_by(spans, by):
        counts = spans.column("count").to_numpy()[at]
        each = np.repeat(spans.column("duration_ns").to_numpy()[at] / counts, counts)
        longest = spans.column("longest_ns").to_numpy()[at].max()
        found = _statistics(each / _NS_PER_MS, "_ms")
        rows.append({**dict(zip(by, texts, strict=True)), **found, "max_ms": longest / _NS_PER_MS})
    return _table(rows, by, ["count"], [f"{name}_ms" for name in _NUMBERS])


def device_statistics(
    profile: Profile,
    device: str = ".*",
    metric: str = ".*",
    mode: Mode | str | None = None,
) -> pa.Table:
    """Return what devices were at.

    Args:
        profile: The profile.
        device: Finds itself in the whole name of those that count.
        metric: Finds itself in the whole name of those that count.
        mode: Only while a step of this mode ran; ``None`` for the whole run.

    Returns:
        ``node``, ``device``, ``metric``, ``count``, ``mean``, ``min``, ``p50``, ``p95``, ``p99``,
        ``max``.
    """
    system = profile.system(device=device, metric=metric)
    if mode is not None:
        system = system.filter(pa.array(_within(profile, Mode(mode), _times(system))))
    by, rows = ("node", "device", "metric"), []
    for texts, at in rows_by(system, by):
        counts = system.column("count").to_numpy()[at]
        found = _statistics(np.repeat(system.column("value").to_numpy()[at], counts), "")
        found |= {
            name: getattr(np, name)(system.column(name).to_numpy()[at]) for name in ("min", "max")
        }
        rows.append({**dict(zip(by, texts, strict=True)), **found})
    return _table(rows, by, ["count"], _NUMBERS)


def time_in_ranges(
    profile: Profile,
    device: str = r"cpu\d+|gpu\d+",
    metric: str = "busy_percent",
    ranges: Sequence[tuple[float, float]] = RANGES,
) -> pa.Table:
    """Return for which share of its readings each device was in each range.

    Args:
        profile: The profile.
        device: Finds itself in the whole name of those that count.
        metric: Finds itself in the whole name of those that count.
        ranges: From where to where. A value is in the first that holds it, ends included.

    Returns:
        ``node``, ``device``, ``metric``, ``low``, ``high``, ``share`` from 0 to 1.
    """
    system = profile.system(device=device, metric=metric)
    by, rows = ("node", "device", "metric"), []
    for texts, at in rows_by(system, by):
        counts = system.column("count").to_numpy()[at]
        left, values = counts.copy(), system.column("value").to_numpy()[at]
        for low, high in ranges:
            inside = (values >= low) & (values <= high)
            share = float(left[inside].sum() / counts.sum())
            left[inside] = 0
            rows.append(
                {**dict(zip(by, texts, strict=True)), "low": low, "high": high, "share": share}
            )
    return _table(rows, by, (), ("low", "high", "share"))


def mode_stretches(profile: Profile) -> pa.Table:
    """Return in which mode a job was when: stretches of steps, what is before, between and after.

    Steps of several workers are taken together.

    Returns:
        ``mode``, which is empty where no step ran, ``start_ns``, ``end_ns``, ``steps``; ascending.
    """
    steps = profile.spans(kind="step")
    starts, ends, modes = (
        _starts(steps),
        _ends(steps),
        np.array(steps.column("mode").to_pylist(), object),
    )
    counts = steps.column("count").to_numpy()
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
        ``kind``, ``name``, ``count`` of the intervals that met one, and ``overlap_ns``, how long
        they ran within them; the longest first.
    """
    if not len(start_ns):
        return _table((), ("kind", "name"), ("count", "overlap_ns"), ())
    spans = profile.spans(int(min(start_ns)), int(max(end_ns)) + 1)
    starts, ends = _starts(spans), _ends(spans)
    met, overlap = np.zeros(len(spans), bool), np.zeros(len(spans), np.int64)
    for begin, stop in zip(start_ns, end_ns, strict=True):
        met |= (starts <= stop) & (ends >= begin)
        overlap += np.maximum(0, np.minimum(ends, stop) - np.maximum(starts, begin))
    found = [
        (int(overlap[at].sum()), int(met[at].sum()), kind, name)
        for (kind, name), at in rows_by(spans, ("kind", "name"))
        if met[at].any()
    ]
    columns = ("overlap_ns", "count", "kind", "name")
    rows = [dict(zip(columns, row, strict=True)) for row in sorted(found, reverse=True)]
    return _table(rows, ("kind", "name"), ("count", "overlap_ns"), ())


def _statistics(values: Floats, unit: str) -> dict[str, object]:
    quantiles = np.percentile(values, list(_QUANTILES.values())).tolist()
    return {
        "count": len(values),
        f"mean{unit}": float(values.mean()),
        f"min{unit}": float(values.min()),
        **{f"{name}{unit}": at for name, at in zip(_QUANTILES, quantiles, strict=True)},
        f"max{unit}": float(values.max()),
    }


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
    starts, ends = _starts(steps), _ends(steps)
    if not len(starts):
        return np.zeros(len(times), bool)
    last = np.searchsorted(starts, times, "right") - 1
    return (last >= 0) & (times <= np.maximum.accumulate(ends)[last])


def _times(system: pa.Table) -> Ints:
    times: Ints = system.column("time_ns").to_numpy()
    return times


def _starts(spans: pa.Table) -> Ints:
    starts: Ints = spans.column("start_ns").to_numpy()
    return starts


def _ends(spans: pa.Table) -> Ints:
    """Return when each interval ended; of several that were joined, when the first did at most."""
    ends: Ints = _starts(spans) + spans.column("longest_ns").to_numpy()
    return ends
