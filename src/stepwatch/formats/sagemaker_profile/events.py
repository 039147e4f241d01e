"""Events of Chrome traces, whole ones and such as are still being written or were cut off.

An array of JSON with a record a line. Whatever is no record is left out and counted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_START = "start_time_since_epoch_in_micros"


class Event(NamedTuple):
    """A timed interval, as the trace tells it.

    Args:
        start_ns: When it began, nanoseconds since the Unix epoch.
        duration_ns: How long it took.
        name: What ran.
        phase: What the trace calls its process: the phase that it belongs to.
        process: The number of its process; that in the trace if it says no other.
        thread: The number or name of its thread.
        args: What else was noted.
    """

    start_ns: int
    duration_ns: int
    name: str
    phase: str
    process: str
    thread: str
    args: Mapping[str, Any]


def parse_events(data: bytes, start_us: int = 0) -> tuple[list[Event], int]:
    """Return the intervals of a trace, and how many of its records are none.

    Args:
        data: The file.
        start_us: What its times are counted from, unless it says so itself.

    Example:
        >>> cut_off = b'[\\n{"name": "fit", "ph": "X", "pid": 3, "ts": 5, "dur": 2},\\n{"name": "fi'
        >>> events, damaged = parse_events(cut_off, start_us=1000)
        >>> [(one.name, one.start_ns, one.duration_ns) for one in events], damaged
        ([('fit', 1005000, 2000)], 1)
    """
    records, damaged = _records(data)
    trace = _Trace(start_us)
    events: list[Event] = []
    for record in records:
        try:
            events += trace.read(record)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            damaged += 1
    return events, damaged


def _records(data: bytes) -> tuple[list[Any], int]:
    try:
        whole = json.loads(data)
        return list(whole["traceEvents"] if isinstance(whole, dict) else whole), 0
    except (KeyError, RecursionError, TypeError, ValueError):
        pass
    records, damaged = [], 0
    for line in data.splitlines():
        text = line.strip().rstrip(b",")
        if text.strip(b"[]{ "):
            try:
                records.append(json.loads(text.removeprefix(b"[")))
            except (RecursionError, ValueError):
                damaged += 1
    return records, damaged


class _Trace:
    """What the records so far said of those that follow."""

    def __init__(self, start_us: int) -> None:
        self._start_us = start_us
        self._phases: dict[object, str] = {}
        self._begun: dict[object, list[Mapping[str, Any]]] = {}

    def read(self, record: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the interval that ends with a record, if one does."""
        kind, process = record.get("ph"), record.get("pid")
        if kind == "M":
            self._note(record)
        elif kind == "X":
            yield self._event(record, record["dur"])
        elif kind == "B":
            self._begun.setdefault((process, record.get("tid")), []).append(record)
        elif kind == "E" and (open_ := self._begun.get((process, record.get("tid")))):
            began = open_.pop()
            yield self._event(began, record["ts"] - began["ts"])

    def _note(self, record: Mapping[str, Any]) -> None:
        args = record.get("args") or {}
        self._start_us = int(args.get(_START, self._start_us))
        if record.get("name") == "process_name" and "name" in args:
            self._phases[record.get("pid")] = str(args["name"])

    def _event(self, record: Mapping[str, Any], duration_us: float) -> Event:
        if not (math.isfinite(duration_us) and duration_us >= 0):
            raise ValueError(duration_us)
        args = record.get("args") or {}
        process = record.get("pid")
        return Event(
            start_ns=self._start_us * 1000 + round(record["ts"] * 1000),
            duration_ns=round(duration_us * 1000),
            name=str(record["name"]),
            phase=self._phases.get(process, ""),
            process=str(args.get("pid", process)),
            thread=str(args.get("thread_id", record.get("tid", ""))),
            args=args,
        )
