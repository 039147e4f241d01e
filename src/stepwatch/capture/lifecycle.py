"""How a run begins, is resumed and ends, and which of its steps are not stored."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..config.variables import RANK, SIZE
from ..errors import RunNotFound, StepwatchError, TrainingStopped
from ..formats import find_resume_point
from ..formats.manifest import Manifest, read_note, script_digest, working_folder
from ..formats.resume import ResumePoint, resumed_manifest
from ..model.collection import Collection
from ..runtime.process import identity
from ..runtime.secrets import masked, masked_text
from ..store import Store
from .output import Output


def describe_run(
    output: Output,
    collections: tuple[Collection, ...],
    command: Sequence[str],
    versions: Mapping[str, str],
    size: int,
) -> Manifest:
    """Return the manifest of a run that this process, one of ``size``, begins."""
    command = tuple(command) or tuple(sys.argv)
    return Manifest(
        run_id=uuid.uuid4().hex,
        started_ns=time.time_ns(),
        command=masked(command),
        host=socket.gethostname(),
        pid=os.getpid(),
        process=identity(),
        num_workers=output.num_workers(size),
        versions={"python": platform.python_version(), **versions},
        collections=collections,
        run_format=output.format,
        debugger_collections=output.debugger_collections(size),
        folder=working_folder(),
        script_sha256=script_digest(command),
    )


def resume_run(
    output: Output, store: Store, manifest: Manifest, *, is_first: bool
) -> tuple[ResumePoint | None, Manifest]:
    """Return where a run is resumed, ``None`` for a new one, and its manifest from then on.

    Raises:
        RunNotFound: There is none, and it was to be resumed after the first step.
        RunExists: It is still being written.
        ConfigError: It has another number of workers.
    """
    if output.resume is None:
        return None, manifest
    try:
        start, there = find_resume_point(
            store, output.resume, manifest.num_workers, is_first=is_first
        )
    except RunNotFound:
        if output.resume:
            raise
        return None, manifest  # so that a script can always pass its first step
    return start, resumed_manifest(manifest, there, start)


#: What is lost of a run that somebody removed.
DELETED = "the run, or its beginning: it was deleted while it was written"


def is_deleted(store: Store) -> bool:
    """Return whether a run that was begun here is gone, or can no more be read."""
    try:
        return not read_note(store)
    except StepwatchError:
        return False  # it cannot be asked


def end_state(error: BaseException | None) -> tuple[str, str]:
    """Return the state of the run and what ended it; secrets in its text are masked.

    Args:
        error: What the training raised; ``None`` for nothing.

    Example:
        >>> end_state(None), end_state(SystemExit(0))
        (('finished', ''), ('finished', ''))
        >>> end_state(SystemExit(3)), end_state(KeyboardInterrupt())
        (('failed', 'exit status 3'), ('interrupted', 'KeyboardInterrupt'))
    """
    if isinstance(error, TrainingStopped):
        return "stopped", error.reason
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return "finished", ""
    if isinstance(error, SystemExit):
        return "failed", f"exit status {error.code}"
    state = "interrupted" if type(error) is KeyboardInterrupt else "failed"
    return state, masked_text(f"{type(error).__name__}: {error}".removesuffix(": "))


_LAUNCHES = (str(Path(__file__).parents[1] / "cli"), "<frozen runpy>")


def _launches(file: str) -> bool:
    """Return whether a file runs scripts, and is none itself."""
    return file.startswith(_LAUNCHES)


# Of a traceback the innermost frames, which are those of the script and of what it called.
_MOST_FRAMES = 8


def traceback_end(error: str) -> str:
    """Return the end of the traceback of what ends training, with secrets in it masked.

    Args:
        error: What ``end_state`` says of it.

    Returns:
        The innermost frames, as Python prints them; ``""`` where the exception is not at hand.
    """
    # It is being handled, or Python has just shown it and runs what is left to be done at exit.
    raised = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if raised is None or end_state(raised)[1] != error:
        return ""
    frames = traceback.extract_tb(raised.__traceback__)
    launches = [number for number, frame in enumerate(frames) if _launches(frame.filename)]
    first = max(launches[-1] + 1 if launches else 0, len(frames) - _MOST_FRAMES)
    lines = "".join(traceback.format_list(frames[first:])).splitlines()
    return "\n".join(masked(lines))


_TOO_SLOW = "the store was too slow"


class DroppedSteps:
    """Counts the steps that never came to the writers, and keeps why they refused others.

    Example:
        >>> gaps = DroppedSteps()
        >>> gaps.came()
        >>> gaps.count(18), gaps.line(18)
        (17, '17 of 18 steps (the store was too slow)')
    """

    def __init__(self) -> None:
        #: How many came to the writers.
        self.num_came = 0
        self._refusal = ""

    def came(self, count: int = 1) -> None:
        self.num_came += count

    def store(self, call: Callable[..., object], *arguments: object) -> None:
        """Call what stores something; note what it raises, and raise it."""
        try:
            call(*arguments)
        except BaseException as error:
            self._refusal = self._refusal or describe_error(error)
            raise

    def count(self, steps: int, refused: int = 0) -> int:
        """Return how many steps are not stored.

        Args:
            steps: How many were recorded.
            refused: How many came to the writers and are not stored.
        """
        return steps - self.num_came + refused

    def line(self, steps: int, refused: int = 0) -> str:
        """Return what is missing and why, ``""`` for nothing; see ``count``."""
        counts = {self._refusal or _TOO_SLOW: refused}
        counts[_TOO_SLOW] = counts.get(_TOO_SLOW, 0) + steps - self.num_came
        lost = [f"{count} of {steps} steps ({why})" for why, count in counts.items() if count]
        return ", ".join(lost)


def describe_error(error: BaseException) -> str:
    """Return in a few words what went wrong.

    Example:
        >>> describe_error(OSError(28, "cannot write run.json in /disk: No space left on device"))
        'No space left on device'
        >>> describe_error(KeyError("fc.weight"))
        "KeyError: 'fc.weight'"
    """
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return f"{type(error).__name__}: {error}"


# What we set, and what launchers do: torchrun, then the MPI and Slurm families. SLURM_NTASKS is
# also set for a script that sbatch runs once, SLURM_STEP_NUM_TASKS only for what srun starts.
_RANK = (RANK, "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = (SIZE, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


def rank_and_size(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the rank of this process and how many there are; ``(0, 1)`` when launched alone.

    Example:
        >>> rank_and_size({"RANK": "3", "WORLD_SIZE": "8"})
        (3, 8)
    """
    for rank, size in zip(_RANK, _SIZE, strict=True):
        values = (environment.get(rank, ""), environment.get(size, ""))
        if all(value.isdigit() for value in values):
            return int(values[0]), int(values[1])
    return 0, 1


def worker_name(rank: int) -> str:
    """Return the name under which a rank writes."""
    return f"worker_{rank}"
