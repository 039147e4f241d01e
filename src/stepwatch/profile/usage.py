"""How much of each machine a run used."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..formats.profile.tables import rows_by
from ..numerics.columns import numbers, rows_at
from ..numerics.measures import Floats
from ..trial.profile import Profile
from .statistics import BINS, Ints, natural_key, quantiles
from .windows import CORES, GPUS, moments

#: What is summed up of a machine: its name, the devices of which the mean is taken, their metric
#: and its unit.
OF_MACHINES = (
    ("CPU", CORES, "busy_percent", "%"),
    ("CPU memory", "memory", "used_percent", "%"),
    ("GPU", GPUS, "busy_percent", "%"),
    ("GPU memory", GPUS, "memory_percent", "%"),
    ("I/O wait", CORES, "iowait_percent", "%"),
    ("network received", "network", "receive_bytes_per_second", "bytes/s"),
    ("network sent", "network", "transmit_bytes_per_second", "bytes/s"),
    ("disk read", "disk", "read_bytes_per_second", "bytes/s"),
    ("disk written", "disk", "write_bytes_per_second", "bytes/s"),
)


@dataclass(frozen=True)
class JoinedReadings:
    """What was read of one device, or of several of a kind together.

    Args:
        time_ns: Shape ``[n]``, int64, nanoseconds since the Unix epoch, ascending.
        values: Shape ``[n]``, float64: the mean of the readings of each row.
        counts: For how many readings each row stands, shape ``[n]``, int64.
        high: The largest of these, shape ``[n]``, float64.
    """

    time_ns: Ints
    values: Floats
    counts: Ints
    high: Floats

    @property
    def highest(self) -> float:
        """The largest reading."""
        return float(self.high.max(initial=0.0))

    def quantiles(self, *wanted: float) -> tuple[float, ...]:
        """Return quantiles of all readings."""
        return quantiles(self.values, wanted, self.counts)

    def histogram(self) -> Ints:
        """Return how many readings, of percentages, lie in each of ``BINS``."""
        return np.histogram(np.clip(self.values, 0, 100), BINS, weights=self.counts)[0]

    def box(self) -> tuple[float, float, float, float, float]:
        """Return whiskers and quartiles: lowest, 25, 50 and 75 %, highest.

        Whiskers reach to the extremes of what lies within 1.5 times the distance of the quartiles.
        """
        first, middle, third = self.quantiles(0.25, 0.5, 0.75)
        reach = 1.5 * (third - first)
        near = self.values[(self.values >= first - reach) & (self.values <= third + reach)]
        return float(near.min()), first, middle, third, float(near.max())


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of one thing a machine used, over its readings.

    Args:
        node: The machine.
        metric: What, such as ``GPU``.
        unit: The unit of the numbers.
        max: The largest reading.
        p99: A quantile, as are the rest.
        p95: A quantile.
        p50: A quantile.
        min: The smallest.
    """

    node: str
    metric: str
    unit: str
    max: float
    p99: float
    p95: float
    p50: float
    min: float


class Machines:
    """All that was read of the machines of a run.

    Args:
        profile: The profile of the run.
    """

    def __init__(self, profile: Profile) -> None:
        system = profile.system()
        self._found: dict[str, dict[tuple[str, str], JoinedReadings]] = {}
        for (node, device, metric), at in rows_by(system, ("node", "device", "metric")):
            rows = rows_at(system, at)
            columns = (numbers(rows.column(name)) for name in ("time_ns", "value", "count", "max"))
            self._found.setdefault(node, {})[device, metric] = JoinedReadings(*columns)

    @property
    def nodes(self) -> list[str]:
        """The machines of which something was read."""
        return sorted(self._found, key=natural_key)

    def devices(self, node: str, device: str, metric: str) -> dict[str, JoinedReadings]:
        """Return the readings of each device of a kind, a regular expression, by its name."""
        found = {
            name: readings
            for (name, of), readings in self._found[node].items()
            if of == metric and re.fullmatch(device, name)
        }
        return {name: found[name] for name in sorted(found, key=natural_key)}

    def together(self, node: str, device: str, metric: str) -> JoinedReadings | None:
        """Return the mean of all devices of a kind at each moment; ``None`` for no device."""
        found = [*self.devices(node, device, metric).values()]
        if not found:
            return None
        first, moment = moments(np.concatenate([one.time_ns for one in found]))
        many = np.bincount(moment)
        values, highest, counts = (
            np.bincount(moment, np.concatenate(column)) / many
            for column in zip(*((one.values, one.high, one.counts) for one in found), strict=True)
        )
        return JoinedReadings(first, values, counts.astype(np.int64), highest)

    def usage(self) -> list[Usage]:
        """Return what each machine used, those of one kind of device together."""
        found = []
        for node in self.nodes:
            for name, device, metric, unit in OF_MACHINES:
                readings = self.together(node, device, metric)
                if readings is not None:
                    high = (readings.highest, *readings.quantiles(0.99, 0.95, 0.5, 0.0))
                    found.append(Usage(node, name, unit, *(round(max(0.0, x), 2) for x in high)))
        return found
