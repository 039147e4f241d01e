"""Readings of the hardware: JSON, an object a line."""

from __future__ import annotations

import json
import math

from ..profile.tables import Sample

#: What SageMaker calls a number, by type and by dimension or, without one, by name.
_METRICS = {
    ("cpu", "CPUUtilization"): "busy_percent",
    ("cpu", "I/OWaitPercentage"): "iowait_percent",
    ("gpu", "GPUUtilization"): "busy_percent",
    ("gpu", "GPUMemoryUtilization"): "memory_percent",
    ("memory", "MemoryUsedPercent"): "used_percent",
    ("i/o", "IOPS"): "iops",
    ("i/o", "ReadThroughputInBytesPerSecond"): "read_bytes_per_second",
    ("i/o", "WriteThroughputInBytesPerSecond"): "write_bytes_per_second",
    ("network", "ReceiveBytesPerSecond"): "receive_bytes_per_second",
    ("network", "TransmitBytesPerSecond"): "transmit_bytes_per_second",
}
#: The devices that have no name of their own.
_DEVICES = {"memory": "memory", "i/o": "disk", "network": "network"}
#: The traffic of SageMaker itself, which is not the training's.
_PLATFORM = "Platform"


def parse_readings(data: bytes) -> tuple[list[Sample], int]:
    """Return the readings of a file, and how many of its lines are none.

    Example:
        >>> line = b'{"Type":"gpu","Name":"gpu0","Dimension":"GPUUtilization","Value":8.0,'
        >>> parse_readings(line + b'"NodeId":"algo-1","Timestamp":1591160640.5}\\n' + line)
        ([Sample(time_ns=1591160640500000000, device='gpu0', metric='busy_percent', value=8.0)], 1)
    """
    lines = data.splitlines()
    samples = [sample for sample in map(_sample, lines) if sample is not None]
    return samples, sum(map(bool, lines)) - len(samples)


def _sample(line: bytes) -> Sample | None:
    try:
        row = json.loads(line)
        kind, name, dimension = str(row["Type"]), str(row["Name"]), str(row.get("Dimension") or "")
        time_s, value = float(row["Timestamp"]), float(row["Value"])
        time_ns = round(time_s * 1e6) * 1000  # a float holds no more of a time of day
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    metric = _METRICS.get((kind, dimension if kind in ("cpu", "gpu") else name), dimension or name)
    device = _DEVICES.get(kind, name) + ("-platform" if dimension == _PLATFORM else "")
    return Sample(time_ns, device, metric, value)


def of_sagemaker(device: str, metric: str) -> tuple[str, str, str]:
    """Return type, name and dimension under which SageMaker stores a number; its inverse.

    Example:
        >>> of_sagemaker("gpu0", "busy_percent"), of_sagemaker("memory", "used_percent")
        (('gpu', 'gpu0', 'GPUUtilization'), ('memory', 'MemoryUsedPercent', ''))
    """
    plain = device.removesuffix("-platform")
    kinds = {own: kind for kind, own in _DEVICES.items()}
    kind = kinds.get(plain) or plain.rstrip("0123456789")
    theirs = {(of, ours): name for (of, name), ours in _METRICS.items()}.get((kind, metric), metric)
    if kind in ("cpu", "gpu"):
        return kind, device, theirs
    traffic = "Algorithm" if plain == device else _PLATFORM
    return kind, theirs, traffic if kind == "network" else ""
