"""Reads a run of smdebug's, while it is being written or years later.

It trusts index files, which are written after the events they name. A run that we wrote has
``run.json`` and end notes as every other. A run of smdebug's own has its collections, from which a
manifest is made up, and a mark that says that training ended. The kind of a tensor follows from
its collections and from its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import CorruptRun, StepUnavailable, TensorUnavailable, nearest
from ...model.collection import BUILT_IN
from ...model.collection import Collection as OurCollection
from ...model.json_text import parse_json
from ...model.record import StepRecord
from ...model.steps import Mode
from ...store import Store
from ..interface import Located, StepRange, worker_order
from ..manifest import End, Manifest, read_ends, read_manifest
from ..native.observations import SCHEMA, to_table
from ..profile.sagemaker import find_root
from .collections import Reduction, SavedCollection, collections_from_json, merge_collections
from .event_files import EventFiles
from .index import Catalog, Columns, SavedStep, Steps
from .layout import COLLECTIONS, END_KEY, parse_collections_key
from .observations import FROM_EVENTS, StepRows
from .reductions import REDUCTION_PREFIX


class RunInfo:
    """What a run is and how it ended, as of the last ``refresh``.

    Raises:
        CorruptRun: ``run.json`` or a collections file is damaged.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: dict[str, tuple[bytes, tuple[SavedCollection, ...], int]] = {}
        self._own = read_manifest(store)
        #: The collections of all workers by name, with the tensors of all of them.
        self.collections: dict[str, SavedCollection] = {}
        #: What the run is.
        self.manifest = self._own or Manifest(
            _name_of(store.url), 0, num_workers=self.num_workers, run_format="smdebug"
        )
        self.refresh()

    @property
    def workers(self) -> list[str]:
        return [worker for key in self._files if (worker := parse_collections_key(key))]

    @property
    def num_workers(self) -> int:
        """How many workers write; 1 as long as that is unknown, 0 for a profile by itself."""
        if self._own:
            return self._own.num_workers
        noted = max((number for _, _, number in self._files.values()), default=0)
        return noted or int(find_root(self._store) != "")

    @property
    def has_end(self) -> bool:
        """Whether the mark is there that says that training ended."""
        try:
            self._store.size(END_KEY)
        except FileNotFoundError:
            return False
        return True

    def refresh(self) -> bool:
        """Read the collections files anew; return whether they changed."""
        before = dict(self._files)
        for key in self._store.list(COLLECTIONS):
            if parse_collections_key(key):
                self._read(key)
        changed = self._files != before
        if changed:
            self.collections = merge_collections(parsed for _, parsed, _ in self._files.values())
            self.manifest = self._made_up() if self._own is None else self._completed(self._own)
        return changed

    def files(self) -> dict[str, bytes]:
        """Return the collections file of each worker."""
        named = ((parse_collections_key(key), data) for key, (data, *_) in self._files.items())
        return {worker: data for worker, data in named if worker}

    def _read(self, key: str) -> None:
        try:
            data = self._store.get(key)
        except FileNotFoundError:
            return
        if key not in self._files or self._files[key][0] != data:
            self._files[key] = (data, *collections_from_json(key, data))

    def ends(self, workers: Collection[str]) -> dict[str, End]:
        """Return how each worker's part ended, for those that ended.

        Args:
            workers: Who wrote steps.
        """
        ends = read_ends(self._store)
        if self.has_end:
            for worker in self._expected(workers):
                ends.setdefault(worker, End("finished", 0))
        return ends

    def _expected(self, workers: Iterable[str]) -> list[str]:
        """Return who should have written, also where a worker wrote nothing at all."""
        known = list(dict.fromkeys([*self.workers, *workers]))
        others = (f"worker_{rank}" for rank in range(self.num_workers))
        unknown = [worker for worker in others if worker not in known]
        return known + unknown[: max(0, self.num_workers - len(known))]

    def _completed(self, own: Manifest) -> Manifest:
        """Return our own manifest, with the collections of a hook configuration if it has one."""
        if own.collections or not own.debugger_collections:
            return own
        return replace(own, collections=self._our_collections())

    def _our_collections(self) -> tuple[OurCollection, ...]:
        return tuple(filter(None, map(_native_collection, self.collections.values())))

    def _made_up(self) -> Manifest:
        first = next(iter(self._files.values()))[0]
        return Manifest(
            _name_of(self._store.url),
            0,
            num_workers=self.num_workers,
            collections=self._our_collections(),
            run_format="smdebug",
            debugger_collections=self._debugger_collections(first),
        )

    def _debugger_collections(self, first: bytes) -> dict[str, object]:
        """Return the collections as the first worker noted them, with the tensors of all."""
        values: dict[str, dict[str, dict[str, object]]] = parse_json(first)
        for name, one in values["collections"].items():
            if name in self.collections:
                one["tensor_names"] = sorted(self.collections[name].tensors)
        return dict(values)


