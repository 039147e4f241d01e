"""The keys of a profile of SageMaker."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...store import Store

#: A profile lies in one of these folders of the place that people name.
_ROOTS = ("", "profiler-output/", "profiler/")
SYSTEM_FOLDER = "system/"
FRAMEWORK = "framework/"

_SYSTEM = re.compile(r".*/(\d{10})\.([^/]+)\.json")
_SUFFIX = r"(python|model_|horovod_|smdataparallel_)timeline\.json"
_CLOSED = re.compile(rf".*/pevents/(?:.+/)?(\d{{16}})_([^/]+)_{_SUFFIX}")
_OPEN = re.compile(rf".*/()([^/]+)_{_SUFFIX}\.tmp")
_TRACE = re.compile(r"(.*/detailed_profiling/[^/]+/[^/]+/)plugins/profile/.*\btrace\.json\.gz")
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
    """Return whose readings a file holds, ``None`` for another file.

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
    traces = [match for match in map(_TRACE.fullmatch, keys) if match]
    return [TraceKey(one[0], *noted.get(one[1], ("tensorflow", 0))) for one in traces]
