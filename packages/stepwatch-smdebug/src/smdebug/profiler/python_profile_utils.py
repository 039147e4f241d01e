"""When Python was profiled."""

from __future__ import annotations

import os
from enum import Enum, IntEnum

from ..core.modes import ModeKeys


class PythonProfileModes(IntEnum):
    """What the training did; before its first step and after its hook was closed, too."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5
    POST_HOOK_CLOSE = 6


class StepPhase(Enum):
    """The point of a step at which profiling began or ended."""

    START = "start"
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"
    STEP_END = "stepend"
    END = "end"


class PythonProfilerName(Enum):
    """The profilers."""

    CPROFILE = "cprofile"
    PYINSTRUMENT = "pyinstrument"


class cProfileTimer(Enum):  # noqa: N801 - smdebug's name
    """What the profiler ``cprofile`` counts."""

    TOTAL_TIME = "total_time"
    CPU_TIME = "cpu_time"
    OFF_CPU_TIME = "off_cpu_time"
    DEFAULT = "default"


def total_time() -> float:
    """Return a time that passes, in seconds."""
    return os.times().elapsed


def cpu_time() -> float:
    """Return for how long this process has used processors, in seconds."""
    times = os.times()
    return times.system + times.user


def off_cpu_time() -> float:
    """Return a time that passes while this process uses no processor, in seconds."""
    return total_time() - cpu_time()


def mode_keys_to_python_profile_mode(mode: ModeKeys) -> PythonProfileModes:
    """Return the mode of a hook as one of a profile."""
    return PythonProfileModes(mode.value)


def mode_name(mode: PythonProfileModes) -> str:
    """Return a mode as it is written in the names of folders.

    Example:
        >>> mode_name(PythonProfileModes.PRE_STEP_ZERO)
        'prestepzero'
    """
    return PythonProfileModes(mode).name.replace("_", "").lower()


def str_to_python_profile_mode(mode_str: str) -> PythonProfileModes:
    """Return the mode that is written in the name of a folder.

    Raises:
        ValueError: There is no such mode.
    """
    known = {mode_name(mode): mode for mode in PythonProfileModes}
    if mode_str not in known:
        raise ValueError(f"{mode_str!r} is no mode; there are {', '.join(known)}")
    return known[mode_str]


python_profile_mode_to_str = mode_name
