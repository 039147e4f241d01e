"""Has the processes of a run run a step again together, each its own, as a launcher starts them.

All of them run on this machine, and meet at a port of it. Where one of them ends without the step
the others would wait for it in a collective: they are ended.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import environment
from ..config.variables import launched
from ..errors import StepUnavailable
from ..formats.manifest import Manifest
from ..model.record import StepRecord
from ..runtime.process import free_port

if TYPE_CHECKING:
    from .replay import Recorded

_POLL_S = 0.01
#: How long the others may go on after one has ended without the step.
_GRACE_S = 10.0


def run_together(
    manifest: Manifest, recorded: Sequence[Recorded], *, deterministic: bool
) -> list[tuple[StepRecord, str]]:
    """Run a step again in as many processes as recorded it.

    Args:
        manifest: The manifest of the run.
        recorded: The step as each of them saw it, by their ranks.
        deterministic: Let torch use deterministic algorithms only.

    Returns:
        By rank what ``run_again`` does: the step as it was this time, and how the script ended.

    Raises:
        StepUnavailable: The processes have no snapshot in common, or one of them did not come to
            the step.
    """
    firsts = sorted({one.recording.first for one in recorded})
    if len(firsts) > 1:
        raise StepUnavailable(
            f"the processes have no snapshot in common: they begin with TRAIN steps {firsts}"
        )
    size, port = len(recorded), free_port()
    with tempfile.TemporaryDirectory(prefix="stepwatch-replay-") as place:
        folder = Path(place)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank, one in enumerate(recorded):
                task = manifest, one.recording, one.options, deterministic
                (folder / f"task-{rank}").write_bytes(pickle.dumps(task))
                # What the script prints comes from its first process.
                output = None if rank == 0 else subprocess.DEVNULL
                processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "stepwatch.cli.replay_rank", place, str(rank)],
                        env={**environment(), **launched(rank, size, port)},
                        stdout=output,
                        stderr=output,
                        start_new_session=True,
                    )
                )
            _wait(processes, folder)
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return _answers(folder, size)


def _wait(processes: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait until all have ended; not for long after one has without the step."""
    until = math.inf
    running = dict(enumerate(processes))
    while running and time.monotonic() <= until:
        for rank in [rank for rank, process in running.items() if process.poll() is not None]:
            del running[rank]
            if until == math.inf and isinstance(_answer(folder, rank), str):
                until = time.monotonic() + _GRACE_S
        time.sleep(_POLL_S)


def _answer(folder: Path, rank: int) -> tuple[StepRecord, str] | str:
    """Return what a process that has ended came to, or why it did not come to the step."""
    answer = folder / f"answer-{rank}"
    if not answer.exists():
        return "it died"
    # Written by a process of our own, a moment ago, in a folder of our own.
    found: tuple[StepRecord, str] | str = pickle.loads(answer.read_bytes())
    return found


def _answers(folder: Path, size: int) -> list[tuple[StepRecord, str]]:
    """Return what all came to.

    Raises:
        StepUnavailable: Some did not come to the step. Of these the first is told that ended by
            itself, and not because another one was gone.
    """

    def answered_ns(rank: int) -> float:
        answer = folder / f"answer-{rank}"
        return answer.stat().st_mtime_ns if answer.exists() else math.inf

    answers = [_answer(folder, rank) for rank in range(size)]
    failed = [rank for rank, answer in enumerate(answers) if isinstance(answer, str)]
    if failed:
        first = min(failed, key=answered_ns)
        raise StepUnavailable(f"worker_{first}: {answers[first]}")
    return [answer for answer in answers if not isinstance(answer, str)]
