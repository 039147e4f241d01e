"""When a training did something else than train: evaluate, or write a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...steps import Mode
from .window import Ints, ProfileWindow, Spans


def outside(windows: Sequence[ProfileWindow], times: Ints) -> npt.NDArray[np.bool_]:
    """Return which moments lie outside of evaluation and checkpoints.

    Args:
        windows: What tells of both.
        times: Nanoseconds since the Unix epoch, shape ``[moments]``.
    """
    pauses = [spans for window in windows for spans in checkpoints(window)]
    pauses += [
        spans
        for window in windows
        for (_, mode), spans in window.intervals("step").items()
        if mode in (Mode.EVAL.value, Mode.PREDICT.value)
    ]
    return ~within(pauses, times)


def checkpoints(window: ProfileWindow) -> list[Spans]:
    """Return the intervals in which each worker wrote checkpoints."""
    pauses = window.intervals("pause").values()
    return [Spans(*(column[one.name == "checkpoint"] for column in one)) for one in pauses]


def within(several: list[Spans], times: Ints) -> npt.NDArray[np.bool_]:
    """Return which moments lie in one of the intervals, shape ``[moments]``."""
    found = np.zeros(len(times), bool)
    for spans in several:
        if len(spans.start_ns):
            last = np.searchsorted(spans.start_ns, times, "right") - 1
            ends = np.maximum.accumulate(spans.start_ns + spans.duration_ns)
            found |= (last >= 0) & (times < ends[last])
    return found
