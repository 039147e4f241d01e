"""The variables of the environment that these packages read."""

from __future__ import annotations

import os

from ..exceptions import SMDebugValueError

END_DELAY = "SMDEBUG_TRAINING_END_DELAY_REFRESH"
INCOMPLETE_WINDOW = "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"
MISSING_FILE_LIMIT = "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT"
LOG_LEVEL = "SMDEBUG_LOG_LEVEL"
JOB_NAME = "TRAINING_JOB_NAME"
REGION = "AWS_REGION"


def text(name: str) -> str | None:
    """Return a variable; ``None`` if it is not set or blank."""
    return os.environ.get(name, "").strip() or None


def integer(name: str) -> int | None:
    """Return a variable that is a whole number and not negative; ``None`` if it is not set.

    Raises:
        SMDebugValueError: It is something else.
    """
    value = text(name)
    if value is None:
        return None
    if not value.isdecimal():
        raise SMDebugValueError(f"the variable {name} must be a whole number, got {value!r}")
    return int(value)
