"""Operators in the traces of detailed windows: which of them took the time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from typing import Any

from ..trial import Trial

#: Of more traces only the last ones are read.
MOST_TRACES = 8
#: Operators with a smaller share are left out, and what is left is taken as the whole.
LEAST_SHARE = 0.02
_CPU, _GPU = ("cpu_op",), ("kernel", "gpu_memcpy", "gpu_memset")


def operators(trial: Trial) -> tuple[dict[str, float], dict[str, float]]:
    """Return the microseconds of each operator on the CPU, and on GPUs, the costliest first.

    Time within an operator that another one spends is counted for both. A trace that cannot be
    read counts for nothing.
    """
    on_cpu: dict[str, float] = defaultdict(float)
    on_gpu: dict[str, float] = defaultdict(float)
    for key in trial.profile.traces[-MOST_TRACES:]:
        for event in _events(trial, key):
            for found, kinds in ((on_cpu, _CPU), (on_gpu, _GPU)):
                if event.get("cat") in kinds and event.get("ph") == "X":
                    found[str(event.get("name"))] += float(event.get("dur", 0.0))
    return _costly(on_cpu), _costly(on_gpu)


def _events(trial: Trial, key: str) -> list[dict[str, Any]]:
    try:
        data = trial.store.get(key)
        text = gzip.decompress(data) if key.endswith(".gz") else data
        found = json.loads(text)
    except (OSError, EOFError, ValueError, zlib.error):
        return []
    events = found.get("traceEvents", []) if isinstance(found, dict) else found
    return [event for event in events if isinstance(event, dict)]


def _costly(found: dict[str, float]) -> dict[str, float]:
    whole = sum(found.values())
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return {name: cost for name, cost in ordered if cost >= LEAST_SHARE * whole > 0}
