"""Profiles as data frames."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

PandasFrame = unavailable("PandasFrame")
