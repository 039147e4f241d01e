"""Processes that train together, as launchers start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from stepwatch import Trial
from tests.support import ROOT, fork_server

HERE = Path(__file__).parent
TIMEOUT_S = 240


class Ranks:
    """Runs that several processes wrote together.

    Args:
        folder: Where they lie.
        size: How many processes there were.
    """

    def __init__(self, folder, size):
        self.folder = folder
        self.size = size

    @property
    def workers(self):
        return [f"worker_{rank}" for rank in range(self.size)]

    def trial(self, name):
        return Trial(self.folder / name)

    def wholes(self, name):
        """Return the whole tensors that a training gathered, by tensor and step."""
        found = {}
        with np.load(self.folder / f"{name}.npz") as stored:
            for key in stored.files:
                step, _, tensor = key.partition("/")
                found.setdefault(tensor, {})[int(step)] = stored[key]
        return found


def start(program, size, *arguments, **environment):
    """Start a program once for each rank, and return the processes."""
    shared = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT))),
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": str(size),
        **environment,
    }
    return [
        fork_server.Popen(
            [sys.executable, *map(str, (program, *arguments))],
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def finish(processes, timeout_s=TIMEOUT_S):
    """Wait for processes, and return what each wrote to its outputs."""
    try:
        return [process.communicate(timeout=timeout_s) for process in processes]
    finally:
        for process in processes:
            process.kill()


def train(folder, size, *names, program="rank_trainings.py"):
    """Run trainings of a program in so many processes."""
    processes = start(HERE / program, size, folder, *names)
    said = finish(processes)
    assert [0] * size == [process.returncode for process in processes], said
    return Ranks(folder, size)
