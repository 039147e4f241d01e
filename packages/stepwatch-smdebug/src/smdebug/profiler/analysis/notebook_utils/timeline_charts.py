"""What the hardware did over time, and what ran in a part of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from stepwatch.plots.profile_charts import usage_timeline
from stepwatch.plugins.registry import require

from ...algorithm_metrics_reader import AlgorithmMetricsReader
from ...metrics_reader_base import MetricsReaderBase
from ...trace_event_file_parser import TraceEvent
from .chart import EVERYTHING, UsageChart

_MOST = 500


class TimelineCharts(UsageChart):
    """A line for each number of each device.

    Args:
        system_metrics_reader: What reads the readings.
        framework_metrics_reader: What reads the intervals; ``None`` for readings alone.

    Arguments of smdebug that are not those of ``UsageChart`` have no effect.
    """

    def __init__(
        self,
        system_metrics_reader: MetricsReaderBase,
        framework_metrics_reader: AlgorithmMetricsReader | None = None,
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = EVERYTHING,
        select_events: Sequence[str] = EVERYTHING,
        x: int = 1000,
        show_workers: bool = True,
    ) -> None:
        super().__init__(
            system_metrics_reader, starttime, endtime, select_dimensions, select_events
        )
        del x, show_workers
        self.framework_metrics_reader = framework_metrics_reader
        self.show()

    def draw(self) -> Any:
        return usage_timeline(self.readings())

    def find_time_annotations(self, indexes: Sequence[int]) -> dict[str, float]:
        """Print, and return, how many milliseconds were spent in what.

        Args:
            indexes: The moments of readings, counted from 0; from the first to the last of them.
        """
        spent: Counter[str] = Counter()
        for event in self._intervals(indexes):
            step = event.event_args.get("step_num")
            name = event.event_name if step is None else f"{event.event_name}_{step}"
            spent[name] += event.duration / 1000  # type: ignore[assignment]
        for name, took_ms in spent.most_common():
            print(f"Spent {took_ms} ms (cumulative time) in {name}")
        return dict(spent)

    def plot_detailed_profiler_data(self, indexes: Sequence[int]) -> Any:
        """Draw what ran from one moment to another, a lane for each phase and thread.

        Args:
            indexes: As for ``find_time_annotations``.
        """
        go: Any = require("plotly.graph_objects", extra="analysis")
        events = sorted(self._intervals(indexes), key=lambda event: -event.duration)[:_MOST]
        first = min((event.start_time for event in events), default=0.0)
        self.figure = go.Figure(
            go.Bar(
                orientation="h",
                base=[(event.start_time - first) / 1000 for event in events],
                x=[event.duration / 1000 for event in events],
                y=[f"{event.event_phase} {event.tid}" for event in events],
                hovertext=[event.event_name for event in events],
            )
        )
        return self.figure.update_layout(xaxis_title="ms", template="plotly_white")

    def _intervals(self, indexes: Sequence[int]) -> list[TraceEvent]:
        if self.framework_metrics_reader is None or not len(indexes):
            return []
        moments = np.unique(self.readings().column("time_ns").to_numpy())
        chosen = moments[[min(indexes), max(indexes)]] // 1000
        return self.framework_metrics_reader.get_events(*chosen.tolist())
