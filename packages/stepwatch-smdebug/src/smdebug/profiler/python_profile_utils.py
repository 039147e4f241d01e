"""When Python was profiled."""

from __future__ import annotations

from enum import Enum, IntEnum


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
