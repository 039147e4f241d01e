"""How much each core and GPU was used over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwatch.formats.profile.tables import SYSTEM, thin
from stepwatch.plots.profile_charts import system

from ...metrics_reader_base import MetricsReaderBase
from .chart import EVERYTHING, UsageChart

_POINTS = 1000


class Heatmap(UsageChart):
    """A row for each number of each device, a colour for how much was used.

    Of the arguments of smdebug, ``select_metrics`` and ``show_workers`` have no effect: each
    machine has rows of its own. See ``UsageChart`` for the others; ``plot_height``, in pixels,
    grows where it is too little.
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
        super().__init__(metrics_reader, starttime, endtime, select_dimensions, select_events)
        del select_metrics, show_workers
        self._height = plot_height
        self.show()

    def draw(self) -> Any:
        figure = system(thin(SYSTEM, self.readings(), _POINTS))
        return figure.update_layout(height=max(self._height, figure.layout.height))
