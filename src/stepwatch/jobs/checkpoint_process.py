"""The process that looks for values that are not finite in what a job saved.

Run by ``python -m stepwatch.jobs.checkpoint_process FILE...``, by the interpreter of the training,
which has the framework that reads them. It prints one line on the first checkpoint that holds some,
and nothing if none does or none can be read.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ..config import environment
from ..errors import CheckpointUnreadable, StepwatchError
from ..formats.checkpoint_files import checkpoint_files, read_checkpoint
from ..judge.audit import audit
from .paths import JobPaths
from .spec import JobSpec

_TIMEOUT_S = 1800.0


def spoiled_checkpoint(spec: JobSpec, paths: JobPaths) -> str:
    """Return what is not finite in the model of a job, or in its last checkpoint.

    Returns:
        A sentence; ``""`` where nothing is, where there is no checkpoint, or none can be read.
    """
    try:
        files = [*checkpoint_files(paths.model), *_last(checkpoint_files(paths.checkpoints), paths)]
    except (CheckpointUnreadable, OSError):  # what is damaged is not for us to fail a job for
        return ""
    if not files:
        return ""
    names = [str(file.relative_to(paths.root)) for file in files]
    command = [spec.python, "-m", "stepwatch.jobs.checkpoint_process", *names]
    try:
        found = subprocess.run(
            command,
            cwd=paths.root,
            env=dict(environment()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = found.stdout.decode(errors="replace").splitlines() if not found.returncode else []
    return lines[-1] if lines else ""


def _last(files: Iterable[Path], paths: JobPaths) -> list[Path]:
    """Return the newest of some files, and those beside it where checkpoints are folders."""
    known = list(files)
    if not known:
        return []
    newest = max(known, key=lambda one: one.stat().st_mtime_ns)
    if newest.parent == paths.checkpoints:
        return [newest]
    return [one for one in known if one.parent == newest.parent]


def main(files: Iterable[str]) -> None:
    """Print what is not finite in the first of these files that holds such values."""
    for file in files:
        try:
            found = audit(read_checkpoint(file)).non_finite
        except StepwatchError as error:
            print(f"{file} was not checked: {error}", file=sys.stderr)
            continue
        if found:
            print(found[0].message)
            return


if __name__ == "__main__":
    main(sys.argv[1:])
