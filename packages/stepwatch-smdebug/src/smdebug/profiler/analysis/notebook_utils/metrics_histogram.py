"""How often the hardware was used how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwatch.plots.profile_charts import usage_histogram

from ...metrics_reader_base import MetricsReaderBase
from .chart import EVERYTHING, UsageChart


class MetricsHistogram(UsageChart):
    """A histogram of each number of each device."""

    def __init__(self, metrics_reader: MetricsReaderBase) -> None:
        super().__init__(metrics_reader)

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = EVERYTHING,
        select_events: Sequence[str] = EVERYTHING,
        show_workers: bool = True,
    ) -> Any:
        """Draw readings, selected as by ``UsageChart``; ``show_workers`` has no effect."""
        del show_workers
        self._select(starttime, endtime, select_dimensions, select_events)
        return self.show()

    def draw(self) -> Any:
        return usage_histogram(self.readings())
