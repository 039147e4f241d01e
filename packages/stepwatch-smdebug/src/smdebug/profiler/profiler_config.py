"""What a profiler configuration asks for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .profiler_constants import CPROFILE_NAME, PROFILING_NUM_STEPS_DEFAULT
from .python_profile_utils import PythonProfilerName, cProfileTimer

Settings = Mapping[str, Any]


class MetricsConfigsField(Enum):
    """The keys of the configuration of one kind of metrics; case does not count in files."""

    START_STEP = "startstep"
    NUM_STEPS = "numsteps"
    START_TIME = "starttimeinsecsinceepoch"
    DURATION = "durationinseconds"
    DEFAULT_PROFILING = "defaultprofiling"
    METRICS_REGEX = "metricsregex"
    PROFILER_NAME = "profilername"
    CPROFILE_TIMER = "cprofiletimer"


class RotationPolicy:
    """When another trace file is begun: beyond so many bytes, or after so many seconds."""

    def __init__(self, file_max_size: int, file_close_interval: float) -> None:
        self.file_max_size = file_max_size
        self.file_close_interval = file_close_interval


class TraceFile:
    """How trace files are written."""

    def __init__(
        self, file_max_size: int, file_close_interval: float, file_open_fail_threshold: int
    ) -> None:
        self.rotation_policy = RotationPolicy(file_max_size, file_close_interval)
        self.file_open_fail_threshold = file_open_fail_threshold


class ProfileRange:
    """From when on, and how long, one kind of metrics is profiled: by steps or by time.

    Args:
        name: What is profiled, for messages.
        profile_range: The configuration; an empty one disables it.
    """

    start_step: int | None = None
    num_steps: int | None = None
    end_step: int | None = None
    start_time_in_sec: float | None = None
    duration_in_sec: float | None = None
    end_time: float | None = None

    def __init__(self, name: str, profile_range: Settings) -> None:
        self.name = name
        self.error_message: str | None = None
        self.disabled = not profile_range
        try:
            self.start_step = _number(profile_range, MetricsConfigsField.START_STEP, int)
            self.num_steps = _number(profile_range, MetricsConfigsField.NUM_STEPS, int)
            self.start_time_in_sec = _number(profile_range, MetricsConfigsField.START_TIME, float)
            self.duration_in_sec = _number(profile_range, MetricsConfigsField.DURATION, float)
        except ValueError as error:
            self._refuse(error)
        if self.has_step_range() and self.has_time_range():
            self.error_message = f"{name} has a range of steps and one of time; it is disabled"

    def _refuse(self, error: Exception) -> None:
        self.error_message = f"{self.name}: {error}; it is disabled"
        self.reset_profile_range()

    def has_step_range(self) -> bool:
        """Return whether steps are named."""
        return bool(self.start_step or self.num_steps)

    def has_time_range(self) -> bool:
        """Return whether a time is named."""
        return bool(self.start_time_in_sec or self.duration_in_sec)

    def reset_profile_range(self) -> None:
        """Forget what was named."""
        self.start_step = self.num_steps = None
        self.start_time_in_sec = self.duration_in_sec = None

    def is_enabled(self) -> bool:
        """Return whether it was asked for in a way that can be followed."""
        return not self.disabled and self.error_message is None

    def can_start_profiling(self, current_step: int | str, current_time: float | None) -> bool:
        """Return whether a step is profiled; an open range begins with the first step in it.

        Args:
            current_step: The step; ``"*"`` before the first and after the last one.
            current_time: Seconds since the Unix epoch; now by default.
        """
        if not self.is_enabled():
            return False
        if self.has_step_range():
            return current_step == "*" or self._holds_step(int(current_step))
        if self.has_time_range():
            now = time.time() if current_time is None else current_time
            return self._holds_time(now, current_step)
        return False

    def _holds_step(self, step: int) -> bool:
        if self.start_step is None:
            self.start_step = step
        if self.num_steps is None:
            self.num_steps = PROFILING_NUM_STEPS_DEFAULT
        self.end_step = self.end_step or self.start_step + self.num_steps
        return self.start_step <= step < self.end_step

    def _holds_time(self, now: float, step: int | str) -> bool:
        if self.start_time_in_sec is None:
            self.start_time_in_sec = now
        if self.duration_in_sec:
            self.end_time = self.end_time or self.start_time_in_sec + self.duration_in_sec
            return self.start_time_in_sec <= now < self.end_time
        if now < self.start_time_in_sec:
            return False
        if self.end_step is None:
            self.end_step = int(step) + 1
        return int(step) < self.end_step


class DetailedProfilingConfig(ProfileRange):
    """When a framework's own profiler runs."""

    def __init__(self, detailed_profiling_config: Settings) -> None:
        super().__init__("detailed profiling", detailed_profiling_config)


