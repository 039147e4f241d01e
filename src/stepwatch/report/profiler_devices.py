"""GPUs in the profiler report: how much each is used, how evenly, and how full its memory is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..plots import boxes, histogram
from ..plots.distributions import Box
from ..rules.profile.balance import BINS, jensen_shannon
from .document import Block, Cell, Chart, Table, Text
from .machine import MOST_MACHINES
from .usage import Machines, Readings

_GPU = r"gpu\d+"
_NO_GPU = "No GPU was read."
#: A GPU whose p95 and p5 differ by more percent is called fluctuating.
FLUCTUATING = 50.0
#: Two GPUs are used alike up to this distance.
ALIKE = 0.2


def gpu_usage(machines: Machines) -> Iterator[Block]:
    """Yield how much each GPU is used."""
    yield from _told(machines, "busy_percent", "Use of each GPU")


def gpu_memory(machines: Machines) -> Iterator[Block]:
    """Yield how full the memory of each GPU is."""
    yield from _told(machines, "memory_percent", "Memory of each GPU")


def balance(machines: Machines) -> Iterator[Block]:
    """Yield how evenly the GPUs of each machine are used."""
    found = {node: machines.devices(node, _GPU, "busy_percent") for node in machines.nodes}
    if not any(found.values()):
        yield Text(_NO_GPU, "note")
    elif all(len(gpus) < 2 for gpus in found.values()):
        yield Text("No machine has several GPUs, so there is nothing to balance within one.")
    rows = [
        (node, one, other, round(jensen_shannon(gpus[one].counted(), gpus[other].counted()), 2))
        for node, gpus in found.items()
        for one, other in combinations(gpus, 2)
    ]
    apart = tuple(sorted((row for row in rows if row[-1] > ALIKE), key=lambda row: -row[-1]))
    if apart:
        columns = ("machine", "GPU", "other GPU", "distance")
        yield Table(columns, apart, "GPUs that are used differently: 0 is alike, 0.83 not at all")
    yield from (_histogram(gpus, f"Use of the GPUs of {node}") for node, gpus in _first(found))


def batch_size(machines: Machines) -> Iterator[Block]:
    """Yield what a larger batch could still use, on each machine."""
    found = {node: _all_of(machines, node) for node in machines.nodes}
    if not any(found.values()):
        yield Text("No device was read.", "note")
    yield from (_boxes(readings, f"Use of {node}") for node, readings in _first(found))


def _all_of(machines: Machines, node: str) -> dict[str, Readings]:
    cpu = machines.together(node, r"cpu\d*", "busy_percent")
    memory = machines.devices(node, _GPU, "memory_percent")
    return {
        **({"CPU": cpu} if cpu else {}),
        **machines.devices(node, _GPU, "busy_percent"),
        **{f"{name} memory": readings for name, readings in memory.items()},
    }


def box(readings: Readings) -> Box:
    """Return quartiles, and the extremes of what lies within 1.5 times their distance of them."""
    first, middle, third = readings.quantiles(0.25, 0.5, 0.75)
    reach = 1.5 * (third - first)
    near = readings.values[(readings.values >= first - reach) & (readings.values <= third + reach)]
    return float(near.min()), first, middle, third, float(near.max())


def _told(machines: Machines, metric: str, title: str) -> Iterator[Block]:
    """Yield a table of all GPUs, and a box for each of the first machines'."""
    found = {node: machines.devices(node, _GPU, metric) for node in machines.nodes}
    rows = tuple(
        _row(node, name, readings)
        for node, gpus in found.items()
        for name, readings in gpus.items()
    )
    if not rows:
        yield Text(_NO_GPU, "note")
        return
    yield Table(("machine", "GPU", "max %", "p95 %", "p5 %", ""), rows, title)
    yield from (_boxes(gpus, f"{title} of {node}") for node, gpus in _first(found))


def _row(node: str, name: str, readings: Readings) -> tuple[Cell, ...]:
    p95, p5 = readings.quantiles(0.95, 0.05)
    swings = "fluctuating" if p95 - p5 > FLUCTUATING else ""
    said = swings if readings.highest else "not used"
    return node, name, round(readings.highest, 1), round(p95, 1), round(p5, 1), said


def _first(found: dict[str, dict[str, Readings]]) -> list[tuple[str, dict[str, Readings]]]:
    """Return the machines that are drawn: of many the first ones."""
    return [(node, of_node) for node, of_node in found.items() if of_node][:MOST_MACHINES]


def _boxes(found: dict[str, Readings], title: str) -> Chart:
    values = {name: box(readings) for name, readings in found.items()}
    about = "whiskers: smallest and largest within 1.5 times the box"
    return Chart(boxes, {"values": values, "title": title, "about": about, "unit": "%"})


def _histogram(gpus: dict[str, Readings], title: str) -> Chart:
    counts = {name: readings.counted().tolist() for name, readings in gpus.items()}
    said = {"edges": BINS.tolist(), "counts": counts, "title": title, "unit": "% busy"}
    return Chart(histogram, said)
