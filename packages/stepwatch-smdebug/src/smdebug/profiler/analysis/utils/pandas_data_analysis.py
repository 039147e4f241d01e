"""Statistics of profiles."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from stepwatch.plugins.registry import require

from ....core.logger import get_logger

_STEP = "Step:ModeKeys"
_RANGES = ((90, 100), (10, 90), (0, 10))
_Stretch = tuple[float, float, str]
_NUMBERS = ("mean", "min", "max", "p50", "p95", "p99")


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


class JobStats(dict[str, Any]):
    """When a job began and ended, and how long its parts took, in milliseconds and percent."""

    def __repr__(self) -> str:
        pandas = require("pandas", extra="analysis")
        return repr(pandas.DataFrame.from_dict({name: [value] for name, value in self.items()}).T)


class PandasFrameAnalysis:
    """Statistics of the frames of a ``PandasFrame``.

    Args:
        system_df: What ``get_all_system_metrics`` returned.
        framework_df: What ``get_all_framework_metrics`` returned.
    """

    def __init__(self, system_df: Any, framework_df: Any) -> None:
        self.sys_metrics_df = system_df
        took = framework_df["end_time_us"] - framework_df["start_time_us"]
        self.framework_metrics_df = framework_df.assign(duration_us=took)

    def get_job_statistics(self) -> JobStats:
        """Return when the job began and ended, and how long initialization, loop and end took.

        Without steps, only what follows from the readings.
        """
        system, steps = self.sys_metrics_df, self._steps()
        began, ended = system["timestamp_us"].min(), system["timestamp_us"].max()
        found = JobStats(
            start_time=system["timestamp"].min(),
            end_time=system["timestamp"].max(),
            job_duration=(ended - began) / 1000,
        )
        if len(steps):
            first, last = steps["start_time_us"].min(), steps["end_time_us"].max()
            found |= {
                "training_loop_start": steps["start_time"].min(),
                "training_loop_end": steps["end_time"].max(),
                "training_loop_duration": (last - first) / 1000,
                "initialization": (first - began) / 1000,
                "finalization": (ended - last) / 1000,
            }
            whole = found["job_duration"]
            parts = {"training_loop": found["training_loop_duration"]}
            parts |= {name: found[name] for name in ("initialization", "finalization")}
            found |= {f"{name}_%": 100 * part / whole for name, part in parts.items() if whole}
        return found

    def get_step_statistics(self, by: StatsBy = StatsBy.TRAINING_PHASE) -> Any:
        """Return how long steps take, in microseconds, by mode, by name or by phase."""
        if not isinstance(by, StatsBy):
            get_logger().info("%s should be of type StatsBy", by)
            return None
        rows = self._steps() if by is StatsBy.TRAINING_PHASE else self.framework_metrics_df
        column = "framework_metric" if by is StatsBy.TRAINING_PHASE else by.value
        # what several processes do in one step is one interval
        ends = rows.groupby(["step", column]).agg({"start_time_us": "min", "end_time_us": "max"})
        took = (ends["end_time_us"] - ends["start_time_us"]).rename("took").reset_index()
        table = _described(took.groupby(column)["took"]).reset_index()
        return table.set_axis([by.value, *(f"duration_{name}_us" for name in _NUMBERS)], axis=1)

    def get_utilization_stats(
        self,
        resource: Resource | Sequence[Resource] | None = None,
        by: StatsBy | None = None,
        phase: str | Sequence[str] | None = None,
    ) -> Any:
        """Return how much of the hardware was used.

        Args:
            resource: The parts of the hardware; by default all.
            by: ``StatsBy.TRAINING_PHASE`` for a row for each mode.
            phase: Only these modes, such as ``Step:ModeKeys.TRAIN``.
        """
        pandas = require("pandas", extra="analysis")
        system = self.sys_metrics_df
        columns = ["nodeID"]
        if by is StatsBy.TRAINING_PHASE:
            system = system.assign(phase=self._phase_at(system["timestamp_us"], phase))
            columns = ["phase", "nodeID"]
        tables = []
        for one in _resources(resource, tuple(Resource)):
            rows = system[system["type"].str.contains(one.value)]
            if len(rows):
                table = _described(rows.groupby(columns)["value"]).reset_index()
                table.insert(0, "Resource", one.value)
                tables.append(table)
        if not tables:
            return pandas.DataFrame()
        names = ["Training_phase", "nodeID"] if len(columns) == 2 else columns
        used = [f"utilization_{name}" for name in _NUMBERS]
        return pandas.concat(tables, ignore_index=True).set_axis(
            ["Resource", *names, *used], axis=1
        )

    def get_device_usage_stats(
        self,
        device: Resource | Sequence[Resource] | None = None,
        utilization_ranges: Sequence[tuple[float, float]] | None = None,
    ) -> Any:
        """Return how many readings of each kind of device lie in each range, ends included."""
        pandas = require("pandas", extra="analysis")
        ranges = _RANGES if utilization_ranges is None else utilization_ranges
        if any(len(one) != 2 for one in ranges) or not len(ranges):
            get_logger().info("%s should be pairs of a start and an end", ranges)
            return pandas.DataFrame()
        kinds = [one.value for one in _resources(device, (Resource.CPU, Resource.GPU))]
        rows = self.sys_metrics_df[self.sys_metrics_df["type"].isin(kinds)]
        counts: dict[Any, dict[Any, int]] = {}
        for kind, node, value in zip(rows["type"], rows["nodeID"], rows["value"], strict=True):
            within = next((one for one in ranges if one[0] <= value <= one[1]), None)
            if within is not None:
                of_node = counts.setdefault((kind, node), dict.fromkeys(ranges, 0))
                of_node[within] += 1
        table = [{"type": kind, "nodeID": node, **of} for (kind, node), of in counts.items()]
        return pandas.DataFrame(table)

    def get_training_phase_intervals(self, phase: str | Sequence[str] | None = None) -> Any:
        """Return stretches of each mode, and what is before, between and after them.

        Args:
            phase: These modes only, such as ``Step:ModeKeys.TRAIN``.
        """
        pandas = require("pandas", extra="analysis")
        steps = self._steps().sort_values("start_time_us")
        names = [phase] if isinstance(phase, str) else phase
        if names is not None:
            steps = steps[steps["framework_metric"].isin(names)]
        if not len(steps):
            get_logger().info("no step of %s", names or _STEP)
            return None
        stretch = (steps["framework_metric"] != steps["framework_metric"].shift()).cumsum()
        rows = [
            (
                part["start_time_us"].min(),
                part["end_time_us"].max(),
                part["framework_metric"].iloc[0],
            )
            for _, part in steps.groupby(stretch)
        ]
        rows = _with_gaps(rows, self.sys_metrics_df["timestamp_us"])
        return pandas.DataFrame(rows, columns=["start_time_us", "end_time_us", "phase"])

    def _steps(self) -> Any:
        names = self.framework_metrics_df["framework_metric"]
        return self.framework_metrics_df[names.str.contains(_STEP, regex=False)]

    def _phase_at(self, times: Any, phase: str | Sequence[str] | None) -> Any:
        found = times.astype(object).where(times.isna())
        stretches = self.get_training_phase_intervals(phase)
        for start, end, name in [] if stretches is None else stretches.to_numpy():
            found[times.between(start, end)] = name
        return found


def _with_gaps(rows: Sequence[_Stretch], times: Any) -> list[_Stretch]:
    """Return stretches with what is before, between and after them, a microsecond apart."""
    found: list[_Stretch] = [(times.min(), rows[0][0] - 1, f"Before {rows[0][2]}")]
    for one, after in zip(rows, [*rows[1:], None], strict=True):
        found.append(one)
        if after is not None:
            between = f"Between {' and '.join(sorted([one[2], after[2]]))}"
            found.append((one[1] + 1, after[0] - 1, between))
    found.append((rows[-1][1] + 1, times.max(), f"After {rows[-1][2]}"))
    return [one for one in found if one[1] >= one[0]]


def _described(groups: Any) -> Any:
    table = groups.describe(percentiles=[0.5, 0.95, 0.99])
    return table[["mean", "min", "max", "50%", "95%", "99%"]]


def _resources(
    given: Resource | Sequence[Resource] | None, otherwise: Sequence[Resource]
) -> Sequence[Resource]:
    if given is None:
        return otherwise
    return [given] if isinstance(given, Resource) else given
