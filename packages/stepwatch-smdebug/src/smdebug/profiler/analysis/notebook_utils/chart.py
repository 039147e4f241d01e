"""The bases of the charts of a notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from stepwatch.formats.profile.sagemaker import sagemaker_names
from stepwatch.formats.profile.tables import rows_by

from ...metrics_reader_base import MetricsReaderBase

EVERYTHING = (".*",)


class Chart:
    """A chart that a notebook shows; ``figure`` is one of Plotly's."""

    def __init__(self, metrics_reader: MetricsReaderBase) -> None:
        self.metrics_reader = metrics_reader
        self.figure: Any = None
        self._end_us: float | None = None

    def draw(self) -> Any:
        """Return the figure, of what is there now."""
        raise NotImplementedError

    def show(self) -> Any:
        """Draw it anew, and show it where this is a notebook."""
        self.figure = self.draw()
        if "ipykernel" in sys.modules:
            self.figure.show()
        return self.figure

    def update_data(self, current_timestamp: float) -> Any:
        """Draw it anew, up to a time in microseconds since the Unix epoch."""
        self._end_us = current_timestamp
        self.metrics_reader.refresh_event_file_list()
        return self.show()

    def clear(self) -> None:
        """Forget what was drawn."""
        self.figure = None


class UsageChart(Chart):
    """A chart of readings of the hardware.

    Args:
        metrics_reader: What reads the readings.
        starttime: The first moment that is drawn, in microseconds since the Unix epoch.
        endtime: The last one; ``None`` for no end.
        dimensions: Numbers, such as ``CPUUtilization``, as regular expressions.
        events: Devices, such as ``cpu0``, as regular expressions.
    """

    def __init__(
        self,
        metrics_reader: MetricsReaderBase,
        starttime: float = 0,
        endtime: float | None = None,
        dimensions: Sequence[str] = EVERYTHING,
        events: Sequence[str] = EVERYTHING,
    ) -> None:
        super().__init__(metrics_reader)
        self._select(starttime, endtime, dimensions, events)

    def _select(
        self,
        starttime: float,
        endtime: float | None,
        dimensions: Sequence[str],
        events: Sequence[str],
    ) -> None:
        self._start_us, self._end_us = starttime, endtime
        self._dimensions, self._events = dimensions, events

    def readings(self) -> pa.Table:
        """Return the readings that are drawn."""
        system = self.metrics_reader.profile.system(_ns(self._start_us), _ns(self._end_us))
        kept = [np.empty(0, np.int64)]
        for (device, metric), rows in rows_by(system, ["device", "metric"]):
            _, name, dimension = sagemaker_names(device, metric)
            if _any(self._dimensions, dimension or name) and _any(self._events, name):
                kept.append(rows)
        return system.take(pa.array(np.sort(np.concatenate(kept))))


def spans_of(
    reader: MetricsReaderBase, starttime: float, endtime: float | None, metrics: Sequence[str]
) -> pa.Table:
    """Return the intervals of a time in microseconds that smdebug's names select by regex."""
    spans = reader.profile.spans(_ns(starttime), _ns(endtime))
    kept = [np.empty(0, np.int64)]
    for (kind, name, mode), rows in rows_by(spans, ["kind", "name", "mode"]):
        theirs = f"Step:ModeKeys.{mode}" if kind == "step" else f"{name.capitalize()}-node"
        if _any(metrics, theirs) or _any(metrics, name):
            kept.append(rows)
    return spans.take(pa.array(np.sort(np.concatenate(kept))))


def _any(regexes: Sequence[str], text: str) -> bool:
    return any(re.search(regex, text) for regex in regexes)


def _ns(time_us: float | None) -> int | None:
    return None if not time_us else round(1000 * time_us)