def _name_of(url: str) -> str:
    return PurePosixPath(url.rpartition("://")[2]).name or url


def _native_collection(one: SavedCollection) -> OurCollection | None:
    """Return a collection of Stepwatch's; ``None`` for one that holds nothing.

    What a built-in one holds is in the kinds of the tensors already.
    """
    if one.name in BUILT_IN:
        return OurCollection(one.name)
    names = sorted(
        name
        for name in one.tensors
        if not any(re.search(pattern, name) for pattern in one.patterns)
    )
    patterns = one.patterns
    if names:
        # One pattern for all: there may be thousands.
        patterns = (*patterns, rf"\A(?:{'|'.join(map(re.escape, names))})\Z")
    return OurCollection(one.name, patterns) if patterns else None


# The first that holds decides: a loss is an output too, and what matters of it is the loss.
_LOSSES = {"losses": "losses"}
_GRADIENTS = {"gradients": "gradients"}
_OTHERS = {
    "weights": "weights",
    "biases": "weights",
    "metrics": "metrics",
    "sm_metrics": "metrics",
    "optimizer_variables": "optimizer",
    "outputs": "outputs",
    "inputs": "inputs",
}
_NAMES = (
    (re.compile(r"^scalar/"), "scalars"),
    (re.compile(r"(_output_\d+|/outputs(:\d+)?)$"), "outputs"),
    (re.compile(r"(_input_\d+|/inputs(:\d+)?)$"), "inputs"),
)


def kind_of(name: str, collections: Mapping[str, SavedCollection]) -> str:
    """Return which of ``collection.BUILT_IN`` a tensor belongs to.

    Args:
        name: Its name.
        collections: Those of the run, by name.
    """
    if name.startswith(REDUCTION_PREFIX):
        return "scalars"
    for known in (_LOSSES, _GRADIENTS):
        if kind := _held(name, collections, known):
            return kind
    # Our own hook notes every tensor under its kind.
    for own in BUILT_IN:
        if own in collections and name in collections[own].tensors:
            return own
    # Before the patterns: those of weights also find the outputs of a module called weight.
    for pattern, kind in _NAMES:
        if pattern.search(name):
            return kind
    return _held(name, collections, _OTHERS) or "tensors"


def _held(name: str, collections: Mapping[str, SavedCollection], known: Mapping[str, str]) -> str:
    for collection, kind in known.items():
        if collection in collections and collections[collection].holds(name):
            return kind
    return ""


Array = npt.NDArray[np.generic]

#: So many steps wait for the slowest worker before the oldest are taken as complete.
INCOMPLETE_STEPS = 1000
_ROWS_A_TABLE = 50_000


