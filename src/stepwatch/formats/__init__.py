"""How a run is laid out in a store. Writing and reading meet only here, and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ConfigError, RunNotFound, nearest
from ..hook_config import SavedCollection
from ..store import Store
from .manifest import Manifest
from .native import resume as native_resume
from .native.reader import NativeReader
from .native.writer import NativeWriter, join_run, start_run
from .notes import RUN_KEY
from .reader import RunReader
from .resume import Start, take_up
from .sagemaker_profile.layout import find_root
from .smdebug import place as smdebug_place
from .smdebug.layout import holds_run
from .smdebug.members import as_saved
from .smdebug.reader import SmdebugReader
from .smdebug.writer import SmdebugWriter
from .workers import Process, write_process
from .writer import RunWriter, StoredAt

FORMATS = ("native", "smdebug")


def run_format(store: Store) -> str | None:
    """Return the format of the run that lies in a store, ``None`` if there is none.

    A profile that SageMaker left by itself is a run of smdebug's that saved no step.
    """
    try:
        return Manifest.from_json(RUN_KEY, store.get(RUN_KEY)).run_format
    except FileNotFoundError:
        return "smdebug" if holds_run(store) or find_root(store) == "" else None


def open_reader(store: Store) -> RunReader:
    """Return a reader for the run that lies in a store, whatever its format.

    Raises:
        RunNotFound: There is no run.
    """
    found = run_format(store)
    if found is None:
        raise RunNotFound(
            f"no run at {store.url}: it holds no {RUN_KEY}, nothing of smdebug's and no profile"
            " of SageMaker's; to list runs: stepwatch runs FOLDER"
        )
    return NativeReader(store) if found == "native" else SmdebugReader(store)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one worker is about to write.

    Args:
        store: Where the run lies.
        worker: Whose part.
        manifest: What the run is, its format included.
        is_first: Whether this worker claims the place; the others join.
        over_unfinished: Whether the place may hold what a run left that never ended; only the
            smdebug format can go on there.
        marks_end: Whether to mark the end of the run as smdebug does; ``False`` where the
            platform does.
        start: Where a run that lies there is taken up again; ``None`` for a new one.
    """

    store: Store
    worker: str
    manifest: Manifest
    is_first: bool = True
    over_unfinished: bool = False
    marks_end: bool = True
    start: Start | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What of each tensor the smdebug format stores; the native one stores what it is given.

    Args:
        stored_at: Answers it for a name, mode and step; by default everything that follows from
            what was captured.
        collections: The collections to note.
    """

    stored_at: StoredAt | None = None
    collections: Sequence[SavedCollection] = field(default=())


def open_writer(place: Place, selection: Selection | None = None) -> RunWriter:
    """Claim a place for a run, or join the one that was claimed, and return what writes to it.

    Raises:
        RunExists: The place already holds a run.
        StoreError: It cannot be written to.
        ConfigError: There is no such format.
    """
    selection = selection or Selection()
    wanted = place.manifest.run_format
    if wanted not in FORMATS:
        raise ConfigError(
            f"no format {wanted!r}; there are {', '.join(FORMATS)}{nearest(wanted, FORMATS)}"
        )
    if place.start is not None:
        take_up(place.store, place.worker, place.manifest, place.start, is_first=place.is_first)
    writer = (_open_native if wanted == "native" else _open_smdebug)(place, selection)
    if not place.is_first:
        write_process(place.store, place.worker, Process.of(place.manifest))
    return writer


def _open_native(place: Place, selection: Selection) -> RunWriter:
    del selection
    if place.start is not None:
        follows = native_resume.cut(place.store, place.worker, place.start.step)
        return NativeWriter(place.store, place.worker, follows=follows)
    if place.is_first:
        start_run(place.store, place.manifest)
    else:
        join_run(place.store, place.worker, place.manifest.num_workers)
    return NativeWriter(place.store, place.worker)


def _open_smdebug(place: Place, selection: Selection) -> RunWriter:
    if place.start is None:
        begin = smdebug_place.claim if place.is_first else smdebug_place.join
        begin(place.store, place.worker, place.manifest, over_unfinished=place.over_unfinished)
    return SmdebugWriter(
        place.store,
        place.worker,
        num_workers=place.manifest.num_workers,
        stored_at=selection.stored_at,
        collections=selection.collections or as_saved(place.manifest.collections),
        marks_end=place.marks_end,
    )
