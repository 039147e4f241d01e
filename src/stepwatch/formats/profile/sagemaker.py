"""Reads profiles as SageMaker's platform and smdebug leave them, into ``formats.profile``'s tables.

    system/incremental/<hour>/<minute>.<node>.json                    readings, an object a line
    framework/pevents/<hour>/<end in µs>_<node id>_<suffix>           intervals, a Chrome trace
    framework/<node id>_<suffix>.tmp                                  the same, still being written
    framework/tensorflow/detailed_profiling/<hour>/<step>/...         traces of TensorFlow

A Chrome trace is a JSON array with a record a line; it may be cut off or still grow. What is no
record is left out and counted. Each file is read once to learn its time range, and again only if
that overlaps what is wanted; a file that may still grow is read each time. Nothing is written.
"""

from __future__ import annotations

import math
import re
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from ...model.json_text import parse_json
from ...numerics.columns import empty, numbers, sort_rows
from ...store import Store
from .reader import Machine
from .tables import SPANS, SYSTEM, Sample, Span, Table, ends_ns, spans_table, system_table

_EVENT_START = "start_time_since_epoch_in_micros"


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
    records, damaged = _event_records(data)
    trace = _TraceState(start_us)
    events: list[Event] = []
    for record in records:
        try:
            events += trace.read(record)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            damaged += 1
    return events, damaged


def _event_records(data: bytes) -> tuple[list[Any], int]:
    try:
        whole = parse_json(data)
        return list(whole["traceEvents"] if isinstance(whole, dict) else whole), 0
    except (KeyError, RecursionError, TypeError, ValueError):
        pass
    records, damaged = [], 0
    for line in data.splitlines():
        text = line.strip().rstrip(b",")
        if text.strip(b"[]{ "):
            try:
                records.append(parse_json(text.removeprefix(b"[")))
            except (RecursionError, ValueError):
                damaged += 1
    return records, damaged


class _TraceState:
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
        self._start_us = int(args.get(_EVENT_START, self._start_us))
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


#: How many files are kept in memory.
HELD = 16


class RowFiles:
    """The rows of the files of one table.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._times: dict[str, tuple[int, int]] = {}
        self._held: OrderedDict[str, pa.Table] = OrderedDict()

    def rows(
        self,
        key: str,
        read: Callable[[], pa.Table],
        start_ns: int | None,
        end_ns: int | None,
        *,
        grows: bool,
    ) -> pa.Table:
        """Return the rows of a file; none, or all, where it does not meet the time.

        Args:
            key: Its key.
            read: Returns its rows.
            start_ns: The time begins here; ``None`` for no beginning.
            end_ns: The time ends before; ``None`` for no end.
            grows: Whether there may be more in it at the next call.
        """
        if grows:
            rows = read()
            self._times[key] = self._bounds(rows)
            return rows
        first, last = self._times.get(key, (start_ns or 0, end_ns or 0))
        if (end_ns is not None and first > end_ns) or (start_ns is not None and last < start_ns):
            return empty(self._table.schema)
        if key not in self._held:
            self._held[key] = read()
            self._times[key] = self._bounds(self._held[key])
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]

    def times(self) -> list[tuple[int, int]]:
        """Return from when to when each file tells that was read so far and has rows."""
        return [(first, last) for first, last in self._times.values() if first <= last]

    def join(self, tables: Iterable[pa.Table]) -> pa.Table:
        rows = pa.concat_tables([empty(self._table.schema), *tables]).unify_dictionaries()
        return sort_rows(rows, self._table.time)

    def _bounds(self, rows: pa.Table) -> tuple[int, int]:
        starts = numbers(rows.column(self._table.time))
        ends = ends_ns(rows) if self._table is SPANS else starts
        return (int(starts.min()), int(ends.max())) if len(rows) else (0, -1)


#: A profile lies in one of these folders of the one that people name.
_ROOTS = ("", "profiler-output/", "profiler/")
SYSTEM_FOLDER = "system/"
FRAMEWORK = "framework/"

_SYSTEM = re.compile(r".*/(\d{10})\.([^/]+)\.json")
_SUFFIX = r"(python|model_|horovod_|smdataparallel_)timeline\.json"
_CLOSED = re.compile(rf".*/pevents/(?:.+/)?(\d{{16}})_([^/]+)_{_SUFFIX}")
_OPEN = re.compile(rf".*/()([^/]+)_{_SUFFIX}\.tmp")
_TRACE_KEY = re.compile(r"(.*/detailed_profiling/[^/]+/[^/]+/)plugins/profile/.*\btrace\.json\.gz")
_METADATA = re.compile(r"(.*/)([^/]+)_(\d+)_(\d+)\.metadata")


class TimelineKey(NamedTuple):
    """What the key of a file of intervals says.

    Args:
        key: The key.
        node_id: Who wrote it: a rank or process, and its host.
        source: What of it, such as ``python`` or ``horovod_``.
        end_us: When its last interval ended; 0 for a file that is being written.
    """

    key: str
    node_id: str
    source: str
    end_us: int


class TraceKey(NamedTuple):
    """A trace of TensorFlow's profiler.

    Args:
        key: The key.
        node_id: Who wrote it.
        start_us: What its times are counted from; 0 if it is not known.
    """

    key: str
    node_id: str
    start_us: int


def find_root(store: Store) -> str | None:
    """Return what the keys of a profile begin with, ``None`` if the store holds none.

    Example:
        >>> from stepwatch.store import open_store
        >>> store = open_store("memory://a-job")
        >>> store.put("profiler-output/system/incremental/1591160640.algo-1.json", b"")
        >>> find_root(store)
        'profiler-output/'
    """
    for root in _ROOTS:
        keys = [*store.list(root + SYSTEM_FOLDER), *store.list(root + FRAMEWORK)]
        if any(map(system_node, keys)) or any(map(timeline_key, keys)) or trace_keys(keys):
            return root
    return None


def system_node(key: str) -> str | None:
    """Return the node whose readings a file holds, ``None`` for another file.

    Example:
        >>> system_node("system/incremental/2020060305/1591160640.algo-1.json")
        'algo-1'
    """
    match = _SYSTEM.fullmatch(key)
    return match[2] if match else None


def timeline_key(key: str) -> TimelineKey | None:
    """Return what the key of a file of intervals says, ``None`` for another file.

    Example:
        >>> timeline_key("framework/pevents/2020052602/1590461127873222_1_model_timeline.json")[1:]
        ('1', 'model_', 1590461127873222)
        >>> timeline_key("framework/88-host_pythontimeline.json.tmp")[1:]
        ('88-host', 'python', 0)
    """
    match = _CLOSED.fullmatch(key) or _OPEN.fullmatch(key)
    return match and TimelineKey(key, match[2], match[3], int(match[1] or 0))


def trace_keys(keys: list[str]) -> list[TraceKey]:
    """Return the traces of TensorFlow's profiler among keys."""
    noted = {m[1]: (m[2], int(m[3])) for m in map(_METADATA.fullmatch, keys) if m}
    traces = [match for match in map(_TRACE_KEY.fullmatch, keys) if match]
    return [TraceKey(one[0], *noted.get(one[1], ("tensorflow", 0))) for one in traces]


