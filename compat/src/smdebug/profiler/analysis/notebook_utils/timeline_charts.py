"""Charts of profiles."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

TimelineCharts = unavailable("TimelineCharts")
