"""Timed intervals as events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwatch.formats.profile.sagemaker import Event, SageMakerProfileReader
from stepwatch.trial.profile import Profile

#: What smdebug calls our kinds of intervals.
_PHASES = {"loader": "DataLoaderWorker", "collective": "NcclManager", "pause": "Pause"}


@dataclass(slots=True)
class TraceEvent:
    """An interval.

    Times are in microseconds, since the Unix epoch.
    """

    start_time: float
    duration: float
    event_name: str
    event_phase: str  # what it is part of, such as Step:ModeKeys.TRAIN or Forward
    node_id: str  # the worker that wrote it
    pid: str
    tid: str
    event_args: Mapping[str, Any] = field(default_factory=dict)  # such as step_num
    phase: str = "X"  # its kind in Chrome's traces

    @property
    def end_time(self) -> float:
        """When it ended, in microseconds since the Unix epoch."""
        return self.start_time + self.duration


def trace_events(profile: Profile, start_ns: int | None, end_ns: int | None) -> list[TraceEvent]:
    """Return the intervals of a profile that meet a time, ascending by their start."""
    if isinstance(profile.reader, SageMakerProfileReader):
        written = (_written(who, event) for who, event in profile.reader.events())
        found = [event for event in written if _overlaps(event, start_ns, end_ns)]
    else:
        found = [_of_row(row) for row in profile.spans(start_ns, end_ns).to_pylist()]
    return sorted(found, key=lambda event: event.start_time)


def selected(events: Iterator[TraceEvent] | list[TraceEvent], names: list[str]) -> list[TraceEvent]:
    """Return the events whose name or phase one of some regular expressions matches."""
    wanted = [re.compile(name) for name in names]
    return [
        event
        for event in events
        if any(one.search(event.event_name) or one.search(event.event_phase) for one in wanted)
    ]


def _written(who: str, event: Event) -> TraceEvent:
    # smdebug sorts them by machine
    match = re.fullmatch(r"(.*)-(algo.*)", who)
    node_id = f"{match[2]}-{match[1]}" if match else who
    start_us, took_us = event.start_ns / 1000, event.duration_ns / 1000
    phase = event.phase or "Unknown"
    return TraceEvent(
        start_us, took_us, event.name, phase, node_id, event.process, event.thread, event.args
    )


def _of_row(row: Mapping[str, Any]) -> TraceEvent:
    kind, name = row["kind"], row["name"]
    phase = _PHASES.get(kind, kind)
    if kind == "step":
        name = phase = f"Step:ModeKeys.{row['mode']}"
    elif kind == "phase":
        phase = name.capitalize()
    elif kind == "layer":
        name, _, way = name.rpartition(":")
        phase = f"{way.capitalize()}-SubModuleInternal"
    step = {} if row["step"] < 0 else {"step_num": str(row["step"])}
    worker = {"worker_id": row["thread"].partition("/")[2]} if kind == "loader" else {}
    return TraceEvent(
        row["start_ns"] / 1000,
        row["longest_ns"] / 1000,
        name,
        phase,
        row["worker"],
        row["worker"],
        row["thread"],
        {**step, **worker},
    )


def _overlaps(event: TraceEvent, start_ns: int | None, end_ns: int | None) -> bool:
    begun = end_ns is None or event.start_time * 1000 <= end_ns
    return begun and (start_ns is None or event.end_time * 1000 >= start_ns)
