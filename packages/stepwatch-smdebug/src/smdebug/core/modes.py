"""What a model is used for at a step: the modes."""

from __future__ import annotations

from enum import Enum

from stepwatch.model.steps import Mode


class ModeKeys(Enum):
    """The modes; ``GLOBAL`` is that of a training which sets none."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4


# What an event file calls them.
MODE_STEP_PLUGIN_NAME = "mode_step"
MODE_PLUGIN_NAME = "mode"
ALLOWED_MODES = list(ModeKeys)
ALLOWED_MODE_NAMES = [mode.name for mode in ModeKeys]


def str_to_mode_keys(mode_str: str) -> ModeKeys:
    """Return the mode of this name, in any case.

    Raises:
        SMDebugValueError: There is none.
    """
    from ..exceptions import SMDebugValueError  # which knows the modes

    try:
        return ModeKeys[mode_str.upper()]
    except KeyError:
        known = ", ".join(name.lower() for name in ALLOWED_MODE_NAMES)
        raise SMDebugValueError(f"no mode {mode_str!r}; there are {known}") from None


def to_mode(mode: ModeKeys) -> Mode:
    """Return the mode as Stepwatch has it."""
    return Mode[mode.name]


def from_mode(mode: Mode) -> ModeKeys:
    """Return the mode as smdebug has it."""
    return ModeKeys[mode.name]
