"""What a training takes of a process that it has to itself: peak memory, and background work.

Imports nothing of ours: the real smdebug's environment measures itself by it.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Footprint:
    """What a training took.

    Args:
        peak_mb: The most memory that was resident, 10⁶ bytes, from the start of the process on.
        background_ms: CPU time of all threads but the one that trains, per timed step, until all
            is written.
    """

    peak_mb: float
    background_ms: float


def footprint_of(
    step: Callable[[], float],
    settle: Callable[[], object],
    close: Callable[[], object],
    *,
    warm_up: int,
    steps: int,
) -> Footprint:
    """Train, close, and return what it took.

    Args:
        step: Trains one step.
        settle: Waits for what a tool does once, at its start; called after the warm-up.
        close: Writes what is left.
        warm_up: Steps before, whose background work is not counted.
        steps: Steps that are.
    """
    for _ in range(warm_up):
        step()
    settle()
    before = time.process_time() - time.thread_time()
    for _ in range(steps):
        step()
    close()
    background_s = time.process_time() - time.thread_time() - before
    return Footprint(peak_mb(), background_s / steps * 1000)


def peak_mb() -> float:
    """Return the most memory that this process had resident, in 10⁶ bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of Linux remembers the process that forked this one
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # of macOS, in bytes
