"""Values whose file comes later than the index that names it, as uploads may."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from smdebug.core import environment
from stepwatch.errors import StepUnavailable
from stepwatch.formats.smdebug.layout import EVENTS, event_key, parse_step_key

if TYPE_CHECKING:
    from smdebug.trials.followed_run import FollowedRun

_POLL_S = 0.2
# smdebug looks so many times, two seconds apart.
_LOOKS = 100
_BETWEEN_LOOKS_S = 2.0


def value_when_there(
    run: FollowedRun, worker: str, step: int, tensor: str
) -> npt.NDArray[np.generic]:
    """Return a value, and wait for its file as long as that may still come.

    It never comes once the training ended, or if the worker has written a later one.
    ``$SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` times two seconds, by default 200, are the most.

    Raises:
        StepUnavailable: The file did not come.
        TensorUnavailable: There is no such value.
    """
    try:
        return run.evidence.value(worker, step, tensor)
    except StepUnavailable:
        looks = environment.whole(environment.MISSING_FILE_LIMIT)
    deadline = time.monotonic() + _BETWEEN_LOOKS_S * (_LOOKS if looks is None else looks)
    while True:
        try:
            return run.evidence.value(worker, step, tensor)
        except StepUnavailable:
            if time.monotonic() >= deadline or _wrote_later(run, worker, step):
                raise
        time.sleep(_POLL_S)


def _wrote_later(run: FollowedRun, worker: str, step: int) -> bool:
    later = run.store.list(EVENTS, event_key(step, worker))
    return any(parsed and parsed[1] == worker for parsed in map(parse_step_key, later))
