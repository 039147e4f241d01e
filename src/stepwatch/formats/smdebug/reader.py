"""Reads a run of smdebug's, while it is being written or years later.

It trusts index files, which are written after the events they name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...errors import CorruptRun, StepUnavailable, TensorUnavailable, nearest
from ...hook_config import Reduction, SavedCollection
from ...record import StepRecord
from ...steps import Mode
from ...store import Store
from ..manifest import End, Manifest
from ..native.observations import SCHEMA, to_table
from ..reader import Located
from ..step_range import StepRange
from .about import About
from .catalog import Catalog, Columns, Steps
from .event_files import EventFiles
from .index import SavedStep
from .kinds import kind_of
from .reductions import PREFIX
from .rows import FROM_EVENTS, Rows

Array = npt.NDArray[np.generic]

#: So many steps wait for the slowest worker before the oldest are taken as complete.
INCOMPLETE_STEPS = 1000
_ROWS_A_TABLE = 50_000


class SmdebugReader:
    """Reads a run of smdebug's.

    Args:
        store: Where it lies.
        incomplete_steps: So many steps wait for the slowest worker.

    Raises:
        CorruptRun: Its notes or collections are damaged.
    """

    def __init__(self, store: Store, incomplete_steps: int = INCOMPLETE_STEPS) -> None:
        self.incomplete_steps = incomplete_steps
        self._about = About(store)
        self._catalog = Catalog(store)
        self._files = EventFiles(store)
        self._rows = Rows(self._files, self._value, self._kind)
        self._saw_end = False

    @property
    def manifest(self) -> Manifest:
        """What the run is."""
        return self._about.manifest

    @property
    def workers(self) -> tuple[str, ...]:
        """Who wrote so far."""
        return tuple(sorted({*self._about.workers, *self._catalog.workers}, key=_rank))

    @property
    def collections(self) -> dict[str, SavedCollection]:
        """The collections of all workers by name, with their tensors."""
        return self._about.collections

    @property
    def num_workers(self) -> int:
        """How many workers write; 1 as long as nobody said."""
        return self._about.num_workers

    @property
    def has_end(self) -> bool:
        """Whether the mark is there that says that training ended."""
        return self._about.has_end

    def refresh(self) -> None:
        """See what was written since."""
        has_end = self._saw_end or self._about.has_end
        # Once more in full after the end: in what order files came no longer matters.
        everything = not self._about.workers or has_end != self._saw_end
        new = self._catalog.refresh(self.num_workers, everything=everything)
        if new or everything or len(self._about.workers) < self.num_workers:
            if self._about.refresh():
                self._rows.classify()
            self._rows.learn(new)
        self._saw_end = has_end

    def ends(self) -> dict[str, End]:
        """Return how each worker's part ended, for those that ended."""
        if self._about.has_end:
            self.refresh()  # whoever is there by now has ended
        return self._about.ends(self.workers)

    def last_complete(self, ended: Collection[str], num_workers: int) -> int:
        """Return the last global step that no worker will add to; -1 if there is none."""
        return self._catalog.last_complete(ended, num_workers, self.incomplete_steps)

    def step_ranges(self, worker: str) -> list[StepRange]:
        """Return the steps that a worker wrote."""
        return self._catalog.ranges(worker)

    def tensors(self) -> dict[str, str]:
        """Return the collection of every tensor, in the order of names."""
        return self._rows.tensors()

    def observations(
        self,
        tensors: frozenset[str] | None = None,
        columns: Sequence[str] | None = None,
        step: tuple[Mode, int] | None = None,
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield worker and rows of some tensors (all by default), with these columns.

        Without statistics, dtype, shape and time no event file is read.

        Args:
            tensors: Names.
            columns: All by default.
            step: Only rows of this step, as its mode counts it.
        """
        names = SCHEMA.names if columns is None else list(columns)
        for worker in self._catalog.workers:
            of_worker = self._catalog.columns(worker)
            places = of_worker.places(step)
            if FROM_EVENTS.isdisjoint(names):
                yield worker, self._rows.index_table(of_worker, places, tensors, names)
            else:
                for records in self._in_batches(worker, of_worker, places, tensors):
                    blobs = [self._blob(record) for record in records]
                    yield worker, to_table(records, blobs, names)

    def located(
        self, tensor: str, mode: Mode, worker: str | None, step: int | None
    ) -> Iterator[Located]:
        """Yield where the values of a tensor lie; see ``RunReader``."""
        for who in self._catalog.workers:
            columns = self._catalog.columns(who)
            places = columns.places(None if step is None else (mode, step))
            for place in places.tolist() if worker in (None, who) else ():
                saved = columns.saved[place]
                if mode in (Mode.GLOBAL, saved.mode) and tensor in self._rows.names_of(saved):
                    blob = saved.event_key if tensor in saved.contents.places else None
                    yield Located(who, saved.step, saved.mode_step, blob)

    def _blob(self, record: StepRecord) -> str | None:
        saved = self._catalog.get(record.worker, record.step)
        return saved.event_key if saved else None

    def _in_batches(
        self, worker: str, columns: Columns, places: Steps, tensors: frozenset[str] | None
    ) -> Iterator[list[StepRecord]]:
        batch: list[StepRecord] = []
        rows = 0
        for place in places.tolist():
            saved = columns.saved[place]
            if tensors is None or not tensors.isdisjoint(self._rows.names_of(saved)):
                batch.append(self._record(worker, saved, tensors))
                rows += len(batch[-1].layout)
            if rows > _ROWS_A_TABLE:
                yield batch
                batch, rows = [], 0
        if batch:
            yield batch

    def records(self, worker: str, after: int = -1) -> Iterator[StepRecord]:
        """Yield the steps of a worker that follow step ``after``, ascending."""
        if worker in self._catalog.workers:
            columns = self._catalog.columns(worker)
            for place in np.flatnonzero(columns.steps > after).tolist():
                yield self._record(worker, columns.saved[place], None)

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
        return self.value(worker, step, f"{PREFIX}{reduction.stored}/{tensor}")

    def raw(self, worker: str, blob: str, step: int, tensor: str) -> Array:
        """Return a full value, of a row whose column ``blob`` says where it lies."""
        del blob  # the index says it too
        return self.value(worker, step, tensor)

    def _value(self, worker: str, saved: SavedStep, name: str) -> Array:
        try:
            return self._files.value(saved, name)
        except KeyError:
            hint = nearest(name, saved.tensors)
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


def _rank(worker: str) -> tuple[int, str]:
    digits = worker.rpartition("_")[2]
    return (int(digits) if digits.isdigit() else 0, worker)
