"""How long steps took over time."""

from __future__ import annotations

from typing import Any

from stepwatch.plots.profile_charts import interval_timeline

from ...metrics_reader_base import MetricsReaderBase
from .chart import Chart, spans_of


class StepTimelineChart(Chart):
    """The times of steps, a line for each worker and mode; outliers stand out.

    ``width`` is in pixels.
    """

    def __init__(self, metrics_reader: MetricsReaderBase, width: int = 1000) -> None:
        super().__init__(metrics_reader)
        self.width = width
        self.show()

    def draw(self) -> Any:
        steps = spans_of(self.metrics_reader, 0, self._end_us, ["Step:ModeKeys"])
        return interval_timeline(steps).update_layout(width=self.width)
