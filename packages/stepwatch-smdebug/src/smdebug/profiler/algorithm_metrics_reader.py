"""Metrics of the framework."""

from __future__ import annotations

from collections.abc import Sequence

from .metrics_reader_base import MetricsReaderBase, as_ns
from .trace_event_file_parser import TraceEvent, selected, trace_events
from .utils import TimeUnits


class AlgorithmMetricsReader(MetricsReaderBase):
    """Reads what ran when."""

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[TraceEvent]:
        """Return the events that overlap an interval of time.

        Args:
            start_time: Where the interval begins, since the Unix epoch.
            end_time: Where it ends.
            unit: The unit of both.
            event_type: A regular expression for the name or the phase of the events.
            file_suffix_filter: Has no effect.
        """
        del file_suffix_filter
        found = trace_events(self.profile, as_ns(start_time, unit), as_ns(end_time, unit))
        return found if event_type is None else selected(found, [event_type])

    def get_events_by_step(
        self,
        start_step: int,
        end_step: int,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[TraceEvent]:
        """Return the events that overlap the time from one step to another.

        Args:
            start_step: The first.
            end_step: The last.
            event_type: See ``get_events``.
            file_suffix_filter: Has no effect.
        """
        del file_suffix_filter
        between = self.time_of_steps(start_step, end_step)
        return [] if between is None else self.get_events(*between, event_type=event_type)

    def time_of_steps(self, start_step: int, end_step: int) -> tuple[float, float] | None:
        """Return when some steps began and ended, in microseconds; ``None`` for no step."""
        steps = [
            event
            for event in trace_events(self.profile, None, None)
            if event.event_phase.startswith("Step:")
            and start_step <= int(event.event_args.get("step_num", -1)) <= end_step
        ]
        if not steps:
            return None
        return min(one.start_time for one in steps), max(one.end_time for one in steps)


class LocalAlgorithmMetricsReader(AlgorithmMetricsReader):
    """Reads what ran when, of a job in a folder."""

    def __init__(self, trace_root_folder: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(trace_root_folder, use_in_memory_cache)


class S3AlgorithmMetricsReader(AlgorithmMetricsReader):
    """Reads what ran when, of a job in S3."""

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(s3_trial_path, use_in_memory_cache)
