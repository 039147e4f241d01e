"""How soon a reader sees a step, and what looking for new steps asks of the store.

The time is from the end of a step in the training to the moment at which another reader's
``steps()`` hold it: on a local disk, in a store of which each request takes 50 ms, and in a copy
there of a run that is written to the disk. The cost of looking is that of one ``refresh`` after
one new part, in runs of 1,000 to 100,000 steps.

    python bench/freshness.py [--rounds N]
"""

from __future__ import annotations

import argparse
import builtins
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from latent import LatentStore

from stepwatch.capture import Recorder
from stepwatch.capture.output import Output
from stepwatch.errors import RunNotFound
from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS
from stepwatch.runtime.process import identity
from stepwatch.store import Store, open_store
from stepwatch.store.memory import MemoryStore
from stepwatch.trial import Trial

LATENCY_S = 0.05
SIZES = (1_000, 10_000, 100_000)
TENSORS = 5
# So often a training stores a part, in steps.
STEPS_A_PART = 100
_POLL_S = 0.02
_STEP_S = 0.01


def delays(written: str, read: Store, rounds: int, **where: object) -> Iterator[float]:
    """Yield after how many seconds a step could be read, for several steps of one training.

    Args:
        written: Where the training writes.
        read: What the reader reads.
        rounds: For how many steps.
        where: ``mirror``, if the reader reads that.
    """
    recorder = Recorder(written, output=Output(**where), rank=(0, 1))
    trial, random = None, np.random.default_rng(0)
    for _ in range(rounds):
        for _step in range(int(random.integers(1, 100))):
            last = _step_of(recorder)
            time.sleep(_STEP_S)
        ended = time.monotonic()
        while trial is None or last not in trial.steps():
            time.sleep(_POLL_S)
            trial = _refreshed(trial, read)
        yield time.monotonic() - ended
    recorder.close()


def _step_of(recorder: Recorder) -> int:
    step = recorder.open_step(Mode.TRAIN)
    for tensor in range(TENSORS):
        step.add(TensorInfo(f"t{tensor}", "weights", "float32", (2,)), np.ones(2))
    record = recorder.end_step(Mode.TRAIN)
    assert record is not None
    return record.step


def _refreshed(trial: Trial | None, store: Store) -> Trial | None:
    if trial is not None:
        trial.refresh()
        return trial
    try:
        return Trial(store)
    except RunNotFound:
        return None


class Asked(LatentStore):
    """A store that also counts the keys that it lists."""

    num_keys = 0

    def list(self, prefix: str = "", after: str = "") -> builtins.list[str]:
        """Return some keys, and count them."""
        keys = super().list(prefix, after)
        self.num_keys += len(keys)
        return keys


class Look(NamedTuple):
    """What one refresh asked of the store: requests, and keys in the answers to listings."""

    requests: int
    keys: int


def look_cost(folder: str, steps: int) -> Look:
    """Return what a refresh asks of a run of so many steps that goes on, after one new part."""
    store = open_store(folder)
    start_run(store, Manifest("bench", time.time_ns(), pid=os.getpid(), process=identity()))
    writer = NativeWriter(store, "worker_0")
    infos = [TensorInfo(f"t{number}", "weights", "float32", (2,)) for number in range(TENSORS)]
    layout, numbers = Layout(tuple(infos)), np.ones((TENSORS, NUM_FIELDS))
    asked, trial, before = Asked(store), None, 0
    for step in range(steps + 1):
        writer.write(StepRecord("worker_0", Mode.TRAIN, step, step, step, layout, numbers))
        if step % STEPS_A_PART == 0 or step == steps:
            if step == steps:
                trial = Trial(asked)
                before, asked.num_keys = asked.requests, 0
            writer.flush()
    assert trial is not None
    trial.refresh()
    assert steps in trial.steps()
    return Look(asked.requests - before, asked.num_keys)


def main() -> None:
    """Print a line for each place and each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    far = LatentStore(MemoryStore("freshness"), LATENCY_S)
    copy = LatentStore(MemoryStore("freshness-copy"), LATENCY_S)
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        _show("on a local disk", delays(run, open_store(run), rounds))
        with patch("stepwatch.capture.recorder.open_store", lambda _: far):
            _show("50 ms away", delays(far.url, far, rounds))
        with patch("stepwatch.capture.mirror.open_store", lambda _: copy):
            mirrored = delays(f"{folder}/mirrored", copy, rounds, mirror=copy.url)
            _show("in a copy 50 ms away", mirrored)
        for steps in SIZES:
            cost = look_cost(f"{folder}/{steps}", steps)
            print(f"a look at {steps:>7,} steps: {cost.requests} requests, {cost.keys} keys listed")


def _show(what: str, found: Iterator[float]) -> None:
    seconds = list(found)
    median, worst = statistics.median(seconds), max(seconds)
    print(f"a step {what}: median {median:.2f} s, worst of {len(seconds)} {worst:.2f} s")


if __name__ == "__main__":
    main()
