"""Runs of two workers, written without a training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, TensorInfo
from stepwatch.store import open_store
from stepwatch.testing.made_runs import make_record


def two_workers(run, *, other=(-1, ""), prefix="", steps=6):
    """Write a run of two workers with a batch and a weight each.

    Args:
        run: Where.
        other: A step and a worker: the batch of this one is another at this step, and the weight
            of both after it.
        prefix: Of all names.
        steps: How many.
    """
    store = open_store(str(run))
    start_run(store, Manifest("made", 1, num_workers=2))
    for worker in ("worker_0", "worker_1"):
        writer = NativeWriter(store, worker)
        for step in range(steps):
            moved = (step, worker) == other
            values = {
                "batch/0": np.full(4, step + moved, np.float32),
                "fc.weight": np.full(4, step + (0 <= other[0] < step), np.float32),
            }
            values = {prefix + name: value for name, value in values.items()}
            record = make_record(step, values, worker=worker)
            batch, weight = record.layout.tensors
            tensors = (TensorInfo(batch.name, "batches", batch.dtype, batch.shape), weight)
            writer.write(replace(record, layout=Layout(tensors)))
        writer.close(End("finished", 2, steps))
