"""Metrics of the hardware."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

LocalSystemMetricsReader = unavailable("LocalSystemMetricsReader")
S3SystemMetricsReader = unavailable("S3SystemMetricsReader")
S3NumpySystemMetricsReader = unavailable("S3NumpySystemMetricsReader")
