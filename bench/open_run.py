"""How long a large run takes to open, and to give one tensor's mean over all its steps.

Makes two runs as training leaves them (by the writer of the format; not compacted), then opens
each in a fresh process. What is imported is timed apart.

    python bench/open_run.py [--steps N --tensors N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time

import numpy as np

from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import MIN, NUM_FIELDS
from stepwatch.store import open_store

SIZES = ((100_000, 100), (1_000_000, 10))
READ = """
import json, pathlib, re, resource, sys, time
def peak_mb():
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # ru_maxrss of Linux remembers the process that forked this one
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # of macOS, in bytes
start = time.perf_counter()
from stepwatch.trial import Trial
imported, imports_mb = time.perf_counter(), peak_mb()
trial = Trial(sys.argv[1])
opened = time.perf_counter()
mean = trial.tensor(sys.argv[2]).statistics()["mean"]
read = time.perf_counter()
peak = peak_mb()
print(json.dumps({
    "import_s": imported - start,
    "open_s": opened - imported,
    "read_s": read - opened,
    "together_s": read - imported,
    "peak_mb": peak,
    "reading_mb": peak - imports_mb,
    "steps": len(mean),
}))
"""


def write_run(url: str, steps: int, tensors: int) -> str:
    """Write a run of random statistics and return the name of one of its tensors.

    Args:
        url: Where.
        steps: How many, all of mode TRAIN.
        tensors: How many in each step.
    """
    infos = tuple(
        TensorInfo(f"blocks.{number}.weight", "weights", "float32", (512, 512))
        for number in range(tensors)
    )
    layout = Layout(infos)
    statistics = np.random.default_rng(0).normal(size=(997, tensors, NUM_FIELDS))
    statistics[..., :MIN] = [512 * 512, 0, 0, 0, 0]
    store = open_store(url)
    start_run(store, Manifest("bench", time.time_ns()))
    # The clock stands still: a part is written when its rows are enough, as in a fast training.
    writer = NativeWriter(store, "worker_0", clock=lambda: 0.0)
    for step in range(steps):
        now = 10**18 + step * 10**8
        row = statistics[step % len(statistics)]
        writer.write(StepRecord("worker_0", Mode.TRAIN, step, step, now, layout, row))
    writer.close(End("finished", time.time_ns(), steps))
    return infos[tensors // 2].name


def measure(url: str, tensor: str) -> dict[str, float]:
    """Return what opening and reading cost a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", READ, url, tensor], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tensors", type=int, default=100)
    arguments = parser.parse_args()
    sizes = [(arguments.steps, arguments.tensors)] if arguments.steps else SIZES
    for steps, tensors in sizes:
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            name = write_run(folder, steps, tensors)
            made = time.perf_counter() - started
            parts = len(open_store(folder).list("observations/"))
            cost = measure(folder, name)
        print(
            f"{steps:,} steps x {tensors} tensors ({parts} parts, written in {made:.0f} s): "
            f"import {cost['import_s']:.2f} s, open {cost['open_s']:.2f} s, "
            f"read {cost['read_s']:.2f} s, together {cost['together_s']:.2f} s, "
            f"peak memory {cost['peak_mb']:.0f} MB"
        )


if __name__ == "__main__":
    main()
