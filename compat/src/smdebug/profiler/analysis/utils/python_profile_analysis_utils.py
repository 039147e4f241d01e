"""What Python's profilers measure."""

from __future__ import annotations

from enum import Enum


class Metrics(Enum):
    """What cProfile measures of a function."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"
