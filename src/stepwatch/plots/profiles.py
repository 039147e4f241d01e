"""How steps and devices fare: their times over a run, and how often which value occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..formats.profile.groups import rows_by
from .distributions import histogram
from .downsample import envelope
from .lines import lines

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_NS_PER_MS = 1e6
_BINS = 100


def interval_timeline(spans: pa.Table, *, points: int = 2000) -> Figure:
    """Draw how long intervals took over time, a line for each worker and name.

    Args:
        spans: Of ``Profile.spans``, such as those of the kind ``step``.
        points: How many points a line may have; of more, the band is the shortest to the longest.

    Returns:
        The figure, in the light scheme, in milliseconds; empty axes for none.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    starts = spans.column("start_ns").to_numpy()
    longest = spans.column("longest_ns").to_numpy() / _NS_PER_MS
    columns = {
        " ".join(texts): envelope(starts[at], longest[at], points=points)
        for texts, at in rows_by(spans, ["worker", "name"])
    }
    return lines(columns, title="how long it took", unit="ms", over="time")


def interval_histogram(spans: pa.Table) -> Figure:
    """Draw how often intervals took how long, a colour for each worker and name.

    Args:
        spans: Of ``Profile.spans``.

    Returns:
        The figure, in the light scheme, in milliseconds; empty axes for none.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    counts = spans.column("count").to_numpy()
    each = spans.column("duration_ns").to_numpy() / np.maximum(counts, 1) / _NS_PER_MS
    edges = np.linspace(0, max(float(each.max(initial=0)), 1e-6), _BINS + 1)
    series = {
        " ".join(texts): np.histogram(each[at], edges, weights=counts[at])[0].tolist()
        for texts, at in rows_by(spans, ["worker", "name"])
    }
    return histogram(edges.tolist(), series, title="how long it took", unit="ms")


def usage_histogram(readings: pa.Table) -> Figure:
    """Draw how often devices were at which value, a colour for each number of each device.

    Args:
        readings: Of ``Profile.system``, of metrics that are percentages.

    Returns:
        The figure, in the light scheme; empty axes for none.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    counts, values = readings.column("count").to_numpy(), readings.column("value").to_numpy()
    edges = np.linspace(0, 100, _BINS // 2 + 1)
    series = {
        " ".join(texts): np.histogram(values[at], edges, weights=counts[at])[0].tolist()
        for texts, at in rows_by(readings, ["node", "device", "metric"])
    }
    return histogram(edges.tolist(), series, title="how much was used", unit="%")


def usage_timeline(readings: pa.Table, *, points: int = 2000) -> Figure:
    """Draw what devices were at over time, a line for each number of each device.

    Args:
        readings: Of ``Profile.system``, of metrics of one unit.
        points: How many points a line may have; of more, the band is the lowest to the highest.

    Returns:
        The figure, in the light scheme; empty axes for none.

    Raises:
        MissingDependency: Plotly is not installed.
    """
    times, values = readings.column("time_ns").to_numpy(), readings.column("value").to_numpy()
    columns = {
        " ".join(texts): envelope(times[at], values[at], points=points)
        for texts, at in rows_by(readings, ["node", "device", "metric"])
    }
    return lines(columns, title="how much was used", unit="%", over="time")
