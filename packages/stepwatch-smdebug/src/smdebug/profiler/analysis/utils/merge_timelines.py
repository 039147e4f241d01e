"""Several timelines as one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from stepwatch.errors import StepUnavailable
from stepwatch.profile.timeline import LOW_GPU_PERCENT, merged_timeline, write_timeline

from ...algorithm_metrics_reader import AlgorithmMetricsReader

_LOW_GPU: Mapping[str, Sequence[Any]] = {"lowgpu": ()}


class MergeUnit(Enum):
    """The unit of the ends of a merged timeline."""

    TIME = "time"
    STEP = "step"


class MergedTimeline:
    """One trace of what all workers and machines did, for Perfetto and chrome://tracing.

    Args:
        path: ``profiler-output`` of a job, or a run of ours; a folder or a URL.
        file_suffix_filter: Has no effect.
        output_directory: Where the trace is written to; by default ``path`` if that is a folder,
            else here.
    """

    def __init__(
        self,
        path: str,
        file_suffix_filter: Sequence[str] | None = None,
        output_directory: str | None = None,
    ) -> None:
        del file_suffix_filter
        self.path = path
        self.framework_metrics_reader = AlgorithmMetricsReader(path)
        here = path if os.path.isdir(path) else "."
        self.output_directory = here if output_directory is None else output_directory

    def merge_timeline(
        self,
        start: float,
        end: float,
        unit: MergeUnit | str = MergeUnit.TIME,
        sys_metrics_filter: Mapping[str, Sequence[Any]] | None = _LOW_GPU,
    ) -> str:
        """Write the trace of an interval of time, and return the name of the file.

        Args:
            start: In microseconds since the Unix epoch, or a step, as ``unit`` says.
            end: The last moment, or step, that is included.
            unit: ``time`` or ``step``.
            sys_metrics_filter: With ``lowgpu`` moments of idle GPUs are marked; empty for none.

        Raises:
            StepUnavailable: There is no step between the two.
        """
        start_us, end_us = start, end
        if MergeUnit(unit) is MergeUnit.STEP:
            between = self.framework_metrics_reader.time_of_steps(round(start), round(end))
            if between is None:
                raise StepUnavailable(f"no step from {start} to {end} is in the profile")
            start_us, end_us = between
        timeline = merged_timeline(
            self.framework_metrics_reader.profile,
            round(1000 * start_us),
            round(1000 * end_us) + 1,
            low_gpu_percent=LOW_GPU_PERCENT if sys_metrics_filter else None,
        )
        folder = Path(self.output_directory)
        folder.mkdir(parents=True, exist_ok=True)
        name = str(folder / f"{round(end_us)}_merged_timeline.json")
        write_timeline(name, timeline)
        return name
