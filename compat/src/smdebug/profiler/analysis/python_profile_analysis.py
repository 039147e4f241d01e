"""The analysis of what Python's profilers wrote."""

from __future__ import annotations

from smdebug.profiler.unavailable import unavailable

PythonProfileAnalysis = unavailable("PythonProfileAnalysis")
cProfileAnalysis = unavailable("cProfileAnalysis")  # noqa: N816 - smdebug's name
PyinstrumentAnalysis = unavailable("PyinstrumentAnalysis")
