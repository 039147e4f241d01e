"""What training scripts take from here: a truth value of an argument, and units of time."""

from __future__ import annotations

from enum import Enum

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


class TimeUnits(Enum):
    """Units of time."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


def str2bool(v: str | bool) -> bool:
    """Return the truth value of a command line argument.

    Raises:
        ValueError: It is neither true nor false.
    """
    text = str(v).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise ValueError(f"true or false is needed, got {v!r}")
    return text in _TRUE
