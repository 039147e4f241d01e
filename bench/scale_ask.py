"""Ask one run one question, in a process that has done nothing before, and say what it took.

python bench/scale_ask.py RUN LATENCY_S (series NAME | step NUMBER)
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from pathlib import Path

START = time.perf_counter()

from latent import LatentStore  # noqa: E402  what is imported is timed

from stepwatch import Trial  # noqa: E402
from stepwatch.store import open_store  # noqa: E402


def curve(trial: Trial, name: str) -> int:
    """Read one statistic of one tensor over all steps; return of how many."""
    return len(trial.tensor(name).statistics(only=["mean"])["mean"])


def series(trial: Trial, name: str) -> int:
    """Read all statistics of one tensor over all steps; return of how many."""
    return len(trial.tensor(name).statistics()["mean"])


def step(trial: Trial, number: str) -> int:
    """Read what was recorded of one step; return of how many tensors."""
    (record,) = next(trial.records(after=int(number) - 1))
    assert record.step == int(number)
    return len(record.layout)


QUESTIONS = {"curve": curve, "series": series, "step": step}


def main() -> None:
    """Print seconds, requests, bytes and peak memory as JSON."""
    run, latency_s, question, what = sys.argv[1:]
    store = LatentStore(open_store(run), float(latency_s))
    start, cpu = time.perf_counter(), time.process_time()
    trial = Trial(store)
    opened, requests, bytes_read = time.perf_counter(), store.requests, store.bytes_read
    found = QUESTIONS[question](trial, what)
    print(
        json.dumps(
            {
                "import_s": start - START,
                "open_s": opened - start,
                "open_requests": requests,
                "open_mb": bytes_read / 1e6,
                "answer_s": time.perf_counter() - opened,
                "cpu_s": time.process_time() - cpu,
                "answer_requests": store.requests - requests,
                "answer_mb": (store.bytes_read - bytes_read) / 1e6,
                "peak_mb": _peak_mb(),
                "found": found,
            }
        )
    )


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of Linux remembers the process that forked this one
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        if found:
            return int(found[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # of macOS, in bytes


if __name__ == "__main__":
    main()
