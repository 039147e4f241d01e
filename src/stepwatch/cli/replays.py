"""Has recorded steps run again and again, under one change after the other, by other processes.

Of a run of several processes each runs its own steps, all together: on this machine, where they
meet at a port of it.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..config import environment
from ..errors import StepUnavailable, StepwatchError
from ..formats.blackbox import Frame
from ..formats.manifest import Manifest
from ..runtime.process import free_port
from ..trial.alternatives import AS_RECORDED, CHANGES_BATCH, Alternative, Forwards, Replayed
from ..trial.recording import Recording

Array = npt.NDArray[np.generic]
#: How long the others may go on after one process has failed: they wait for it in a collective.
_GRACE_S = 10.0


@dataclass(frozen=True)
class Task:
    """What one process runs again.

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
        deterministic: Let torch use deterministic algorithms only.
    """

    manifest: Manifest
    recording: Recording
    forwards: Mapping[int, Forwards] = field(default_factory=dict)
    snapshots: Mapping[int, Frame] = field(default_factory=dict)
    options: Mapping[int, Mapping[int, Mapping[str, Any]]] = field(default_factory=dict)
    limit_s: float = 600.0
    levels: Mapping[str, int] | None = None
    num_evaluations: int = 0
    drawn: Mapping[int, Array] = field(default_factory=dict)
    deterministic: bool = False


class Replays:
    """Runs tasks again, together and under alternatives; a context manager.

    Args:
        tasks: One for each process of the run, by rank.
        hooks: The module of ``hooks.torch.replay`` that makes the hooks.
        shows_output: Let through what the script prints in its first process.

    Raises:
        StepUnavailable: The processes have no snapshot in common.
    """

    def __init__(
        self, tasks: Sequence[Task], hooks: str = "alternatives", *, shows_output: bool = False
    ) -> None:
        if not hasattr(os, "fork"):
            raise StepwatchError("replays run in forks, which this system does not have")
        firsts = sorted({one.recording.first for one in tasks})
        if len(firsts) > 1:
            raise StepUnavailable(
                f"the processes have no snapshot in common: they begin with TRAIN steps {firsts}"
            )
        self._tasks, self._hooks, self._shows_output = tasks, hooks, shows_output
        self._processes: list[subprocess.Popen[str]] = []
        self._answers: list[IO[str]] = []

    def __enter__(self) -> Replays:
        self._place = tempfile.TemporaryDirectory(prefix="stepwatch-replays-")
        variables = {**environment(), "WANDB_MODE": "disabled"}
        for rank, task in enumerate(self._tasks):
            folder = self._folder(rank)
            folder.mkdir()
            shows = self._shows_output and rank == 0
            (folder / "task").write_bytes(pickle.dumps((task, self._hooks, shows)))
            answers, given = os.pipe()
            command = [sys.executable, "-m", "stepwatch.cli.replay_process", str(folder)]
            self._processes.append(
                subprocess.Popen(
                    [*command, str(given)],
                    stdin=subprocess.PIPE,
                    stdout=None if shows else subprocess.DEVNULL,
                    text=True,
                    env=variables,
                    pass_fds=[given],
                    start_new_session=True,
                )
            )
            os.close(given)
            self._answers.append(os.fdopen(answers))
        return self

    def run(self, change: Alternative, rank: int = 0) -> list[Replayed]:
        """Run the steps again with a change.

        Args:
            change: The change. Where it is one of a batch, the other processes get their own.
            rank: Whose batch.

        Returns:
            What each process has shown. Where any has failed, the error of all is that of the
            first that failed by itself, and not because another one was gone.
        """
        size, port = len(self._tasks), free_port()
        for other, process in enumerate(self._processes):
            is_same = other != rank and change.kind in CHANGES_BATCH
            given = Alternative(AS_RECORDED, AS_RECORDED) if is_same else change
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # then there is no answer either
                place = [other, size, port] if size > 1 else []
                asked = {"change": asdict(given), "launched": place}
                print(json.dumps(asked), file=process.stdin, flush=True)
        return self._answered()

    def _answered(self) -> list[Replayed]:
        found: dict[int, Replayed] = {}
        until: float | None = None
        waiting = {stream: rank for rank, stream in enumerate(self._answers)}
        while waiting:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready, _, _ = select.select(list(waiting), [], [], left)
            if not ready:
                for rank in waiting.values():
                    (self._folder(rank) / "stop").touch()
                until = None
            for stream in ready:
                rank = waiting.pop(stream)
                found[rank] = self._answer(rank, stream.readline())
                if found[rank].error and until is None:
                    until = time.monotonic() + _GRACE_S
        failed = [rank for rank, one in found.items() if one.error]
        if not failed:
            return [found[rank] for rank in range(len(self._tasks))]
        first = min(failed, key=self._answered_ns)
        name = f"worker_{first}: " if len(self._tasks) > 1 else ""
        return [Replayed(error=f"{name}{found[first].error}") for _ in self._tasks]

    def _answered_ns(self, rank: int) -> float:
        answer = self._folder(rank) / "answer"
        return answer.stat().st_mtime_ns if answer.exists() else math.inf

    def _answer(self, rank: int, line: str) -> Replayed:
        if not line:
            raise StepUnavailable("the process that runs the script again has ended")
        if error := json.loads(line)["error"]:
            return Replayed(error=error)
        # Written by a fork of our own process, a moment ago, in a folder of our own.
        found: Replayed = pickle.loads((self._folder(rank) / "answer").read_bytes())
        return found

    def _folder(self, rank: int) -> Path:
        return Path(self._place.name, str(rank))

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process, answers in zip(self._processes, self._answers, strict=True):
            answers.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._place.cleanup()
