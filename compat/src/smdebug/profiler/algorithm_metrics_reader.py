"""Metrics of the framework."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

LocalAlgorithmMetricsReader = unavailable("LocalAlgorithmMetricsReader")
S3AlgorithmMetricsReader = unavailable("S3AlgorithmMetricsReader")