class SmdebugReader:
    """Reads a run of smdebug's; ``incomplete_steps`` wait for the slowest worker.

    Raises:
        CorruptRun: Its notes or collections are damaged.
    """

    def __init__(self, store: Store, incomplete_steps: int = INCOMPLETE_STEPS) -> None:
        self.incomplete_steps = incomplete_steps
        self._about = RunInfo(store)
        self._catalog = Catalog(store)
        self._files = EventFiles(store)
        self._rows = StepRows(self._files, self._value, self._kind)
        self._observed_end = False

    @property
    def manifest(self) -> Manifest:
        return self._about.manifest

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(sorted({*self._about.workers, *self._catalog.workers}, key=worker_order))

    @property
    def collections(self) -> dict[str, SavedCollection]:
        return self._about.collections

    def collections_files(self) -> dict[str, bytes]:
        """Return the collections file of each worker that noted its collections."""
        return self._about.files()

    @property
    def num_workers(self) -> int:
        return self._about.num_workers

    @property
    def has_end(self) -> bool:
        return self._about.has_end

    def refresh(self) -> None:
        has_end = self._observed_end or self._about.has_end
        # Once more in full after the end: in what order files came no longer matters.
        everything = not self._about.workers or has_end != self._observed_end
        new = self._catalog.refresh(self.num_workers, everything=everything)
        if new or everything or len(self._about.workers) < self.num_workers:
            if self._about.refresh():
                self._rows.classify()
            self._rows.learn(new)
        self._observed_end = has_end

    def ends(self) -> dict[str, End]:
        if self._about.has_end:
            self.refresh()  # whoever is there by now has ended
        return self._about.ends(self.workers)

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        return self._catalog.last_complete(ended, num_workers, self.incomplete_steps)

    def step_ranges(self, worker: str) -> list[StepRange]:
        return self._catalog.ranges(worker)

    def tensors(self) -> dict[str, str]:
        return self._rows.tensors()

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        # Without statistics, dtype, shape and time no event file is read.
        names = SCHEMA.names if columns is None else list(columns)
        for worker in self._catalog.workers:
            of_worker = self._catalog.columns(worker)
            indices = of_worker.indices(step)
            if FROM_EVENTS.isdisjoint(names):
                yield worker, self._rows.index_table(of_worker, indices, tensors, names)
            else:
                for records in self._in_batches(worker, of_worker, indices, tensors):
                    blobs = [self._blob(record) for record in records]
                    yield worker, to_table(records, blobs, names)

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        for who in self._catalog.workers:
            columns = self._catalog.columns(who)
            indices = columns.indices(None if step is None else (mode, step))
            for index in indices.tolist() if worker in (None, who) else ():
                saved = columns.saved[index]
                if mode in (Mode.GLOBAL, saved.mode) and tensor in self._rows.names_of(saved):
                    blob = saved.event_key if tensor in saved.contents.byte_ranges else None
                    yield Located(who, saved.step, saved.mode_step, blob)

    def _blob(self, record: StepRecord) -> str | None:
        saved = self._catalog.get(record.worker, record.step)
        return saved.event_key if saved else None

    def _in_batches(
        self, worker: str, columns: Columns, indices: Steps, tensors: frozenset[str] | None
    ) -> Iterator[list[StepRecord]]:
        batch: list[StepRecord] = []
        rows = 0
        for index in indices.tolist():
            saved = columns.saved[index]
            if tensors is None or not tensors.isdisjoint(self._rows.names_of(saved)):
                batch.append(self._record(worker, saved, tensors))
                rows += len(batch[-1].layout)
            if rows > _ROWS_A_TABLE:
                yield batch
                batch, rows = [], 0
        if batch:
            yield batch

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        if worker in self._catalog.workers:
            columns = self._catalog.columns(worker)
            for index in np.flatnonzero(columns.steps > after).tolist():
                yield self._record(worker, columns.saved[index], None)

    def _record(self, worker: str, saved: SavedStep, tensors: frozenset[str] | None) -> StepRecord:
        try:
            return self._rows.record(worker, saved, tensors)
        except CorruptRun:
            return self._rows.record(worker, self._renewed(worker, saved), tensors)

    def saved(self, worker: str, step: int) -> SavedStep | None:
        """Return what a worker saved at a global step; ``None`` for nothing."""
        return self._catalog.get(worker, step)

    def value(self, worker: str, step: int, tensor: str) -> Array:
        """Return the full value of a tensor, in its own shape and dtype.

        Args:
            worker: Who saved it.
            step: The global step.
            tensor: Its name.

        Raises:
            StepUnavailable: The worker did not save this step, or its values are yet to come.
            TensorUnavailable: It saved no value of this tensor, or the file that held it is gone.
            CorruptRun: It is damaged.
        """
        saved = self._catalog.get(worker, step)
        if saved is None:
            raise StepUnavailable(f"{worker} did not save step {step}")
        return self._value(worker, saved, tensor)

    def reduction(self, worker: str, step: int, tensor: str, reduction: Reduction) -> Array:
        """Return a stored reduction of a tensor, as it was stored; raises as ``value`` does."""
        return self.value(worker, step, f"{REDUCTION_PREFIX}{reduction.stored}/{tensor}")

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> Array:
        del blob  # the index says it too
        return self.value(worker, step, tensor)

    def _value(self, worker: str, saved: SavedStep, name: str) -> Array:
        try:
            return self._files.value(saved, name)
        except KeyError:
            hint = nearest(name, saved.contents.tensors)
            raise TensorUnavailable(
                f"{worker} saved no value of {name!r} at step {saved.step}{hint}"
            ) from None
        except FileNotFoundError:
            raise self._missing(worker, saved) from None
        except CorruptRun:
            return self._files.value(self._renewed(worker, saved), name)

    def _renewed(self, worker: str, saved: SavedStep) -> SavedStep:
        """Return what the index says of a step by now: it may have been written once more."""
        self._files.forget(saved)
        renewed = self._catalog.again(worker, saved.step)
        if renewed is None:
            return saved
        self._rows.learn([renewed])
        return renewed

    def _missing(self, worker: str, saved: SavedStep) -> Exception:
        what = f"{saved.event_key}, which holds what {worker} saved at step {saved.step},"
        if self._about.has_end:
            return TensorUnavailable(f"{what} is gone")
        return StepUnavailable(f"{what} is not there yet")

    def _kind(self, name: str) -> str:
        return kind_of(name, self._about.collections)
