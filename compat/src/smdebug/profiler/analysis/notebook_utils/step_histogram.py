"""How often steps took how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smdebug.profiler.analysis.notebook_utils.chart import Chart, spans_of
from smdebug.profiler.metrics_reader_base import MetricsReaderBase
from stepwatch.plots.profiles import interval_histogram

_STEPS = ("Step:ModeKeys", "Forward-node", "Backward\\(post-forward\\)-node")


class StepHistogram(Chart):
    """A histogram of the times of steps, forward and backward.

    Args:
        metrics_reader: What reads the intervals.
        width: Of the figure, in pixels.
    """

    def __init__(self, metrics_reader: MetricsReaderBase, width: int = 500) -> None:
        super().__init__(metrics_reader)
        self.width = width
        self._asked: tuple[float, Sequence[str]] = (0, _STEPS)

    def plot(
        self,
        starttime: float = 0,
        endtime: float | None = None,
        select_metrics: Sequence[str] = _STEPS,
        show_workers: bool = True,
    ) -> Any:
        """Draw the intervals of a time, in microseconds since the Unix epoch.

        Args:
            starttime: It begins here.
            endtime: It ends here; ``None`` for all.
            select_metrics: What is drawn, as regular expressions.
            show_workers: Means nothing: each worker has a colour of its own.
        """
        del show_workers
        self._end_us = endtime
        self._asked = starttime, select_metrics
        return self.show()

    def draw(self) -> Any:
        """Return the figure."""
        start, metrics = self._asked
        figure = interval_histogram(spans_of(self.metrics_reader, start, self._end_us, metrics))
        return figure.update_layout(width=self.width)