#: What SageMaker calls a number, by type and by dimension or, without one, by name.
_METRICS = {
    ("cpu", "CPUUtilization"): "busy_percent",
    ("cpu", "I/OWaitPercentage"): "iowait_percent",
    ("gpu", "GPUUtilization"): "busy_percent",
    ("gpu", "GPUMemoryUtilization"): "memory_percent",
    ("memory", "MemoryUsedPercent"): "used_percent",
    ("i/o", "IOPS"): "iops",
    ("i/o", "ReadThroughputInBytesPerSecond"): "read_bytes_per_second",
    ("i/o", "WriteThroughputInBytesPerSecond"): "write_bytes_per_second",
    ("network", "ReceiveBytesPerSecond"): "receive_bytes_per_second",
    ("network", "TransmitBytesPerSecond"): "transmit_bytes_per_second",
}
#: The devices that have no name of their own.
_DEVICES = {"memory": "memory", "i/o": "disk", "network": "network"}
#: The traffic of SageMaker itself, which is not the training's.
_PLATFORM = "Platform"


def parse_readings(data: bytes) -> tuple[list[Sample], int]:
    """Return the readings of a file, and how many of its lines are none.

    Example:
        >>> line = b'{"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization","Value":8.0,'
        >>> parse_readings(line + b'"NodeId":"algo-1","Timestamp":1591160640.5}\\n' + line)
        ([Sample(time_ns=1591160640500000000, device='gpu0', metric='busy_percent', value=8.0)], 1)
    """
    lines = data.splitlines()
    samples = [sample for sample in map(_sample, lines) if sample is not None]
    return samples, sum(map(bool, lines)) - len(samples)


def _sample(line: bytes) -> Sample | None:
    try:
        row = parse_json(line)
        kind, name, dimension = str(row["Type"]), str(row["Name"]), str(row.get("Dimension") or "")
        time_s, value = float(row["Timestamp"]), float(row["Value"])
        time_ns = round(time_s * 1e6) * 1000  # a float holds no more of a time of day
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    metric = _METRICS.get((kind, dimension if kind in ("cpu", "gpu") else name), dimension or name)
    device = _DEVICES.get(kind, name) + ("-platform" if dimension == _PLATFORM else "")
    return Sample(time_ns, device, metric, value)


