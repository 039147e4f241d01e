"""A training that is killed at any moment leaves a run that opens, with whole steps only."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from stepwatch.numerics.statistics import summarize
from stepwatch.trial import Trial
from tests.support import fork_server

pytestmark = pytest.mark.slow

AT_A_TIME = 4
RAW_EVERY = 5
NAMES = [f"layer{number}.weight" for number in range(8)]

TRAINING = """
import sys, time
sys.path.insert(0, {here!r})
from tests.test_crash import NAMES, RAW_EVERY, value_of
from stepwatch.capture import Recorder
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode

recorder = Recorder({run!r}, policy=f"weights:raw:every={{RAW_EVERY}}", rank=(0, 1))
while True:
    step = recorder.num_steps
    for number, name in enumerate(NAMES):
        array = value_of(step, number)
        info = TensorInfo(name, "weights", "float32", array.shape)
        recorder.open_step(Mode.TRAIN).add(info, array)
    recorder.end_step(Mode.TRAIN)
    print(step, time.monotonic(), flush=True)
    time.sleep(0.005)
"""


def value_of(step: int, number: int) -> np.ndarray:
    """Return the value of a tensor at a step, the same in every process."""
    return (np.arange(12, dtype=np.float32).reshape(3, 4) + step) * (number - 3)


def train_and_kill(run: Path, steps: int) -> tuple[list[tuple[int, float]], float]:
    """Return the steps that finished, each with its time, and when the process was killed.

    Args:
        run: Where it writes.
        steps: How many end after its first one and before the kill.
    """
    code = TRAINING.format(here=str(Path(__file__).parents[1]), run=str(run))
    process = fork_server.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    lines = [first, *(process.stdout.readline() for _ in range(steps))]
    os.kill(process.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    lines += process.stdout.read().splitlines()
    process.wait()
    finished = [line.split() for line in lines if len(line.split()) == 2]
    return [(int(step), float(at)) for step, at in finished], killed_at


def assert_whole(run: Path) -> None:
    """Every visible step is whole and right."""
    trial = Trial(run)
    records = [record for (record,) in trial.records()]
    steps = [record.step for record in records]

    assert "died" == trial.state
    assert list(range(len(steps))) == steps == trial.steps()
    for record in records:
        assert NAMES == [tensor.name for tensor in record.layout.tensors]
        expected = [value_of(record.step, number) for number in range(len(NAMES))]
        np.testing.assert_array_equal(np.stack([*map(summarize, expected)]), record.statistics)
        assert (set(NAMES) if record.step % RAW_EVERY == 0 else set()) == set(record.raw)
        for number, name in enumerate(NAMES):
            if name in record.raw:
                np.testing.assert_array_equal(expected[number], record.raw[name])
    if steps:
        assert NAMES == trial.tensor_names()
        assert len(steps) == len(trial.tensor(NAMES[0]).statistics())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_killed_at_any_moment_opens_with_whole_steps_only(tmp_path, kills):
    """So many times: the steps up to some one are there, and all of them are right."""
    moments = random.Random(7)
    steps = [moments.randrange(800) for _ in range(kills)]
    runs = [tmp_path / str(number) for number in range(kills)]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        killed = list(pool.map(train_and_kill, runs, steps))
    for run in runs:
        assert_whole(run)

    assert any(Trial(run).steps() for run in runs)
    assert all(len(finished) > number for (finished, _), number in zip(killed, steps, strict=True))
