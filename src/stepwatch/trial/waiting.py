"""Waiting for steps of a run that is being written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import StepUnavailable
from ..steps import Mode

if TYPE_CHECKING:
    from .trial import Trial

#: How long to wait before looking again, in seconds.
POLL_S = 0.2


def wait_for_steps(trial: Trial, steps: Sequence[int], mode: Mode, timeout: float | None) -> None:
    """Wait until steps are complete; see ``Trial.wait_for_steps``."""
    deadline = None if timeout is None else time.monotonic() + timeout
    missing = set(steps).difference(trial.steps(mode))
    while missing:
        if trial.ended or max(trial.steps(mode), default=-1) > min(missing):
            raise _never(trial.steps(mode), min(missing), mode)
        left = POLL_S if deadline is None else deadline - time.monotonic()
        if left <= 0:
            what = f"step {min(missing)} of mode {mode}"
            raise TimeoutError(f"{what} did not come within {timeout} s")
        time.sleep(min(left, POLL_S))
        trial.refresh()
        missing.difference_update(trial.steps(mode))


def _never(saved: list[int], step: int, mode: Mode) -> StepUnavailable:
    if not saved:
        return StepUnavailable(f"the run ended without a step of mode {mode}")
    near = min(saved, key=lambda other: abs(other - step))
    return StepUnavailable(
        f"step {step} of mode {mode} was not saved; the nearest saved step is {near}"
    )