class DataloaderProfilingConfig(ProfileRange):
    """When data loaders are profiled, and which of their metrics."""

    metrics_regex: re.Pattern[str] | None = None

    def __init__(self, dataloader_config: Settings) -> None:
        super().__init__("dataloader profiling", dataloader_config)
        if self.error_message is None:
            pattern = dataloader_config.get(MetricsConfigsField.METRICS_REGEX.value, ".*")
            try:
                self.metrics_regex = re.compile(pattern)
            except re.error as error:
                self._refuse(error)

    def valid_metrics_name(self, metrics_name: str) -> bool:
        """Return whether a metric is profiled; case does not count."""
        return self.metrics_regex is not None and bool(
            self.metrics_regex.match(metrics_name.lower())
        )


class PythonProfilingConfig(ProfileRange):
    """When Python is profiled, and by which profiler."""

    profiler_name: str | None = None
    cprofile_timer: cProfileTimer | None = None

    def __init__(self, python_profiling_config: Settings) -> None:
        super().__init__("python profiling", python_profiling_config)
        if self.error_message is not None:
            return
        name = python_profiling_config.get(MetricsConfigsField.PROFILER_NAME.value, CPROFILE_NAME)
        timer = python_profiling_config.get(
            MetricsConfigsField.CPROFILE_TIMER.value, cProfileTimer.TOTAL_TIME.value
        )
        try:
            self.profiler_name = PythonProfilerName(name).value
            self.cprofile_timer = cProfileTimer(timer) if name == CPROFILE_NAME else None
        except ValueError as error:
            self._refuse(error)


class SMDataParallelProfilingConfig(ProfileRange):
    """When SageMaker's library for data parallel training profiles itself."""

    def __init__(self, smdataparallel_profiling_config: Settings) -> None:
        super().__init__("smdataparallel profiling", smdataparallel_profiling_config)


class ProfilerConfig:
    """A profiler configuration.

    Args:
        local_path: Where the profile goes.
        file_max_size: Beyond how many bytes another trace file is begun.
        file_close_interval: After how many seconds.
        file_open_fail_threshold: How many files may fail to open.
        detailed_profiling_config: Of each kind of metrics, when it is profiled; an empty one
            disables it.
    """

    def __init__(
        self,
        local_path: str,
        file_max_size: int,
        file_close_interval: float,
        file_open_fail_threshold: int,
        detailed_profiling_config: Settings,
        dataloader_profiling_config: Settings,
        python_profiling_config: Settings,
        smdataparallel_profiling_config: Settings,
    ) -> None:
        self.local_path = local_path
        self.trace_file = TraceFile(file_max_size, file_close_interval, file_open_fail_threshold)
        self.detailed_profiling_config = DetailedProfilingConfig(detailed_profiling_config)
        self.dataloader_profiling_config = DataloaderProfilingConfig(dataloader_profiling_config)
        self.python_profiling_config = PythonProfilingConfig(python_profiling_config)
        self.smdataparallel_profiling_config = SMDataParallelProfilingConfig(
            smdataparallel_profiling_config
        )

    @property
    def ranges(self) -> list[ProfileRange]:
        """Each kind of metrics, with when it is profiled."""
        return [
            self.detailed_profiling_config,
            self.dataloader_profiling_config,
            self.python_profiling_config,
            self.smdataparallel_profiling_config,
        ]


def _number(settings: Settings, field: MetricsConfigsField, kind: Any) -> Any:
    value = settings.get(field.value)
    return None if value is None else kind(value)
