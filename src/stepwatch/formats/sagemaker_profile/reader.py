"""Reads a profile of SageMaker, while it is being written or years later."""

from __future__ import annotations

import zlib
from functools import partial

import pyarrow as pa

from ...store import Store
from ..profile.machine import Machine
from ..profile.tables import SPANS, SYSTEM, spans_table, system_table
from .events import Event, parse_events
from .files import Files
from .layout import (
    FRAMEWORK,
    SYSTEM_FOLDER,
    TimelineKey,
    TraceKey,
    find_root,
    system_node,
    timeline_key,
    trace_keys,
)
from .readings import parse_readings
from .spans import as_span, with_modes


class SageMakerProfileReader:
    """Reads what SageMaker's platform and smdebug wrote; a ``ProfileReader``.

    Machines go by the names of nodes, such as ``algo-1``, and workers by the ids under which they
    wrote. Steps count as the mode of each does, which is all that these files tell.

    Args:
        store: Where it lies: the folder ``profiler-output`` of a job, or the one that holds it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = find_root(store) or ""
        self._system, self._spans = Files(SYSTEM), Files(SPANS)
        self._damaged: dict[str, int] = {}

    def machines(self) -> dict[str, Machine]:
        """Return the nodes, with what the first file of each tells of it."""
        keys = self._system_keys()
        first = {node: key for key, node in reversed(keys.items())}
        return {node: _machine(node, self._readings(key, node)) for node, key in first.items()}

    def workers(self) -> tuple[str, ...]:
        """Return the ids of those that wrote intervals so far."""
        timelines, traces = self._framework_keys()
        return tuple(sorted({one.node_id for one in timelines} | {one.node_id for one in traces}))

    def bounds(self) -> tuple[int, int] | None:
        """Return when the first row begins and the last ends."""
        self.system(0, 0)  # reads files of which the times are not known
        self.spans(0, 0)
        times = [*self._system.times(), *self._spans.times()]
        return (min(first for first, _ in times), max(last for _, last in times)) if times else None

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
        """Return readings of a time; see ``ProfileReader``."""
        keys = self._system_keys()
        newest = {node: key for key, node in keys.items()}
        return self._system.join(
            self._system.rows(
                key,
                partial(self._readings, key, node),
                start_ns,
                end_ns,
                grows=newest[node] == key,
            )
            for key, node in keys.items()
        )

    def spans(
        self, start_ns: int | None = None, end_ns: int | None = None, worker: str | None = None
    ) -> pa.Table:
        """Return intervals of a time; see ``ProfileReader``."""
        while True:
            try:
                return self._read_spans(start_ns, end_ns, worker)
            except FileNotFoundError:
                continue  # a file that was being written is closed, and has another name

    def traces(self) -> list[str]:
        """Return the keys of the traces of TensorFlow's profiler."""
        return [trace.key for trace in self._framework_keys()[1]]

    def events(self) -> list[tuple[str, Event]]:
        """Return all events as the files have them, each with the id of who wrote it."""
        timelines, traces = self._framework_keys()
        files = [(one.key, one.node_id, 0) for one in timelines]
        files += [(one.key, one.node_id, one.start_us) for one in traces]
        return [(who, event) for key, who, start in files for event in self._events(key, start)]

    def notes(self) -> list[str]:
        """Return which files that were read so far are damaged."""
        return [
            f"{key}: {number} {'record' if number == 1 else 'records'} cannot be read, and"
            " are left out"
            for key, number in self._damaged.items()
        ]

    def _system_keys(self) -> dict[str, str]:
        """Return whose readings each file holds, in the order of time."""
        nodes = {key: system_node(key) for key in self._store.list(self._root + SYSTEM_FOLDER)}
        known = {key: node for key, node in nodes.items() if node is not None}
        return dict(sorted(known.items(), key=lambda item: item[0].rpartition("/")[2]))

    def _framework_keys(self) -> tuple[list[TimelineKey], list[TraceKey]]:
        keys = self._store.list(self._root + FRAMEWORK)
        return [one for one in map(timeline_key, keys) if one is not None], trace_keys(keys)

    def _readings(self, key: str, node: str) -> pa.Table:
        samples, damaged = parse_readings(self._store.get(key))
        self._note(key, damaged)
        return system_table(node, samples)

    def _read_spans(self, start_ns: int | None, end_ns: int | None, worker: str | None) -> pa.Table:
        timelines, traces = self._framework_keys()
        ended: dict[tuple[str, str], int] = {}
        for one in timelines:
            who = one.node_id, one.source
            ended[who] = max(one.end_us, ended.get(who, 0))
        tables = []
        for one in timelines:
            if worker in (None, one.node_id):
                read = partial(self._timeline, one, ended[one.node_id, one.source])
                grows = one.end_us == 0
                tables.append(self._spans.rows(one.key, read, start_ns, end_ns, grows=grows))
        for trace in traces:
            if worker in (None, trace.node_id):
                read = partial(self._trace, trace)
                tables.append(self._spans.rows(trace.key, read, start_ns, end_ns, grows=False))
        return self._spans.join(tables)

    def _timeline(self, one: TimelineKey, ended_us: int) -> pa.Table:
        """Return the intervals of a file; none of one that was closed under another name since."""
        events = self._events(one.key)
        last_ns = max((event.start_ns + event.duration_ns for event in events), default=0)
        if one.end_us == 0 and last_ns // 1000 <= ended_us:
            events = []
        spans = with_modes([as_span(event, one.source) for event in events])
        return spans_table(one.node_id, spans)

    def _trace(self, one: TraceKey) -> pa.Table:
        events = self._events(one.key, one.start_us)
        return spans_table(one.node_id, [as_span(event, "tensorflow") for event in events])

    def _events(self, key: str, start_us: int = 0) -> list[Event]:
        data = self._store.get(key)
        events, damaged = parse_events(_unzipped(data) if key.endswith(".gz") else data, start_us)
        self._note(key, damaged)
        return events

    def _note(self, key: str, damaged: int) -> None:
        if damaged:
            self._damaged[key] = damaged


def _unzipped(data: bytes) -> bytes:
    """Return what can be had of a file that may be cut off."""
    try:
        return zlib.decompressobj(wbits=47).decompress(data)
    except zlib.error:
        return b"{"  # what the parser counts as one damaged record


def _machine(node: str, readings: pa.Table) -> Machine:
    devices = sorted(set(readings.column("device").to_pylist()))
    kinds = [device.rstrip("0123456789") for device in devices]
    return Machine(
        node,
        started_ns=min(readings.column("time_ns").to_pylist(), default=0),
        cores=kinds.count("cpu"),
        gpus=tuple(device for device, kind in zip(devices, kinds, strict=True) if kind == "gpu"),
    )
