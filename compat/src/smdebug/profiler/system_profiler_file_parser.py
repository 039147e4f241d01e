"""Readings of the hardware as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from stepwatch.formats.sagemaker_profile.readings import of_sagemaker


@dataclass(frozen=True, slots=True)
class ProfilerSystemEvent:
    """A reading.

    Args:
        type: What was read, such as ``gpu``.
        name: Which of these, such as ``gpu0``; or the number, where there is one device.
        dimension: The number, such as ``GPUUtilization``.
        value: What was read.
        node_id: The machine.
        timestamp: When, in seconds since the Unix epoch.
    """

    type: str
    name: str
    dimension: str
    value: float
    node_id: str
    timestamp: float


def system_events(system: pa.Table) -> Iterator[ProfilerSystemEvent]:
    """Yield the readings of a table of ``Profile.system``."""
    columns = ("node", "device", "metric", "time_ns", "value")
    for node, device, metric, time_ns, value in zip(
        *(system.column(name).to_pylist() for name in columns), strict=True
    ):
        yield ProfilerSystemEvent(*of_sagemaker(device, metric), value, node, time_ns / 1e9)
