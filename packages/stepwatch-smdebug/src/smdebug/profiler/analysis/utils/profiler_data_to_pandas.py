"""Profiles as data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stepwatch.plugins.registry import require

from ...algorithm_metrics_reader import AlgorithmMetricsReader
from ...system_metrics_reader import SystemMetricsReader
from ...trace_event_file_parser import TraceEvent, selected
from ...utils import TIME_FORMAT, us_since_epoch_to_human_readable_time

_SYSTEM = ("timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type")
_FRAMEWORK = ("start_time", "end_time", "start_time_us", "end_time_us", "tid", "pid",
              "framework_metric", "step", "bytes", "process", "nodeID")  # fmt: skip
_LOADERS = ("start_time", "end_time", "start_time_us", "end_time_us", "duration_us", "pid",
            "framework_metric", "step", "worker_id", "num_workers", "pin_memory", "process",
            "node_id")  # fmt: skip
_Totals = dict[str, float]


class PandasFrame:
    """The profile of a job as data frames. Times in ``..._us`` count from where it begins.

    Args:
        path: ``profiler-output`` of a job, or a run of ours; a folder or a URL.
        use_in_memory_cache: Has no effect.
        scan_interval: Has no effect.
    """

    def __init__(
        self, path: str, use_in_memory_cache: bool = False, scan_interval: int = 5_000_000_000
    ) -> None:
        del use_in_memory_cache, scan_interval
        self.path = path
        self.system_metrics_reader = SystemMetricsReader(path)
        self.framework_metrics_reader = AlgorithmMetricsReader(path)
        self.start_time = self.system_metrics_reader.get_timestamp_of_first_available_file()

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> Any:
        """Return all readings; of some names only, if they are given."""
        return self.get_profiler_data_by_time(
            *self._all(),
            selected_system_metrics=selected_system_metrics,
            get_framework_metrics=False,
        )[0]

    def get_all_framework_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> Any:
        """Return all intervals; of some names or phases only, if they are given."""
        return self.get_profiler_data_by_time(
            *self._all(),
            selected_framework_metrics=selected_framework_metrics,
            get_system_metrics=False,
        )[1]

    def get_profiler_data_by_time(
        self,
        start_time_us: float,
        end_time_us: float,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True,
        get_system_metrics: bool = True,
    ) -> tuple[Any, Any]:
        """Return readings and intervals of a time, in microseconds since the Unix epoch.

        Intervals may be selected by their names or phases, readings by their names; empty for all.
        ``cache_metrics`` has no effect.
        """
        del cache_metrics
        system: list[tuple[Any, ...]] = []
        events: list[TraceEvent] = []
        if get_system_metrics:
            for one in self.system_metrics_reader.get_events(start_time_us, end_time_us):
                if not selected_system_metrics or one.name in selected_system_metrics:
                    time_us = round(one.timestamp * 1e6)
                    when = us_since_epoch_to_human_readable_time(time_us)
                    since = time_us - self.start_time
                    device = (one.name, one.dimension, one.node_id, one.type)
                    system.append((when, since, one.value, *device))
        if get_framework_metrics:
            found = self.framework_metrics_reader.get_events(start_time_us, end_time_us)
            events = [event for event in found if _wanted(event, selected_framework_metrics)]
        rows = (self._interval(event) for event in events)
        return _frame(system, _SYSTEM), _frame(rows, _FRAMEWORK)

    def get_profiler_data_by_step(
        self, start_step: int, end_step: int, cache_metrics: bool = False
    ) -> tuple[Any, Any]:
        """Return the readings while steps ran, and the intervals that are of them."""
        del cache_metrics
        times = self.framework_metrics_reader.time_of_steps(start_step, end_step) or (0, 0)
        system, framework = self.get_profiler_data_by_time(*times)
        return system, framework[framework["step"].between(start_step, end_step)]

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[str] = (), selected_framework_metrics: Sequence[str] = ()
    ) -> tuple[_Totals, _Totals, _Totals]:
        """Return what ran at moments: by phase relative to the longest, by name, and by mode."""
        moments = [self._moment_us(one) for one in timestep_list]

        def overlaps(event: TraceEvent) -> int:
            return sum(event.start_time < moment < event.end_time for moment in moments)

        phases, names = self._totals(moments, overlaps, selected_framework_metrics)
        steps = {name: phases.pop(name) for name in [*phases] if "Step" in name}
        return _relative(phases), names, steps

    def get_framework_metrics_by_begin_and_end_timesteps(
        self,
        begin_timestep_list: Sequence[str],
        end_timestep_list: Sequence[str],
        selected_framework_metrics: Sequence[str] = (),
    ) -> tuple[_Totals, _Totals]:
        """Return what ran in stretches of time, by phase and by name, relative to the longest."""
        begins = [self._moment_us(one) for one in begin_timestep_list]
        ends = [self._moment_us(one) for one in end_timestep_list]

        def overlaps(event: TraceEvent) -> int:
            stretches = zip(begins, ends, strict=True)
            return sum(event.end_time >= a and event.start_time <= b for a, b in stretches)

        phases, names = self._totals([*begins, *ends], overlaps, selected_framework_metrics)
        others = {name: total for name, total in phases.items() if "Step" not in name}
        return _relative(others), _relative(names)

    def get_all_dataloader_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> Any:
        """Return the intervals of data loaders; of names or phases that match, if any are given."""
        events = self.framework_metrics_reader.get_events(*self._all())
        if selected_framework_metrics:
            events = selected(events, list(selected_framework_metrics))
        return _frame((self._loading(event) for event in events), _LOADERS)

    def _all(self) -> tuple[int, int]:
        reader = self.framework_metrics_reader
        reader.refresh_event_file_list()
        first = reader.get_timestamp_of_first_available_file()
        return first, reader.get_timestamp_of_latest_available_file() + 1

    def _times(self, event: TraceEvent) -> tuple[Any, ...]:
        ends = event.start_time, event.end_time
        texts = map(us_since_epoch_to_human_readable_time, ends)
        return (*texts, *(end - self.start_time for end in ends))

    def _interval(self, event: TraceEvent) -> tuple[Any, ...]:
        args = event.event_args
        about = (_name(event), int(args.get("step_num", -1)), args.get("bytes_fetched", -1))
        return (*self._times(event), event.tid, event.pid, *about, event.event_phase, event.node_id)

    def _loading(self, event: TraceEvent) -> tuple[Any, ...]:
        args = event.event_args
        pinned = "NA" if "pin_memory" not in args else str(args["pin_memory"] is True)
        workers = args.get("worker_id", -1), args.get("num_workers", -1), pinned
        about = (event.duration, event.pid, _name(event), int(args.get("step_num", -1)))
        return (*self._times(event), *about, *workers, event.event_phase, event.node_id)

    def _totals(
        self,
        moments: Sequence[float],
        overlaps: Callable[[TraceEvent], int],
        names: Sequence[str],
    ) -> tuple[_Totals, _Totals]:
        by_phase: Counter[str] = Counter()
        by_name: Counter[str] = Counter()
        if moments:
            events = self.framework_metrics_reader.get_events(min(moments), max(moments))
            for event in events:
                times = overlaps(event) if _wanted(event, names) else 0
                if times:
                    by_phase[event.event_phase] += times * event.duration  # type: ignore[assignment]
                    if "Step" not in event.event_name:
                        by_name[event.event_name] += times * event.duration  # type: ignore[assignment]
        return dict(by_phase), dict(by_name)

    def _moment_us(self, text: str) -> float:
        pandas = require("pandas", extra="analysis")
        return float(pandas.to_datetime(text, format=TIME_FORMAT, utc=True).timestamp() * 1e6)


def _wanted(event: TraceEvent, names: Sequence[str]) -> bool:
    return not names or event.event_name in names or event.event_phase in names


def _name(event: TraceEvent) -> str:
    return str(event.event_args.get("layer_name", event.event_args.get("name", event.event_name)))


def _relative(totals: _Totals) -> _Totals:
    """Return times relative to the longest."""
    longest = max(totals.values(), default=0) or 1
    return {name: total / longest for name, total in totals.items()}


def _frame(rows: Iterable[tuple[Any, ...]], columns: Sequence[str]) -> Any:
    pandas = require("pandas", extra="analysis")
    return pandas.DataFrame(list(rows), columns=list(columns)).drop_duplicates()
