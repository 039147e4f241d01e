"""How much of each machine was used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..rules.profile.balance import BINS
from ..rules.profile.usage import OF_MACHINES
from ..trial.profile import Profile
from .machine import by_series, natural, quantiles

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Above this a device counts as well used, percent.
WELL_USED = 70.0
_TICK_NS = 100_000_000


@dataclass(frozen=True)
class Readings:
    """What was read of one device, or of several of a kind together.

    Args:
        times: Shape ``[n]``, int64, nanoseconds since the Unix epoch, ascending.
        values: Shape ``[n]``, float64.
        counts: For how many readings each stands, shape ``[n]``, int64.
        high: The largest of these, shape ``[n]``, float64.
    """

    times: Ints
    values: Floats
    counts: Ints
    high: Floats

    @property
    def highest(self) -> float:
        """The largest reading."""
        return float(self.high.max(initial=0.0))

    def quantiles(self, *wanted: float) -> tuple[float, ...]:
        """Return quantiles of all readings; see ``machine.quantiles``."""
        return quantiles(self.values, self.counts, wanted)

    def counted(self) -> Ints:
        """Return how many readings, of percentages, lie in each of ``balance.BINS``."""
        return np.histogram(np.clip(self.values, 0, 100), BINS, weights=self.counts)[0]


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of one thing a machine used, over its readings.

    Args:
        node: The machine.
        metric: What, such as ``GPU``.
        unit: Of the numbers.
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
    """All that was read of machines.

    Args:
        profile: Of the run.
    """

    def __init__(self, profile: Profile) -> None:
        self._found: dict[str, dict[tuple[str, str], Readings]] = {}
        for (node, device, metric), rows in by_series(profile.system()).items():
            self._found.setdefault(node, {})[device, metric] = _readings(rows)

    @property
    def nodes(self) -> list[str]:
        """The machines of which something was read."""
        return sorted(self._found, key=natural)

    def devices(self, node: str, device: str, metric: str) -> dict[str, Readings]:
        """Return the readings of each device of a kind, a regular expression, by its name."""
        found = {
            name: readings
            for (name, of), readings in self._found[node].items()
            if of == metric and re.fullmatch(device, name)
        }
        return {name: found[name] for name in sorted(found, key=natural)}

    def together(self, node: str, device: str, metric: str) -> Readings | None:
        """Return the mean of all devices of a kind at each moment."""
        found = [*self.devices(node, device, metric).values()]
        return _joined(found) if found else None


def usage(machines: Machines) -> list[Usage]:
    """Return what each machine used, those of one kind of device together."""
    found = []
    for node in machines.nodes:
        for name, device, metric, unit in OF_MACHINES:
            readings = machines.together(node, device, metric)
            if readings is not None:
                high = (readings.highest, *readings.quantiles(0.99, 0.95, 0.5, 0.0))
                found.append(Usage(node, name, unit, *(round(max(0.0, one), 2) for one in high)))
    return found


def _joined(found: list[Readings]) -> Readings:
    times = np.concatenate([one.times for one in found])
    ticks, place = np.unique(times // _TICK_NS, return_inverse=True)
    many = np.bincount(place)
    values, highest, counts = (
        np.bincount(place, np.concatenate(column))
        for column in zip(*((one.values, one.high, one.counts) for one in found), strict=True)
    )
    whole = (counts / many).astype(np.int64)
    return Readings(ticks * _TICK_NS, values / many, whole, highest / many)


def _readings(rows: pa.Table) -> Readings:
    return Readings(
        *(rows.column(name).to_numpy() for name in ("time_ns", "value", "count", "max"))
    )


def verdicts(used: list[Usage]) -> Iterator[str]:
    """Yield a sentence for each machine: whether it is used well, and what holds it up.

    Example:
        >>> low = [Usage("here", name, "%", 9, 9, 9, 9, 9) for name in ("GPU", "CPU")]
        >>> list(verdicts(low))
        ['here is under-used: p95 of its GPUs is 9 %, of its CPUs 9 %. A smaller machine would do.']
    """
    for node in dict.fromkeys(one.node for one in used):
        of_node = {one.metric: one for one in used if one.node == node}
        gpu, cpu = of_node.get("GPU"), of_node.get("CPU")
        if cpu is None and gpu is None:
            continue
        yield f"{node} {_verdict(gpu, cpu)}"


def _verdict(gpu: Usage | None, cpu: Usage | None) -> str:
    of_cpu = f"of its CPUs {cpu.p95:g} %" if cpu else "of its CPUs nothing is known"
    if gpu is None:
        busy = cpu is not None and cpu.p95 >= WELL_USED
        said = "is busy" if busy else "has cores to spare"
        return f"has no GPU that was read, and {said}: p95 {of_cpu}."
    if gpu.p50 > WELL_USED:
        return f"is well used: the median of its GPUs is {gpu.p50:g} %."
    if gpu.p95 < WELL_USED and cpu is not None and cpu.p95 > WELL_USED:
        return f"is held up by its CPUs: p95 of its GPUs is {gpu.p95:g} %, {of_cpu}."
    if gpu.p95 < WELL_USED:
        used = f"p95 of its GPUs is {gpu.p95:g} %, {of_cpu}"
        return f"is under-used: {used}. A smaller machine would do."
    cpu_half = f" and of its CPUs {cpu.p50:g} %" if cpu else ""
    return f"is used in part: the median of its GPUs is {gpu.p50:g} %{cpu_half}."
