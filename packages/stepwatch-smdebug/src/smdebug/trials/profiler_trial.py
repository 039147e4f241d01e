"""A trial of what a profiler wrote."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..core.access_layer.utils import has_training_ended
from ..exceptions import NoMoreProfilerData
from ..profiler.algorithm_metrics_reader import AlgorithmMetricsReader
from ..profiler.system_metrics_reader import SystemMetricsReader
from ..profiler.system_profiler_file_parser import ProfilerSystemEvent
from ..profiler.trace_event_file_parser import TraceEvent

_POLL_S = 1.0


class ProfilerTrial:
    """A profile, for rules of one's own.

    Args:
        name: What to call it.
        trial_dir: Where it lies.
        output_dir: Where a rule may write; it is made.
    """

    def __init__(self, name: str, trial_dir: str, output_dir: str) -> None:
        self.name, self.path, self.output_dir = name, trial_dir, output_dir
        Path(output_dir).mkdir(parents=True, exist_ok=True)
        self.system_metrics_reader = SystemMetricsReader(trial_dir)
        self.framework_metrics_reader = AlgorithmMetricsReader(trial_dir)

    @property
    def first_timestamp(self) -> int:
        """When the profile begins, in microseconds since the Unix epoch; 0 for none yet."""
        return self.system_metrics_reader.get_timestamp_of_first_available_file()

    def job_finished(self) -> bool:
        """Return whether the training has ended."""
        folders = (self.path, *(os.path.join(self.path, one) for one in ("system", "framework")))
        return any(has_training_ended(folder) for folder in folders)

    def get_latest_timestamp(self) -> int:
        """Return when the profile ends so far, in microseconds since the Unix epoch."""
        self.system_metrics_reader.refresh_event_file_list()
        self.framework_metrics_reader.refresh_event_file_list()
        return self.system_metrics_reader.get_timestamp_of_latest_available_file()

    def wait_for_data(self, end_time: float, start_time: float) -> None:
        """Wait until there is a profile up to a time, or the training has ended.

        Args:
            end_time: In microseconds since the Unix epoch.
            start_time: The first moment of which there must be data, in the same unit.

        Raises:
            NoMoreProfilerData: The training ended, and there is nothing from ``start_time`` on.
        """
        while end_time > self.get_latest_timestamp() and not self.job_finished():
            time.sleep(_POLL_S)
        if self.job_finished() and start_time >= self.get_latest_timestamp():
            raise NoMoreProfilerData(end_time)

    def get_system_metrics(self, start_time: float, end_time: float) -> list[ProfilerSystemEvent]:
        """Return the readings of a time, in microseconds since the Unix epoch."""
        return self.system_metrics_reader.get_events(start_time, end_time)

    def get_framework_metrics(self, start_time: float, end_time: float) -> list[TraceEvent]:
        """Return the intervals that meet a time, in microseconds since the Unix epoch."""
        return self.framework_metrics_reader.get_events(start_time, end_time)
