"""Runs as large as people make them, made by the writer of the format.

The numbers are as a training would leave them: extremes are float32, sums are float64, none
repeats, so that they compress as little as real ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.merge import compact
from stepwatch.formats.native.reader import NativeReader
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import ABS_MIN, MAX, MIN, NUM_FIELDS
from stepwatch.store import open_store

BLOCK = 200_000  # rows whose numbers are drawn together
ELEMENTS = 512 * 512


def tensor_name(number: int) -> str:
    """Return the name of one of the tensors."""
    return f"blocks.{number}.weight"


def write_run(folder: Path, steps: int, tensors: int, collection: str = "weights") -> None:
    """Write a run, and say on stderr how far it is.

    Args:
        folder: Where; it holds nothing yet.
        steps: How many, all of mode TRAIN.
        tensors: How many in each step.
        collection: What they are; the first one is a loss if they are gradients.
    """
    store = open_store(folder)
    start_run(store, Manifest("scale", time.time_ns()))
    # The clock stands still: a part is written when its rows are enough, as in a fast training.
    writer = NativeWriter(store, "worker_0", clock=lambda: 0.0)
    said = time.monotonic()
    for record in _records(steps, tensors, collection):
        writer.write(record)
        if time.monotonic() - said > 5:
            said = time.monotonic()
            print(f"  written: {record.step:,} of {steps:,} steps", file=sys.stderr)
    writer.close(End("finished", time.time_ns(), steps))


def compact_run(folder: Path) -> None:
    """Merge the parts of a run as ``stepwatch compact`` does."""
    store = open_store(folder)
    reader = NativeReader(store)
    reader.refresh()
    for worker in reader.workers:
        compact(store, reader.parts(worker))


def _records(steps: int, tensors: int, collection: str) -> Iterator[StepRecord]:
    infos = [
        TensorInfo(tensor_name(number), collection, "float32", (512, 512), True, 1)
        for number in range(tensors)
    ]
    if collection == "gradients":
        infos[0] = TensorInfo("loss/cross_entropy", "losses", "float32", (), True, 1)
    layout = Layout(tuple(infos))
    random = np.random.default_rng(0)
    size = max(1, BLOCK // tensors)
    for first in range(0, steps, size):
        block = _statistics(random, size * tensors).reshape(size, tensors, NUM_FIELDS)
        for step, rows in enumerate(block[: steps - first], first):
            now = 10**18 + step * 10**8 + step % 7919 * 1000  # no clock ticks evenly
            yield StepRecord("worker_0", Mode.TRAIN, step, step, now, layout, rows)


def _statistics(random: np.random.Generator, rows: int) -> np.ndarray:
    """Return statistics that could be of weights, shape ``[rows, NUM_FIELDS]``, float64."""
    spread = random.lognormal(-3, 0.2, rows)
    statistics = np.zeros((rows, NUM_FIELDS))
    statistics[:, 0] = ELEMENTS
    statistics[:, MIN:] = random.normal(1, 0.1, (rows, NUM_FIELDS - MIN)) * spread[:, None]
    statistics[:, MAX + 1 : ABS_MIN] *= ELEMENTS
    statistics[:, MIN] *= -1
    statistics[:, ABS_MIN] *= 1e-6
    for extreme in (MIN, MAX, ABS_MIN):
        statistics[:, extreme] = statistics[:, extreme].astype(np.float32)
    return statistics
