"""Small profiles in the layout of SageMaker, as its platform and smdebug write them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

#: 2020-06-03 05:04:00, in seconds since the Unix epoch.
MINUTE_S = 1591160640
START_US = MINUTE_S * 1_000_000
HOUR = "2020060305"


def reading(kind: str, name: str, dimension: str, value: float, after_s: float = 0.0) -> str:
    """Return a line of a file of readings."""
    row = {"Type": kind, "Name": name, "Dimension": dimension, "Value": value,
           "NodeId": "algo-1", "Timestamp": MINUTE_S + after_s}  # fmt: skip
    return json.dumps(row)


def system_key(minute: int = 0, node: str = "algo-1") -> str:
    """Return the key of the readings of a minute."""
    return f"system/incremental/{HOUR}/{MINUTE_S + 60 * minute}.{node}.json"


def trace(
    phases: Mapping[str, Sequence[Mapping[str, Any]]], *, closed: bool = True, lead: str = ""
) -> bytes:
    """Return a trace with these events, in microseconds since the start of the minute."""
    rows: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 0,
         "args": {"start_time_since_epoch_in_micros": START_US}},
        {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
    ]  # fmt: skip
    for number, (phase, events) in enumerate(phases.items(), 1):
        rows.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": phase}})
        rows += [{"pid": number, "ph": "X", **event} for event in events]
    body = ",\n".join(json.dumps(row) for row in rows)
    return f"{lead}[\n{body}{chr(10) + ']' if closed else ','}".encode()


def step(number: int, ts: int, dur: int, mode: str = "TRAIN") -> dict[str, Any]:
    """Return a step as smdebug's hook on PyTorch writes it."""
    args = {"pid": 88, "step_num": str(number)}
    return {"name": f"Step:ModeKeys.{mode}", "ts": ts, "dur": dur, "args": args}


def timeline_key(end_us: int, suffix: str = "pythontimeline.json", node: str = "88-algo-1") -> str:
    """Return the key of a file of intervals that ended so many microseconds after the start."""
    return f"framework/pevents/{HOUR}/{START_US + end_us}_{node}_{suffix}"


def open_key(suffix: str = "pythontimeline.json", node: str = "88-algo-1") -> str:
    """Return the key of a file of intervals that is being written."""
    return f"framework/{node}_{suffix}.tmp"


def tensorflow_trace(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a trace of TensorFlow's profiler."""
    return gzip.compress(
        json.dumps({"displayTimeUnit": "ns", "traceEvents": list(events)}).encode()
    )
