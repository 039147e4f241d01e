"""How data loaders fare."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

PT_dataloader_analysis = unavailable("PT_dataloader_analysis")
