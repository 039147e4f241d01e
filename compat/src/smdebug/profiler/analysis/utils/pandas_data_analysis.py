"""Statistics of profiles."""

from __future__ import annotations

from enum import Enum

from smdebug.profiler.unavailable import unavailable

PandasFrameAnalysis = unavailable("PandasFrameAnalysis")


class StatsBy(Enum):
    """What statistics are grouped by."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(Enum):
    """Parts of the hardware."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"
