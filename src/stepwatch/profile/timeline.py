"""One timeline of all workers and machines, as a Chrome trace: for Perfetto and chrome://tracing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ..formats.profile.tables import rows_by
from ..numerics.columns import numbers, rows_at
from ..trial.profile import Profile

#: A GPU that is used less than this is pointed out.
LOW_GPU_PERCENT = 85.0
_NS_PER_US = 1000
#: Perfetto draws more counters than anybody reads.
_METRICS = r".*percent|.*_per_second|memory_bytes|power_watts"


def merged_timeline(
    profile: Profile,
    start_ns: int | None = None,
    end_ns: int | None = None,
    *,
    metrics: str = _METRICS,
    low_gpu_percent: float | None = None,
) -> dict[str, Any]:
    """Return what ran when, and what devices were at, as a Chrome trace.

    Each worker is a process of the trace, with a track for each kind and thread; each machine is
    one of counters. Intervals of a track that overlap are spread over several, which viewers need.

    Args:
        profile: Of a run, or of a job on SageMaker.
        start_ns: Only what ends after it; nanoseconds since the Unix epoch.
        end_ns: Only what begins before.
        metrics: Finds itself in the whole name of those that become counters.
        low_gpu_percent: Mark each moment at which a GPU is used less; ``None`` for no marks.

    Returns:
        Of JSON's types. Times are microseconds since ``otherData.start_ns``.
    """
    spans = profile.spans(start_ns, end_ns)
    system = profile.system(start_ns, end_ns, metric=metrics)
    times = [*numbers(spans.column("start_ns"))[:1], *numbers(system.column("time_ns"))[:1]]
    first = int(min(times, default=0))
    events: list[dict[str, Any]] = []
    number = 0
    for number, ((worker,), at) in enumerate(rows_by(spans, ["worker"]), 1):
        events += _named(number, worker)
        events += _intervals(number, rows_at(spans, at), first)
    for process, ((node,), at) in enumerate(rows_by(system, ["node"]), number + 1):
        events += _named(process, node)
        events += _counters(process, rows_at(system, at), first, low_gpu_percent)
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"start_ns": first}}


def write_timeline(path: str, timeline: dict[str, Any]) -> None:
    """Write a timeline, compressed if the name ends in ``.gz``; viewers open both."""
    data = json.dumps(timeline).encode()
    with open(path, "wb") as file:
        file.write(gzip.compress(data) if path.endswith(".gz") else data)


def _named(process: int, name: str) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}


def _intervals(process: int, spans: pa.Table, first: int) -> Iterator[dict[str, Any]]:
    """Yield the intervals of a worker, on tracks on which none overlaps another but within it."""
    track = 0
    for (kind, thread), at in rows_by(spans, ["kind", "thread"]):
        lanes: list[list[int]] = []
        begun = track
        order = np.lexsort(
            (-numbers(spans.column("longest_ns"))[at], numbers(spans.column("start_ns"))[at])
        )
        for row in rows_at(spans, at[order]).to_pylist():
            start, end = row["start_ns"], row["start_ns"] + row["longest_ns"]
            lane = _lane(lanes, start, end)
            track = begun + len(lanes)
            step = {} if row["step"] < 0 else {"step": row["step"], "mode": row["mode"]}
            joined = {"joined": row["count"]} if row["count"] > 1 else {}
            yield {
                "ph": "X",
                "pid": process,
                "tid": begun + lane + 1,
                "name": row["name"],
                "cat": kind,
                "ts": (start - first) / _NS_PER_US,
                "dur": row["longest_ns"] / _NS_PER_US,
                "args": {**step, **joined},
            }
        for lane in range(len(lanes)):
            more = f" ({lane + 1})" if lane else ""
            named = {"name": f"{kind}: {thread}{more}"}
            thread_id = begun + lane + 1
            yield {
                "ph": "M",
                "pid": process,
                "tid": thread_id,
                "name": "thread_name",
                "args": named,
            }


def _lane(lanes: list[list[int]], start: int, end: int) -> int:
    """Return the first lane on which an interval lies beside all others or within one."""
    for number, ends in enumerate(lanes):
        while ends and ends[-1] <= start:
            ends.pop()
        if not ends or end <= ends[-1]:
            ends.append(end)
            return number
    lanes.append([end])
    return len(lanes) - 1


def _counters(
    process: int, system: pa.Table, first: int, low_gpu_percent: float | None
) -> Iterator[dict[str, Any]]:
    for (device, metric), at in rows_by(system, ["device", "metric"]):
        is_low = metric == "busy_percent" and device.startswith("gpu")
        rows = rows_at(system, at).select(["time_ns", "value"]).to_pylist()
        for row in rows:
            when = {"pid": process, "ts": (row["time_ns"] - first) / _NS_PER_US}
            yield {"ph": "C", "name": f"{device} {metric}", "args": {metric: row["value"]}, **when}
            if is_low and low_gpu_percent is not None and row["value"] < low_gpu_percent:
                yield {"ph": "i", "name": f"{device} is used little", "s": "p", **when}
