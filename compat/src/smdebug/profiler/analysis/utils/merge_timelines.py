"""Several timelines as one."""

from __future__ import annotations

from enum import Enum

from smdebug.profiler.unavailable import unavailable

MergedTimeline = unavailable("MergedTimeline")


class MergeUnit(Enum):
    """What the ends of a merged timeline are counted in."""

    TIME = "time"
    STEP = "step"
