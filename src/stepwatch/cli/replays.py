"""Has recorded steps run again and again, under one change after the other, by another process."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config import environment
from ..errors import StepUnavailable, StepwatchError
from ..formats.blackbox import Frame
from ..formats.manifest import Manifest
from ..trial.alternatives import Alternative, Forwards, Replayed
from ..trial.recording import Recording

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Task:
    """What is run again.

    Args:
        manifest: Of the run.
        recording: The steps.
        forwards: The calls of models in all recorded steps.
        snapshots: By TRAIN step.
        options: Of the optimizers, by TRAIN step, number of the parameter group and name.
        limit_s: A replay that takes longer is ended.
        levels: What is kept of tensors beside statistics, and the full values of outputs; ``None``
            for the full values of all.
        num_evaluations: How many EVAL steps the run has among these steps and after them.
        drawn: The rows of the data set that were drawn last before each frame that has any, by its
            number.
    """

    manifest: Manifest
    recording: Recording
    forwards: Mapping[int, Forwards]
    snapshots: Mapping[int, Frame]
    options: Mapping[int, Mapping[int, Mapping[str, Any]]]
    limit_s: float = 600.0
    levels: Mapping[str, int] | None = None
    num_evaluations: int = 0
    drawn: Mapping[int, Array] = field(default_factory=dict)


class Replays:
    """Runs a task again under alternatives; a context manager.

    Args:
        task: What is run again.
        blames: Find the share of each row in the loss and the gradient of the last step.
    """

    def __init__(self, task: Task, *, blames: bool = False) -> None:
        if not hasattr(os, "fork"):
            raise StepwatchError("replays run in forks, which this system does not have")
        self._task, self._blames = task, blames
        self.count = 0

    def __enter__(self) -> Replays:
        self._place = tempfile.TemporaryDirectory(prefix="stepwatch-replays-")
        folder = Path(self._place.name)
        (folder / "task").write_bytes(pickle.dumps((self._task, self._blames)))
        command = [sys.executable, "-m", "stepwatch.cli.replay_process", str(folder)]
        variables = {**environment(), "WANDB_MODE": "disabled"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables,
            start_new_session=True,
        )
        return self

    def run(self, change: Alternative) -> Replayed:
        """Run the steps again with a change."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.count += 1
        try:
            print(json.dumps(asdict(change)), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise StepUnavailable("the process that runs the script again has ended")
        if error := json.loads(line)["error"]:
            return Replayed(error=error)
        # Written by a fork of our own process, a moment ago, in a folder of our own.
        found: Replayed = pickle.loads(Path(self._place.name, "answer").read_bytes())
        return found

    def __exit__(self, *_: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._place.cleanup()
