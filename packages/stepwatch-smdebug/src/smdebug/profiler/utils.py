"""Units of time, truth values of arguments, and what stands for things of smdebug that we lack."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from enum import Enum
from typing import NoReturn

from ..exceptions import SMDebugNotImplementedError

#: How smdebug writes a time.
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S:%f"

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


class TimeUnits(Enum):
    """Units of time."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_MICROSECONDS = {
    TimeUnits.SECONDS: 1e6,
    TimeUnits.MILLISECONDS: 1e3,
    TimeUnits.MICROSECONDS: 1,
    TimeUnits.NANOSECONDS: 1e-3,
}


def convert_utc_timestamp_to_microseconds(
    timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> int:
    """Return a time of a unit in microseconds."""
    return round(timestamp * _MICROSECONDS[unit])


def convert_utc_timestamp_to_nanoseconds(
    timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> int:
    """Return a time of a unit in nanoseconds."""
    return round(timestamp * _MICROSECONDS[unit] * 1000)


def convert_utc_timestamp_to_seconds(
    timestamp: float, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> int:
    """Return a time of a unit in whole seconds."""
    return int(timestamp * _MICROSECONDS[unit] / 1e6)


def convert_utc_datetime_to_nanoseconds(timestamp_datetime: datetime) -> int:
    """Return a date and time in nanoseconds since the Unix epoch."""
    return convert_utc_timestamp_to_nanoseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def convert_utc_datetime_to_microseconds(timestamp_datetime: datetime) -> int:
    """Return a date and time in microseconds since the Unix epoch."""
    return convert_utc_timestamp_to_microseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def is_valid_tracefilename(filename: str) -> bool:
    """Return whether this is the path of a file of events.

    Example:
        >>> is_valid_tracefilename("framework/pevents/2020060500/15_1-algo-1_model_timeline.json")
        True
    """
    is_events = filename.endswith(".json") and "pevents" in filename
    return is_events and filename.count("_") >= 2


def is_valid_tfprof_tracefilename(filename: str) -> bool:
    """Return whether this is the path of a file of TensorFlow's own profiler."""
    return filename.endswith("trace.json.gz") and "tensorflow/detailed_profiling" in filename


def get_node_id_from_tracefilename(filename: str) -> str:
    """Return the node of a file of events, by its path; empty for another file."""
    name = filename.rpartition("/")[2]
    return name.split("_")[1] if is_valid_tracefilename(filename) else ""


def get_timestamp_from_tracefilename(filename: str) -> int:
    """Return when a file of events ends, by its path, in microseconds; 0 for another file."""
    name = filename.rpartition("/")[2]
    return int(name.split("_")[0]) if is_valid_tracefilename(filename) else 0


def validate_system_profiler_file(filename: str) -> bool:
    """Return whether this is the path of a file of readings of the hardware.

    Example:
        >>> validate_system_profiler_file("run/system/incremental/20/1591160699.algo-1.json")
        True
    """
    return re.match(r".+/system/.+/(\d{10}).algo-\d+.json", filename) is not None


def get_node_id_from_system_profiler_filename(filename: str) -> str | None:
    """Return the machine of a file of readings, by its path; ``None`` for another file."""
    name = filename.rpartition("/")[2]
    return name.split(".")[1] if validate_system_profiler_file(filename) else None


def get_utctimestamp_us_since_epoch_from_system_profiler_file(filename: str) -> int | None:
    """Return the time of a file of readings, by its path, in microseconds; ``None`` for another."""
    name = filename.rpartition("/")[2]
    whole = validate_system_profiler_file(filename)
    return int(name.split(".")[0]) * 1_000_000 if whole else None


def ns_since_epoch_to_human_readable_time(ns_since_epoch: float) -> str:
    """Return nanoseconds since the Unix epoch as a date and a time, UTC."""
    return us_since_epoch_to_human_readable_time(ns_since_epoch / 1000)


def us_since_epoch_to_human_readable_time(us_since_epoch: float) -> str:
    """Return microseconds since the Unix epoch as a date and a time, UTC.

    Example:
        >>> us_since_epoch_to_human_readable_time(1591160640_500000)
        '2020-06-03T05:04:00:500000'
    """
    return datetime.fromtimestamp(us_since_epoch / 1e6, timezone.utc).strftime(TIME_FORMAT)


def str2bool(v: str | bool) -> bool:
    """Return the truth value of a command line argument.

    Raises:
        ValueError: It is neither true nor false.
    """
    text = str(v).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise ValueError(f"true or false is needed, got {v!r}")
    return text in _TRUE


def unavailable(name: str, instead: str) -> Callable[..., NoReturn]:
    """Return a function that raises: old imports work, old calls say what there is instead."""

    def call(*_: object, **__: object) -> NoReturn:
        raise SMDebugNotImplementedError(f"there is no {name} in Stepwatch; {instead}")

    call.__name__ = call.__qualname__ = name
    return call
