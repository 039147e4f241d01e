"""The training processes of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from ..config import environment
from ..formats import run_format
from ..store import open_store
from .contract import command_line, free_port, variables
from .judged import needed
from .mounts import show
from .place import CONTAINER, Place, is_free
from .processes import described, start
from .records import Records
from .spec import JobSpec

#: How long a training may take to end after it was asked to, seconds.
GRACE_S = 120.0


class Training:
    """The processes that train; one that fails ends all.

    Args:
        spec: The job.
        place: Its folder.
        records: Where its processes are noted.
        attempt: How often it was begun before.
    """

    def __init__(self, spec: JobSpec, place: Place, records: Records, attempt: int) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._kill_at: float | None = None
        port, folder = free_port(), place.code if spec.source else None
        prepare = show(place.root, CONTAINER) if is_free(CONTAINER) else None
        for rank in range(spec.processes):
            told = {**environment(), **variables(spec, place, rank, port)}
            command = _command(spec, place, attempt)
            process = start(command, place.log(rank), told, folder=folder, prepare=prepare)
            self._processes.append(process)
            records.add_process(spec.name, described(f"algo-{rank + 1}", process.pid))

    def exit_code(self) -> int | None:
        """Return how training ended, ``None`` while it goes on.

        0 if every process ended so; else the code of the first that did not, negative for a
        signal.
        """
        codes = [process.poll() for process in self._processes]
        failed = next((code for code in codes if code), None)
        if self._is_late() or (failed is not None and self._kill_at is None):
            self.end()
        if None in codes:
            return None
        return failed or 0

    def stop(self) -> None:
        """Ask all processes to end, and make them after a while."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + GRACE_S
            self._signal(signal.SIGTERM)

    def end(self) -> None:
        """Let nothing run on that training started."""
        self._signal(signal.SIGKILL)

    def _is_late(self) -> bool:
        return self._kill_at is not None and time.monotonic() > self._kill_at

    def _signal(self, how: int) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)


def _command(spec: JobSpec, place: Place, attempt: int) -> list[str]:
    where = [sys.executable, "-m", "stepwatch.jobs.ray.remote", spec.ray] if spec.ray else []
    script = [str(place.script(spec)), *command_line(spec)]
    if not spec.capture:
        return [*where, spec.python, "-u", *script]
    options = ["--run", str(place.tensors), "--rules", "none", "--quiet"]
    if spec.hook is not None:
        options += ["--hook-config", str(place.config / "debughookconfig.json")]
    else:
        saved = (*spec.save, *needed(spec, place))
        options += [part for text in saved for part in ("--save", text)]
        if attempt:  # what it does again takes the place of what it did
            options += ["--resume", str(_resumed_step(place))]
    if spec.copy_url and (not attempt or spec.hook is not None):  # else it is copied in the end
        options += ["--mirror", spec.copy_url]
    if spec.tensorboard is not None:
        options += ["--tensorboard", str(place.tensorboard)]
    return [*where, spec.python, "-u", "-m", "stepwatch", "run", *options, *script]


def _resumed_step(place: Place) -> int:
    """Return the TRAIN step that the training says it begins with when it is started again."""
    said = place.checkpoints / "step"
    is_known = said.is_file() and run_format(open_store(place.tensors)) is not None
    text = said.read_text(errors="replace").strip() if is_known else ""
    return int(text) if text.isdecimal() else 0
