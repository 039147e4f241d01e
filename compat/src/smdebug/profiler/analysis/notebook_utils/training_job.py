"""The profile of a training job."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

TrainingJob = unavailable("TrainingJob")
