"""How long steps took over time."""

from __future__ import annotations

from typing import Any

from smdebug.profiler.analysis.notebook_utils.chart import Chart, spans_of
from smdebug.profiler.metrics_reader_base import MetricsReaderBase
from stepwatch.plots.profiles import interval_timeline


class StepTimelineChart(Chart):
    """The times of steps, a line for each worker and mode; outliers stand out.

    Args:
        metrics_reader: What reads the intervals.
        width: Of the figure, in pixels.
    """

    def __init__(self, metrics_reader: MetricsReaderBase, width: int = 1000) -> None:
        super().__init__(metrics_reader)
        self.width = width
        self.show()

    def draw(self) -> Any:
        """Return the figure."""
        steps = spans_of(self.metrics_reader, 0, self._end_us, ["Step:ModeKeys"])
        return interval_timeline(steps).update_layout(width=self.width)
