"""Units of time, truth values of arguments, and what stands for things of smdebug that we lack."""

from __future__ import annotations

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
