"""What a run is when it begins, or begins again."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
import uuid
from collections.abc import Mapping, Sequence

from ..collection import Collection
from ..errors import RunNotFound
from ..formats.manifest import Manifest
from ..formats.resume import Start, find_start, resumed
from ..formats.script import script_digest, working_folder
from ..process import identity
from ..store import Store
from .output import Output


def describe_run(
    output: Output,
    collections: tuple[Collection, ...],
    command: Sequence[str],
    versions: Mapping[str, str],
    size: int,
) -> Manifest:
    """Return what a run is that this process begins, one of so many."""
    command = tuple(command) or tuple(sys.argv)
    return Manifest(
        run_id=uuid.uuid4().hex,
        started_ns=time.time_ns(),
        command=command,
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


def begin_again(
    output: Output, store: Store, manifest: Manifest, *, is_first: bool
) -> tuple[Start | None, Manifest]:
    """Return where a run is taken up again, ``None`` for a new one, and what it then is.

    Raises:
        RunNotFound: There is none, and it was to go on after the first step.
        RunExists: It is still being written.
        ConfigError: It has another number of workers.
    """
    if output.resume is None:
        return None, manifest
    try:
        start, there = find_start(store, output.resume, manifest.num_workers, is_first=is_first)
    except RunNotFound:
        if output.resume:
            raise
        return None, manifest  # so that a script can always say where it goes on
    return start, resumed(manifest, there, start)
