"""Where things lie in a run of smdebug's: its keys.

The name of a worker that is a device, such as ``/job:worker/replica:0/task:1/device:GPU:0``, is
spelt in file names without its slashes and colons. Only the name of a file tells step and worker;
the folders above it are ignored.
"""

from __future__ import annotations

import re

from ...store import Store
from ..manifest import worker_from_key, worker_in_key

COLLECTIONS = "collections/"
EVENTS = "events/"
INDEX = "index/"
END_KEY = "training_job_end.ts"
CLAIM_KEY = "claim.smd"

_STEPS_A_FOLDER = 1000
_OF_STEP = re.compile(r"(?:.*/)?(\d+)_([^/]+)\.(?:json|csv|tfevents)\Z")
_OF_COLLECTIONS = re.compile(r"(?:.*/)?([^/]+)_collections\.(?:json|ts)\Z")


def event_key(step: int, worker: str) -> str:
    """Return the key of what a worker saved at a global step.

    Example:
        >>> event_key(7, "worker_0")
        'events/000000000007/000000000007_worker_0.tfevents'
    """
    return f"{EVENTS}{step:012d}/{step:012d}_{worker_in_key(worker)}.tfevents"


def index_key(step: int, worker: str) -> str:
    """Return the key of the index of what a worker saved at a global step.

    Example:
        >>> index_key(2500, "worker_1")
        'index/000000002/000000002500_worker_1.json'
    """
    return f"{index_prefix(step)}_{worker_in_key(worker)}.json"


def index_prefix(step: int) -> str:
    """Return what the index keys of all workers of a global step start with."""
    return f"{INDEX}{step // _STEPS_A_FOLDER:09d}/{step:012d}"


def collections_key(worker: str) -> str:
    """Return the key of the collections of a worker.

    Example:
        >>> collections_key("/device:GPU:0")
        'collections/000000000/_device-GPU-0_collections.json'
    """
    return f"{COLLECTIONS}{0:09d}/{worker_in_key(worker)}_collections.json"


def parse_step_key(key: str) -> tuple[int, str] | None:
    """Return step and worker of the key of an event or index file; ``None`` for another key.

    Example:
        >>> parse_step_key("index/000000000/000000000005__device-GPU-0.json")
        (5, '/device:GPU:0')
        >>> parse_step_key("index/000000000/000000000005_worker_0.json.tmp")
    """
    match = _OF_STEP.match(key)
    return (int(match[1]), worker_from_key(match[2])) if match else None


def parse_collections_key(key: str) -> str | None:
    """Return the worker of the key of a collections file; ``None`` for another key."""
    match = _OF_COLLECTIONS.match(key)
    return worker_from_key(match[1]) if match else None


def holds_run(store: Store) -> bool:
    """Return whether smdebug wrote, or began to write, a run into a store."""
    marks = (COLLECTIONS, INDEX, EVENTS, END_KEY, CLAIM_KEY)
    return any(store.list(mark) for mark in marks)