def sagemaker_names(device: str, metric: str) -> tuple[str, str, str]:
    """Return type, name and dimension under which SageMaker stores a number; its inverse.

    Example:
        >>> sagemaker_names("gpu0", "busy_percent"), sagemaker_names("memory", "used_percent")
        (('gpu', 'gpu0', 'GPUUtilization'), ('memory', 'MemoryUsedPercent', ''))
    """
    plain = device.removesuffix("-platform")
    kinds = {own: kind for kind, own in _DEVICES.items()}
    kind = kinds.get(plain) or plain.rstrip("0123456789")
    theirs = {(of, ours): name for (of, name), ours in _METRICS.items()}.get((kind, metric), metric)
    if kind in ("cpu", "gpu"):
        return kind, device, theirs
    traffic = "Algorithm" if plain == device else _PLATFORM
    return kind, theirs, traffic if kind == "network" else ""


_STEP = re.compile(r"Step:ModeKeys\.(\w+)")
#: Kinds of intervals, by what their phase begins with.
_KINDS = (
    (re.compile(r"(Forward|Backward)-SubModuleInternal"), "layer"),
    (re.compile(r"Forward|Backward|Data(?=loading)"), "phase"),
    (re.compile(r"Data(Loader|Iterator|set)|DataLoaderIter", re.IGNORECASE), "loader"),
    (re.compile(r"NcclManager"), "collective"),
    (re.compile(r"[cg]pu_functions|/device|/host"), "operator"),
)
_OF_SOURCE = {"horovod_": "collective", "smdataparallel_": "collective"}


def as_span(event: Event, source: str) -> Span:
    """Return an event as an interval.

    Args:
        event: The event.
        source: What kind of file it is from, such as ``horovod_``.

    Example:
        >>> name = "Step:ModeKeys.TRAIN"
        >>> as_span(Event(5, 2, name, name, "88", "", {"step_num": "7"}), "python")[2:]
        ('step', 'TRAIN', 'TRAIN', 7, '88')
    """
    step = str(event.args.get("step_num", ""))
    number = int(step) if step.isdigit() else -1
    thread = f"{event.process}/{event.thread}" if event.thread else event.process
    is_step = _STEP.match(event.phase) or _STEP.match(event.name)
    if is_step:
        return Span(*event[:2], "step", is_step[1], is_step[1], number, thread)
    return Span(*event[:2], *_kind_and_name(event, source), "", number, thread)


def with_modes(spans: Sequence[Span]) -> list[Span]:
    """Return intervals with the modes of the steps that they are in, which only steps tell.

    Args:
        spans: Of one who wrote, in any order.
    """
    steps = sorted(span for span in spans if span.kind == "step")
    starts = [step.start_ns for step in steps]

    def of_step(span: Span) -> Span:
        at = bisect_right(starts, span.start_ns) - 1
        if span.mode or span.step < 0 or at < 0 or steps[at].step != span.step:
            return span
        return span._replace(mode=steps[at].mode)

    return [of_step(span) for span in spans]


def _kind_and_name(event: Event, source: str) -> tuple[str, str]:
    kind = _OF_SOURCE.get(source) or next(
        (kind for begins, kind in _KINDS if begins.match(event.phase)), "other"
    )
    way = event.phase.partition("-")[0].lower()
    if kind == "layer":
        return kind, f"{event.name}:{way}"
    if kind == "phase":
        return kind, way
    if kind == "collective" and source == "horovod_" and event.phase:
        return kind, f"{event.phase}:{event.name}"
    return kind, event.name


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
        self._system, self._spans = RowFiles(SYSTEM), RowFiles(SPANS)
        self._damaged: dict[str, int] = {}

    def machines(self) -> dict[str, Machine]:
        keys = self._system_keys()
        first = {node: key for key, node in reversed(keys.items())}
        return {node: _machine(node, self._readings(key, node)) for node, key in first.items()}

    def workers(self) -> tuple[str, ...]:
        timelines, traces = self._framework_keys()
        return tuple(sorted({one.node_id for one in timelines} | {one.node_id for one in traces}))

    def bounds(self) -> tuple[int, int] | None:
        self.system(0, 0)  # reads files of which the times are not known
        self.spans(0, 0)
        times = [*self._system.times(), *self._spans.times()]
        return (min(first for first, _ in times), max(last for _, last in times)) if times else None

    def system(self, start_ns: int | None = None, end_ns: int | None = None) -> pa.Table:
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
        while True:
            try:
                return self._read_spans(start_ns, end_ns, worker)
            except FileNotFoundError:
                continue  # a file that was being written is closed, and has another name

    def traces(self) -> list[str]:
        return [trace.key for trace in self._framework_keys()[1]]

    def events(self) -> list[tuple[str, Event]]:
        """Return all events as the files have them, each with the id of who wrote it."""
        timelines, traces = self._framework_keys()
        files = [(one.key, one.node_id, 0) for one in timelines]
        files += [(one.key, one.node_id, one.start_us) for one in traces]
        return [(who, event) for key, who, start in files for event in self._events(key, start)]

    def notes(self) -> list[str]:
        return [
            f"{key}: {number} {'record' if number == 1 else 'records'} cannot be read, and"
            " are left out"
            for key, number in self._damaged.items()
        ]

    def _system_keys(self) -> dict[str, str]:
        """Return the node of each file of readings, in the order of time."""
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
