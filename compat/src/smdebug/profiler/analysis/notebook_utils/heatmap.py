"""How much each core and GPU was used over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smdebug.profiler.analysis.notebook_utils.chart import EVERYTHING, Chart, readings_of
from smdebug.profiler.metrics_reader_base import MetricsReaderBase
from stepwatch.formats.profile.tables import SYSTEM, thin
from stepwatch.plots.machine import system

_POINTS = 1000


class Heatmap(Chart):
    """A row for each number of each device, a colour for how much was used.

    Args:
        metrics_reader: What reads the readings.
        select_metrics: Means nothing.
        starttime: From here on, in microseconds since the Unix epoch.
        endtime: Up to here; ``None`` for all.
        select_dimensions: Numbers, such as ``CPUUtilization``, as regular expressions.
        select_events: Devices, such as ``cpu0``, as regular expressions.
        plot_height: Of the figure, in pixels, or more where that is too little.
        show_workers: Means nothing: each machine has rows of its own.
    """

    def __init__(
        self,
        metrics_reader: MetricsReaderBase,
        select_metrics: Sequence[str] = (),
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = (".*CPU", ".*GPU"),
        select_events: Sequence[str] = EVERYTHING,
        plot_height: int = 350,
        show_workers: bool = True,
    ) -> None:
        super().__init__(metrics_reader)
        del select_metrics, show_workers
        self._end_us = endtime
        self._asked = starttime, select_dimensions, select_events
        self._height = plot_height
        self.show()

    def draw(self) -> Any:
        """Return the figure."""
        start, dimensions, events = self._asked
        readings = readings_of(self.metrics_reader, start, self._end_us, dimensions, events)
        figure = system(thin(SYSTEM, readings, _POINTS))
        return figure.update_layout(height=max(self._height, figure.layout.height))
