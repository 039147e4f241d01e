"""How often the hardware was used how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smdebug.profiler.analysis.notebook_utils.chart import EVERYTHING, Chart, readings_of
from smdebug.profiler.metrics_reader_base import MetricsReaderBase
from stepwatch.plots.profiles import usage_histogram


class MetricsHistogram(Chart):
    """A histogram of each number of each device.

    Args:
        metrics_reader: What reads the readings.
    """

    def __init__(self, metrics_reader: MetricsReaderBase) -> None:
        super().__init__(metrics_reader)
        self._asked: tuple[float, Sequence[str], Sequence[str]] = (0, EVERYTHING, EVERYTHING)

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_dimensions: Sequence[str] = EVERYTHING,
        select_events: Sequence[str] = EVERYTHING,
        show_workers: bool = True,
    ) -> Any:
        """Draw the readings of a time, in microseconds since the Unix epoch.

        Args:
            starttime: It begins here.
            endtime: It ends here; ``None`` for all.
            select_dimensions: Numbers, such as ``CPUUtilization``, as regular expressions.
            select_events: Devices, such as ``cpu0``, as regular expressions.
            show_workers: Means nothing: each machine has a colour of its own.
        """
        del show_workers
        self._end_us = endtime
        self._asked = starttime, select_dimensions, select_events
        return self.show()

    def draw(self) -> Any:
        """Return the figure."""
        start, dimensions, events = self._asked
        return usage_histogram(
            readings_of(self.metrics_reader, start, self._end_us, dimensions, events)
        )
