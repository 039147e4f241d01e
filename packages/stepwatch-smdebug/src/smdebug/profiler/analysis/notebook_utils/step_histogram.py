"""How often steps took how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwatch.plots.profile_charts import interval_histogram

from ...metrics_reader_base import MetricsReaderBase
from .chart import Chart, spans_of

_STEPS = ("Step:ModeKeys", "Forward-node", "Backward\\(post-forward\\)-node")


class StepHistogram(Chart):
    """A histogram of the times of steps, forward and backward. ``width`` is in pixels."""

    def __init__(self, metrics_reader: MetricsReaderBase, width: int = 500) -> None:
        super().__init__(metrics_reader)
        self.width = width
        self._selected: tuple[float, Sequence[str]] = (0, _STEPS)

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_metrics: Sequence[str] = _STEPS,
        show_workers: bool = True,
    ) -> Any:
        """Draw intervals, selected by time in microseconds and by regular expressions.

        ``show_workers`` has no effect: each worker has a colour of its own.
        """
        del show_workers
        self._end_us = endtime
        self._selected = starttime, select_metrics
        return self.show()

    def draw(self) -> Any:
        start, metrics = self._selected
        figure = interval_histogram(spans_of(self.metrics_reader, start, self._end_us, metrics))
        return figure.update_layout(width=self.width)
