"""A trial of what a profiler wrote."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

ProfilerTrial = unavailable("ProfilerTrial")
