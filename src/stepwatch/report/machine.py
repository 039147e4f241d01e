"""What machines did: readings of a profile as lines, and as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..formats.native.text_columns import text_codes
from ..plots import lines
from ..plots.downsample import Envelope
from ..trial.profile import Profile
from .document import Chart, Table
from .tensors import numbers

Floats = npt.NDArray[np.float64]
#: Of more machines only the first ones are drawn; tables list all.
MOST_MACHINES = 4
#: What is read of machines as shares of what they have: device, metric, and what it is called.
PERCENTAGES = (
    ("cpu", "busy_percent", "CPU"),
    ("cpu", "iowait_percent", "waiting for I/O"),
    ("memory", "used_percent", "memory"),
    (r"gpu\d+", "busy_percent", "{}"),
    (r"gpu\d+", "memory_percent", "{} memory"),
)
_DEVICES = "cpu|memory|gpu\\d+"
_METRICS = "busy_percent|iowait_percent|used_percent|memory_percent"


def machine_chart(
    profile: Profile,
    start_ns: int | None,
    end_ns: int | None,
    *,
    title: str,
    span: tuple[int, int] | None = None,
    points: int = 300,
) -> Chart | None:
    """Return what the machines did in a time; ``None`` if nobody looked.

    Args:
        profile: Of the run.
        start_ns: From when on.
        end_ns: Until when.
        title: What is drawn.
        span: The time that is pointed out.
        points: How many points a line may have.
    """
    rows = profile.system(start_ns, end_ns, device=_DEVICES, metric=_METRICS, points=points)
    columns = {name: as_envelope(one) for name, one in named_series(rows)}
    if not columns:
        return None
    said = {"columns": columns, "title": title, "unit": "%", "over": "time", "span": span}
    told = {**said, "columns": numbers(columns)}
    return Chart(lines, {**said, "limits": (0, 104)}, told)


def named_series(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each device and metric of ``PERCENTAGES`` with what people call it.

    Of more than ``MOST_MACHINES`` machines only the first ones.
    """
    found = by_series(rows)
    nodes = sorted({node for node, _, _ in found}, key=natural)
    for node in nodes[:MOST_MACHINES]:
        devices = sorted({device for of, device, _ in found if of == node}, key=natural)
        for pattern, metric, words in PERCENTAGES:
            for device in (one for one in devices if re.fullmatch(pattern, one)):
                if (node, device, metric) in found:
                    name = f"{node} " * (len(nodes) > 1) + words.format(device.upper())
                    yield name, found[node, device, metric]


def by_series(rows: pa.Table) -> dict[tuple[str, str, str], pa.Table]:
    """Return the rows of each machine, device and metric, in their order."""
    columns = [text_codes(rows.column(name)) for name in ("node", "device", "metric")]
    codes = np.stack([column.codes for column in columns])
    order = np.lexsort(codes)
    ordered, codes = rows.take(pa.array(order)), codes[:, order]
    changes = (np.diff(codes, axis=1) != 0).any(axis=0)
    starts = np.flatnonzero(np.append(True, changes)) if len(order) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(order))
    found = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=False):
        node, device, metric = (
            str(column.values[code]) for column, code in zip(columns, codes[:, start], strict=True)
        )
        found[node, device, metric] = ordered.slice(start, end - start)
    return found


def as_envelope(rows: pa.Table) -> Envelope:
    """Return rows of one device and metric as what can be drawn."""
    times = rows.column("time_ns").to_numpy()
    low, high, mean = (rows.column(name).to_numpy() for name in ("min", "max", "value"))
    return Envelope(times, times, low, high, mean, np.zeros(len(rows), np.int64))


def then_and_usually(profile: Profile, start_ns: int, end_ns: int) -> Table | None:
    """Return what machines did in a time, beside what they do in the whole run."""
    rows = profile.system(device=_DEVICES, metric=_METRICS)
    found = []
    for name, one in named_series(rows):
        times, values = one.column("time_ns").to_numpy(), one.column("value").to_numpy()
        then = values[(times >= start_ns) & (times < end_ns)]
        if not len(then):  # shorter than it is between two readings: the one before it counts
            then = values[max(0, int(np.searchsorted(times, start_ns, "right")) - 1) :][:1]
        usual = quantiles(values, one.column("count").to_numpy(), (0.05, 0.5, 0.95))
        low, middle, high = (round(one, 1) for one in usual)
        found.append((name, round(float(then.mean()), 1), low, middle, high))
    if not found:
        return None
    columns = ("%", "at this step", "p5 of the run", "median", "p95")
    return Table(columns, tuple(found), "What the machine did")


def quantiles(
    values: npt.ArrayLike, counts: npt.ArrayLike, wanted: tuple[float, ...]
) -> tuple[float, ...]:
    """Return quantiles of values that stand for several each: the nearest one that occurs.

    Args:
        values: Shape ``[n]``; nan is left out.
        counts: Shape ``[n]``, for how many each stands.
        wanted: Between 0 and 1.

    Returns:
        One for each that is wanted; nan for no values.

    Example:
        >>> quantiles([5.0, 1.0, 9.0], [1, 8, 1], (0.0, 0.5, 0.95))
        (1.0, 1.0, 9.0)
    """
    values_, counts_ = np.asarray(values, np.float64), np.asarray(counts, np.float64)
    known = np.isfinite(values_)
    order = np.argsort(values_[known], kind="stable")
    sorted_, weights = values_[known][order], np.cumsum(counts_[known][order])
    if not len(sorted_):
        return (float("nan"),) * len(wanted)
    places = np.searchsorted(weights, np.array(wanted) * weights[-1])
    return tuple(float(sorted_[min(place, len(sorted_) - 1)]) for place in places)


def rows_of(rows: pa.Table, column: str, value: str) -> pa.Table:
    """Return the rows that have a text in a column."""
    return rows.filter(pc.equal(rows.column(column).cast(pa.string()), value))


def natural(name: str) -> tuple[str, int]:
    """Return by what to sort names so that ``gpu10`` comes after ``gpu9``."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or -1)
