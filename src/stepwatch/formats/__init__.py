"""How a run is laid out in a store. Writing and reading meet only here, and on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..errors import ConfigError, RunNotFound
from ..plugins import registry
from ..store import Store
from .as_stored import StoredStep
from .foreign import open_foreign
from .interface import RunReader, RunWriter, StoredAt
from .manifest import RUN_KEY, Manifest, Process, read_manifest, write_process
from .native.reader import NativeReader
from .native.writer import NativeWriter, join_run, start_run, truncate
from .profile.sagemaker import find_root
from .resume import ResumePoint, resume_point, resume_worker
from .smdebug.collections import SavedCollection
from .smdebug.layout import holds_run
from .smdebug.reader import SmdebugReader

#: The entry points of formats that other packages write; the native one is ours.
GROUP = "stepwatch.formats"


class Format(Protocol):
    """How a package writes runs; the native format needs none."""

    def open_writer(self, target: RunTarget, selection: Selection) -> RunWriter:
        """Start or join a run, and return what writes to it."""

    def truncate(self, store: Store, worker: str, step: int) -> object:
        """Remove what a worker stored of a global step and of all that follow."""


def format_names() -> tuple[str, ...]:
    """Return the formats that can be asked for; ``load_format`` says what to install for one."""
    return tuple(dict.fromkeys(("native", "smdebug", *registry.names(GROUP))))


def load_format(name: str) -> Format:
    """Return what writes runs in a format.

    Raises:
        ConfigError: There is no such format, or the package that writes it is not installed.
    """
    if name == "native":
        return NativeFormat()
    if name == "smdebug" and name not in registry.names(GROUP):
        raise ConfigError(
            "writing smdebug's format needs another package; run: pip install stepwatch-smdebug"
        )
    found: Format = registry.load(GROUP, name)  # type: ignore[assignment]  # by the entry point
    return found


def run_format(store: Store) -> str | None:
    """Return the format of the run that lies in a store, ``None`` if there is none.

    A profile that SageMaker left by itself is a run of smdebug's that saved no step.
    """
    manifest = read_manifest(store)
    if manifest is not None:
        return manifest.run_format
    return "smdebug" if holds_run(store) or find_root(store) == "" else None


def open_reader(store: Store) -> RunReader:
    """Return a reader for the run that lies in a store, whatever its format.

    Raises:
        RunNotFound: There is no run.
    """
    found = run_format(store)
    if found is None and (reader := open_foreign(store.url)) is not None:
        return reader
    if found is None:
        raise RunNotFound(
            f"no run at {store.url}: it holds no {RUN_KEY}, nothing of smdebug's, no profile"
            " of SageMaker's, and nothing that others log; to list runs: stepwatch runs FOLDER"
        )
    return NativeReader(store) if found == "native" else SmdebugReader(store)


def find_resume_point(
    store: Store, train_step: int, num_workers: int, *, is_first: bool
) -> tuple[ResumePoint, Manifest]:
    """Return where the run in a store is resumed, and what it is; see ``resume.resume_point``.

    Raises:
        RunNotFound: There is no run.
        RunExists: It is still being written.
        ConfigError: It has another number of workers.
    """
    there = read_manifest(store)
    if there is None:
        raise RunNotFound(f"no run to resume at {store.url}: it holds no {RUN_KEY}")
    reader = NativeReader(store) if there.run_format == "native" else SmdebugReader(store)
    return resume_point(reader, store, train_step, num_workers, is_first=is_first)


@dataclass(frozen=True, slots=True)
class RunTarget:
    """Where one worker is about to write.

    Args:
        store: Where the run lies.
        worker: Who writes.
        manifest: What the run is, its format included.
        is_first: Whether this worker starts the run; the others join.
        over_unfinished: Whether the target may hold what a run left that never ended; only the
            smdebug format can go on there.
        marks_end: Whether to mark the end of the run as smdebug does; ``False`` where the
            platform does.
        start: Where the run that lies there is resumed; ``None`` for a new one.
    """

    store: Store
    worker: str
    manifest: Manifest
    is_first: bool = True
    over_unfinished: bool = False
    marks_end: bool = True
    start: ResumePoint | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What of each tensor the smdebug format stores; the native one stores what it is given.

    Args:
        stored_at: Answers it for a name, mode and step; by default everything that follows from
            what was captured.
        collections: The collections to note.
        as_stored: Returns what exactly a global step stores, ``None`` for what the others say.
        collections_file: The collections file, where all of it is known.
    """

    stored_at: StoredAt | None = None
    collections: Sequence[SavedCollection] = field(default=())
    as_stored: Callable[[int], StoredStep | None] | None = None
    collections_file: bytes = b""


def open_writer(target: RunTarget, selection: Selection | None = None) -> RunWriter:
    """Start a run, or join or resume one, and return what writes to it.

    Raises:
        RunExists: The target already holds a run.
        StoreError: It cannot be written to.
        ConfigError: There is no such format.
    """
    run_format = load_format(target.manifest.run_format)
    if target.start is not None:
        resume_worker(
            target.store,
            target.worker,
            target.manifest,
            target.start,
            is_first=target.is_first,
            truncate=run_format.truncate,
        )
    writer = run_format.open_writer(target, selection or Selection())
    if not target.is_first:
        write_process(target.store, target.worker, Process.of(target.manifest))
    return writer


def attach_writer(target: RunTarget, selection: Selection, *, first_step: int) -> RunWriter:
    """Return what writes to a run that ``open_writer`` started, joined or resumed elsewhere.

    Args:
        target: As it was opened.
        selection: As for ``open_writer``.
        first_step: The first global step that comes; what is stored of it, and of all that follow,
            is removed.
    """
    if target.start is None and not first_step and target.manifest.run_format == "native":
        return NativeWriter(target.store, target.worker)
    run_format = load_format(target.manifest.run_format)
    run_format.truncate(target.store, target.worker, first_step)
    return run_format.open_writer(replace(target, start=ResumePoint(first_step, {})), selection)


class NativeFormat:
    """Writes Stepwatch's own format, which stores all that it is given."""

    def open_writer(self, target: RunTarget, selection: Selection) -> RunWriter:
        del selection
        if target.start is not None:
            follows = truncate(target.store, target.worker, target.start.step)
            return NativeWriter(target.store, target.worker, follows=follows)
        if target.is_first:
            start_run(target.store, target.manifest)
        else:
            join_run(target.store, target.worker, target.manifest.num_workers)
        return NativeWriter(target.store, target.worker)

    def truncate(self, store: Store, worker: str, step: int) -> object:
        return truncate(store, worker, step)
