"""Whether a place is free for a run in smdebug's format, and whose it is.

The first worker claims it with ``run.json``; a worker that is alone also with ``claim.smd``, at
which smdebug's own hook keeps away. ``training_job_end.ts`` says that the run ended: it is written
when all workers have left their notes, so that one that ends early does not end it for the others.
"""

from __future__ import annotations

from ...errors import CorruptRun, RunExists
from ...process import may_run
from ...store import Store
from ..manifest import Manifest
from ..notes import END, RUN_KEY
from .layout import (
    CLAIM_KEY,
    COLLECTIONS,
    END_KEY,
    INDEX,
    collections_key,
    holds_run,
    parse_step_key,
)


def claim(store: Store, worker: str, manifest: Manifest, *, over_unfinished: bool = False) -> None:
    """Claim a place for a run, as its first worker.

    Args:
        store: Where it is to lie.
        worker: Who claims it.
        manifest: What the run is.
        over_unfinished: Whether the place may hold what a run left that never ended. Its marks
            are removed, its steps stay and are replaced one by one.

    Raises:
        RunExists: It holds a run; nothing is changed.
        StoreError: It cannot be written to.
    """
    if over_unfinished:
        _take_over(store)
    elif _wrote_before(store, worker, alone=manifest.num_workers == 1):
        raise taken(store)
    alone = manifest.num_workers == 1
    if alone and not store.create(CLAIM_KEY, b""):
        raise taken(store)
    if not store.create(RUN_KEY, manifest.to_json()):
        if alone:
            store.delete(CLAIM_KEY)
        raise taken(store)


def join(store: Store, worker: str, manifest: Manifest, *, over_unfinished: bool = False) -> None:
    """Make sure that a worker does not write into an earlier run; the first worker claims it.

    Raises:
        RunExists: An earlier run is there.
    """
    if over_unfinished:
        # What an earlier run left may still be there; the first worker removes it.
        if store.list(END_KEY):
            raise taken(store)
        return
    if store.list(END) or _wrote_before(store, worker, alone=False):
        raise taken(store)
    there = _manifest(store)
    if there is not None and (
        there.run_format != "smdebug" or there.num_workers != manifest.num_workers
    ):
        raise taken(store)


def taken(store: Store) -> RunExists:
    """Return the error that says that a place is not free."""
    return RunExists(f"{store.url} already holds a run; give another --run, or delete it")


def _wrote_before(store: Store, worker: str, *, alone: bool) -> bool:
    """Return whether an earlier run is there, and not what another worker of this one began."""
    if alone:
        return holds_run(store)
    mine = collections_key(worker)
    if mine in store.list(COLLECTIONS) or store.list(END_KEY) or store.list(CLAIM_KEY):
        return True
    return any((parse_step_key(key) or (0, ""))[1] == worker for key in store.list(INDEX))


def _take_over(store: Store) -> None:
    """Remove the marks of a run that never ended.

    Raises:
        RunExists: It ended, or its process may still run, or it is of another format.
    """
    if store.list(END_KEY):
        raise taken(store)
    there = _manifest(store)
    if there is not None:
        ended = len(store.list(END)) >= there.num_workers
        alive = not ended and may_run(there.host, there.pid, there.process)
        if alive or there.run_format != "smdebug":
            raise taken(store)
    for key in (*store.list(END), RUN_KEY, CLAIM_KEY):
        store.delete(key)


def _manifest(store: Store) -> Manifest | None:
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY))
    except FileNotFoundError:
        return None
    except CorruptRun:
        raise taken(store) from None
