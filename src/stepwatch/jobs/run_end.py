"""Notes how the run of a job ended, where its processes could not or should not."""

from __future__ import annotations

import os
import time

from ..errors import RunNotFound
from ..formats import open_reader, run_format
from ..formats.manifest import End, end_key
from ..formats.smdebug.layout import END_KEY
from ..store import open_store
from ..trial import Trial
from .paths import JobPaths
from .spec import JobSpec


def record_ends(paths: JobPaths, spec: JobSpec, why: str) -> None:
    """Note of each worker that left no note that it was stopped, and why."""
    store = open_store(paths.tensors)
    try:
        num_steps = len(Trial(store).steps())
    except RunNotFound:
        return
    for rank in range(spec.processes):
        key = end_key(f"worker_{rank}")
        if not store.list(key):
            store.put(key, End("stopped", time.time_ns(), num_steps, error=why).to_json())


def mark_end(paths: JobPaths, spec: JobSpec) -> None:
    """Mark that training has ended, as SageMaker does and its hooks then leave to it.

    Also where nothing was saved: a reader may wait for the first step.
    """
    store = open_store(paths.tensors)
    if spec.hook is not None and run_format(store) != "native" and not store.list(END_KEY):
        store.put(END_KEY, b"")


def num_resumes(run: str | os.PathLike[str]) -> int:
    """Return how often a run was resumed; -1 if there is none."""
    try:
        return len(open_reader(open_store(run)).manifest.resumes)
    except RunNotFound:
        return -1
