"""Metrics of the hardware."""

from __future__ import annotations

from collections.abc import Sequence

from .metrics_reader_base import MetricsReaderBase, as_ns
from .system_profiler_file_parser import ProfilerSystemEvent, system_events
from .utils import TimeUnits, unavailable


class SystemMetricsReader(MetricsReaderBase):
    """Reads the utilization of devices."""

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[ProfilerSystemEvent]:
        """Return the readings of an interval of time.

        Args:
            start_time: The first moment, since the Unix epoch.
            end_time: The last moment.
            unit: The unit of both.
            event_type: The kind of device, such as ``gpu``; ``None`` for all.
            file_suffix_filter: Has no effect.
        """
        del file_suffix_filter
        rows = self.profile.system(as_ns(start_time, unit), as_ns(end_time, unit) + 1)
        return [event for event in system_events(rows) if event_type in (None, event.type)]


class LocalSystemMetricsReader(SystemMetricsReader):
    """Reads what devices were at, of a job in a folder."""

    def __init__(self, trace_root_folder: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(trace_root_folder, use_in_memory_cache)


class S3SystemMetricsReader(SystemMetricsReader):
    """Reads what devices were at, of a job in S3."""

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(s3_trial_path, use_in_memory_cache)


S3NumpySystemMetricsReader = unavailable(
    "S3NumpySystemMetricsReader", "Profile.system of stepwatch.open_profile gives columns at once"
)
