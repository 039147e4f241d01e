"""Finds the run that a path names, or says at once why there is none."""

from __future__ import annotations

import os
import time

from smdebug.core import environment
from smdebug.exceptions import IndexReaderException, MissingCollectionFiles, SMDebugError
from stepwatch.errors import CorruptRun, RunNotFound
from stepwatch.formats import run_format
from stepwatch.formats.smdebug.layout import COLLECTIONS, parse_collections_key
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import Store, open_store
from stepwatch.trial import Trial as Run

# Where SageMaker puts what a hook wrote, below the output of a job.
_UPLOADED = "debug-output"
#: How long the output of a job is waited for whose training may be about to begin, seconds.
PATIENCE_S = 600.0
_POLL_S = 0.5


class TrialNotFound(SMDebugError, RunNotFound):
    """There is no run at this place."""


class DamagedRun(IndexReaderException, CorruptRun):
    """Bytes of a run that cannot be what a writer wrote."""

    def __init__(self, error: CorruptRun) -> None:
        CorruptRun.__init__(self, error.key, error.offset, error.reason)
        self.message = str(error)

    def __str__(self) -> str:
        return self.message


def is_announced(path: str) -> bool:
    """Return whether a path is that of a job's output, whose run may still begin."""
    return path.rstrip("/").endswith(f"/{_UPLOADED}")


def find_run(path: str) -> tuple[str, Store]:
    """Return where the run lies that a folder or URL names, and the store that holds it.

    The output of a SageMaker job may be named instead of the folder in it that holds the run. If
    that folder is named, its run is waited for.

    Raises:
        TrialNotFound: There is none.
    """
    given = path.rstrip("/") or path
    give_up_at = time.monotonic() + (PATIENCE_S if is_announced(path) else 0)
    while (found := _look(path, given)) is None:
        if time.monotonic() >= give_up_at:
            raise TrialNotFound(
                f"no run at {path}: nothing that a hook writes is there, neither collections/ nor"
                " index/; a trial is opened at the out_dir of the hook, for a SageMaker job at its"
                " debug-output, once the training has begun"
            )
        time.sleep(_POLL_S)
    return found


def _look(path: str, given: str) -> tuple[str, Store] | None:
    parent = given.rpartition("/")[0]
    for place in (path, f"{given}/{_UPLOADED}", f"{parent}/{_UPLOADED}" if parent else ""):
        if not place or (place != path and not _is_output(given, place)):
            continue
        store = open_store(os.path.expanduser(place))
        if run_format(store) is not None:
            return place, store
    return None


def open_run(store: Store) -> Run:
    """Return a view of the run in a store.

    Raises:
        MissingCollectionFiles: The training ended and some worker never wrote its collections.
        DamagedRun: A part of the run is damaged.
    """
    try:
        run = Run(store)
        window = environment.whole(environment.INCOMPLETE_WINDOW)
        if isinstance(run.reader, SmdebugReader):
            if window is not None:
                run.reader.incomplete_steps = window
                run.refresh()
            _check_collections(store, run.reader)
    except CorruptRun as error:
        raise DamagedRun(error) from None
    return run


def _is_output(given: str, place: str) -> bool:
    """Return whether a folder beside what was given may be meant: only beside ``output``."""
    return place.startswith(f"{given}/") or given.endswith("/output")


def _check_collections(store: Store, reader: SmdebugReader) -> None:
    written = [key for key in store.list(COLLECTIONS) if parse_collections_key(key)]
    if reader.has_end and len(written) < reader.num_workers:
        raise MissingCollectionFiles
