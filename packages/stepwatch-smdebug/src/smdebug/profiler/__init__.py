"""The analysis of profiles; see ``smdebug.profiler.utils``."""

from __future__ import annotations

from .algorithm_metrics_reader import LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader
from .system_metrics_reader import (
    LocalSystemMetricsReader,
    S3NumpySystemMetricsReader,
    S3SystemMetricsReader,
)

__all__ = [
    "LocalAlgorithmMetricsReader",
    "LocalSystemMetricsReader",
    "S3AlgorithmMetricsReader",
    "S3NumpySystemMetricsReader",
    "S3SystemMetricsReader",
]
