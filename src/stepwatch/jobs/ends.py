"""How the run of a stopped job ended: its processes were killed before they could say."""

from __future__ import annotations

import time

from ..errors import RunNotFound
from ..formats.manifest import End
from ..formats.notes import end_key
from ..store import open_store
from ..trial import Trial
from .place import Place
from .spec import JobSpec


def note_ends(place: Place, spec: JobSpec, why: str) -> None:
    """Note of each worker that left no note that it was stopped, and why.

    Args:
        place: The folder of the job.
        spec: The job.
        why: Why it was stopped.
    """
    store = open_store(place.tensors)
    try:
        num_steps = len(Trial(store).steps())
    except RunNotFound:
        return
    for rank in range(spec.processes):
        key = end_key(f"worker_{rank}")
        if not store.list(key):
            store.put(key, End("stopped", time.time_ns(), num_steps, error=why).to_json())
