"""What machines did and how long steps took: heat maps, timelines and histograms of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.profile.tables import PHASES, Ints, ends_ns, rows_by
from ..profile.statistics import natural_key
from .distributions import histogram
from .downsample import Envelope, envelope
from .line_charts import dates, lines
from .theme import COLORWAY, INK, SEQUENTIAL, as_text, draw, faded, shortened

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Floats = npt.NDArray[np.float64]

_PHASE_COLORS = dict(zip(PHASES, COLORWAY, strict=True))
_COLORS = {"step": INK["light"]["line"], **_PHASE_COLORS}
_DEVICES = ("gpu", "cpu", "process", "memory", "cgroup", "pressure", "sampler")
_MS = 1e6


def system(readings: pa.Table) -> Figure:
    """Draw how busy each device was, a row for each of its numbers, from 0 to 100 %.

    Args:
        readings: Of ``Profile.system``, of metrics that are percentages. Where a row stands for
            several, the value that is farthest from the usual one of its series is drawn.
    """
    columns = {name: readings.column(name).to_pylist() for name in ("node", "device", "metric")}
    nodes = set(columns["node"])
    series = list(zip(*columns.values(), strict=True))
    order = sorted(set(series), key=_in_order)
    times, at = np.unique(readings.column("time_ns").to_numpy(), return_inverse=True)
    row_of = {one: row for row, one in enumerate(order)}
    rows = np.array([row_of[one] for one in series], np.int64)
    cells = np.full((len(order), len(times)), np.nan)
    cells[rows, at] = _farthest(readings, rows, len(order))
    names = [_label(*one, several=len(nodes) > 1) for one in order]
    return draw(
        {
            "type": "heatmap",
            "x": dates(times),
            "y": [as_text(name) for name in names],
            "z": cells.astype(np.float32),
            "zmin": 0,
            "zmax": 100,
            "colorscale": SEQUENTIAL,
            "colorbar": {"thickness": 12, "outlinewidth": 0, "ticksuffix": " %"},
            "hoverongaps": False,
            "connectgaps": False,
            "hovertemplate": "%{y}<br>%{x}<br><b>%{z:.1f} %</b><extra></extra>",
        },
        "machine",
        _machines(len(nodes), len(times)),
        height=min(900, max(260, 140 + 20 * len(names))),
        xaxis={"showline": False, "type": "date"},
        yaxis={"type": "category", "autorange": "reversed", "showgrid": False},
    )


def phases(steps: pa.Table) -> Figure:
    """Draw how long steps took, split into their phases, and the longest of each point.

    Args:
        steps: Of ``Profile.steps``; of several workers the first is drawn.
    """
    workers = steps.column("worker").to_pylist()
    worker = min(workers, default="")
    chosen = steps.filter(pa.array([one == worker for one in workers], pa.bool_()))
    step, count = (chosen.column(name).to_numpy() for name in ("step", "count"))
    line = {"type": "scatter", "x": step, "mode": "lines"}
    traces = [
        {
            **line,
            "y": chosen.column(f"{name}_ns").to_numpy() / count / _MS,
            "name": name,
            "stackgroup": "phases",
            "line": {"width": 0.5, "color": color},
            "fillcolor": faded(color, 0.7),
            "hovertemplate": f"step %{{x}}<br>{name} <b>%{{y:.3g}} ms</b><extra></extra>",
        }
        for name, color in _PHASE_COLORS.items()
    ]
    traces.append(
        {
            **line,
            "y": chosen.column("longest_ns").to_numpy() / _MS,
            "name": "longest step",
            "line": {"width": 1, "color": "#d6394c", "dash": "dot"},
            "hovertemplate": "step %{x}<br>longest <b>%{y:.3g} ms</b><extra></extra>",
        }
    )
    about = f"mean of each phase · {int(count.sum()):,} steps"
    return draw(
        traces,
        "where the time of a step went",
        f"{about} of {worker}" if worker else about,
        height=340,
        hovermode="closest",
        xaxis={"title": {"text": "step"}},
        yaxis={"title": {"text": "ms"}, "rangemode": "tozero"},
    )


def timeline(spans: pa.Table, step: int, *, around: int, most: int) -> Figure:
    """Draw what ran when in a step and those around it, a lane for each kind and thread.

    Args:
        spans: Of ``Profile.spans``, from around the step.
        step: The global step in the middle.
        around: How many steps before it and after it.
        most: How many intervals may be drawn; the longest ones are.
    """
    within = np.abs(spans.column("step").to_numpy() - step) <= around
    starts, ends = spans.column("start_ns").to_numpy(), ends_ns(spans)
    first, last = (starts[within].min(), ends[within].max()) if within.any() else (0, 0)
    chosen = np.flatnonzero((starts < last) & (ends > first))
    durations = spans.column("longest_ns").to_numpy()
    longest = chosen[np.argsort(-durations[chosen], kind="stable")[:most]]
    rows = spans.take(pa.array(np.sort(longest))).to_pylist()
    lanes = len({_lane(row) for row in rows})
    left = f" · the {most:,} longest of {len(chosen):,}" if len(chosen) > most else ""
    return draw(
        [_bars(rows, kind, int(first)) for kind in dict.fromkeys(map(_kind, rows))],
        f"around step {step}",
        f"{len(rows):,} intervals{left}",
        height=180 + 28 * max(1, lanes),
        barmode="overlay",
        xaxis={"title": {"text": "ms"}, "showgrid": True},
        yaxis={"type": "category", "autorange": "reversed", "showgrid": False},
    )


def _kind(row: dict[str, Any]) -> str:
    """Return what tells the colour: of phases each by itself."""
    return str(row["name"] if row["kind"] == "phase" else row["kind"])


def _lane(row: dict[str, Any]) -> str:
    thread = "" if row["thread"] in ("", "main") else f" · {row['thread']}"
    return f"{row['worker']} · {row['kind']}{thread}"


def _bars(rows: list[dict[str, Any]], kind: str, first_ns: int) -> dict[str, Any]:
    of_kind = [row for row in rows if _kind(row) == kind]
    return {
        "type": "bar",
        "orientation": "h",
        "y": [as_text(_lane(row)) for row in of_kind],
        "base": [(row["start_ns"] - first_ns) / _MS for row in of_kind],
        "x": [row["longest_ns"] / _MS for row in of_kind],
        "name": as_text(kind),
        "marker": {"color": _COLORS.get(kind), "line": {"width": 0.5, "color": "#ffffff"}},
        "text": [as_text(f"{row['name']}, step {row['step']}") for row in of_kind],
        "textposition": "none",
        "hovertemplate": "%{text}<br>from %{base:.4g} ms, <b>%{x:.4g} ms</b><extra></extra>",
    }


def _farthest(readings: pa.Table, rows: npt.NDArray[np.int64], num_rows: int) -> Floats:
    """Return of each reading its extreme that is farther from the median of its series."""
    mean, low, high = (readings.column(name).to_numpy() for name in ("value", "min", "max"))
    usual = np.array([np.median(mean[rows == row]) for row in range(num_rows)])
    usual = usual[rows] if num_rows else mean
    farthest: Floats = np.where(np.abs(high - usual) >= np.abs(low - usual), high, low)
    return farthest


def _in_order(series: tuple[str, str, str]) -> tuple[object, ...]:
    node, device, metric = series
    name, number = natural_key(device)
    rank = _DEVICES.index(name) if name in _DEVICES else len(_DEVICES)
    return node, rank, name, metric, number


def _label(node: str, device: str, metric: str, *, several: bool) -> str:
    name = f"{device} {metric.removesuffix('_percent').replace('_', ' ')}"
    return f"{shortened(node, 20)} {name}" if several else name


def _machines(nodes: int, columns: int) -> str:
    what = "1 machine" if nodes == 1 else f"{nodes:,} machines"
    return f"{what} · {columns:,} moments, UTC" if nodes else "nothing was sampled"


_BINS = 100
# The columns that tell series of rows apart.
_OF_SPANS, _OF_READINGS = ("worker", "name"), ("node", "device", "metric")


def interval_timeline(spans: pa.Table, *, points: int = 2000) -> Figure:
    """Draw how long intervals took over time, a line for each worker and name.

    Args:
        spans: Of ``Profile.spans``, such as those of the kind ``step``.
        points: How many points a line may have; of more, the band is the shortest to the longest.
    """
    starts = spans.column("start_ns").to_numpy()
    longest = spans.column("longest_ns").to_numpy() / _MS
    columns = _over_time(spans, _OF_SPANS, starts, longest, points)
    return lines(columns, title="how long it took", unit="ms", over="time")


def interval_histogram(spans: pa.Table) -> Figure:
    """Draw how often intervals took how long, a colour for each worker and name.

    Args:
        spans: Of ``Profile.spans``.
    """
    counts = np.maximum(spans.column("count").to_numpy(), 1)
    each = spans.column("duration_ns").to_numpy() / counts / _MS
    edges = np.linspace(0, max(float(each.max(initial=0)), 1e-6), _BINS + 1)
    series = _counts(spans, _OF_SPANS, each, edges)
    return histogram(edges.tolist(), series, title="how long it took", unit="ms")


def usage_histogram(readings: pa.Table) -> Figure:
    """Draw how often devices were at which value, a colour for each number of each device.

    Args:
        readings: Of ``Profile.system``, of metrics that are percentages.
    """
    edges = np.linspace(0, 100, _BINS // 2 + 1)
    series = _counts(readings, _OF_READINGS, readings.column("value").to_numpy(), edges)
    return histogram(edges.tolist(), series, title="how much was used", unit="%")


def usage_timeline(readings: pa.Table, *, points: int = 2000) -> Figure:
    """Draw what devices were at over time, a line for each number of each device.

    Args:
        readings: Of ``Profile.system``, of metrics of one unit.
        points: How many points a line may have; of more, the band is the lowest to the highest.
    """
    times, values = readings.column("time_ns").to_numpy(), readings.column("value").to_numpy()
    columns = _over_time(readings, _OF_READINGS, times, values, points)
    return lines(columns, title="how much was used", unit="%", over="time")


def _over_time(
    rows: pa.Table, by: Sequence[str], times: Ints, values: Floats, points: int
) -> dict[str, Envelope]:
    """Return the values of each series of rows over time."""
    return {
        " ".join(texts): envelope(times[at], values[at], points=points)
        for texts, at in rows_by(rows, by)
    }


def _counts(
    rows: pa.Table, by: Sequence[str], values: Floats, edges: Floats
) -> dict[str, list[float]]:
    """Return how many values of each series of rows lie in each bin."""
    counts = rows.column("count").to_numpy()
    return {
        " ".join(texts): np.histogram(values[at], edges, weights=counts[at])[0].tolist()
        for texts, at in rows_by(rows, by)
    }
