"""Readings of the hardware as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from stepwatch.formats.profile.sagemaker import sagemaker_names


@dataclass(frozen=True, slots=True)
class ProfilerSystemEvent:
    """A reading."""

    type: str  # such as gpu
    name: str  # such as gpu0; or the number, where there is one device
    dimension: str  # the number, such as GPUUtilization
    value: float
    node_id: str
    timestamp: float  # seconds since the Unix epoch


def system_events(system: pa.Table) -> Iterator[ProfilerSystemEvent]:
    """Yield the readings of a table of ``Profile.system``."""
    columns = ("node", "device", "metric", "time_ns", "value")
    for node, device, metric, time_ns, value in zip(
        *(system.column(name).to_pylist() for name in columns), strict=True
    ):
        yield ProfilerSystemEvent(*sagemaker_names(device, metric), value, node, time_ns / 1e9)
