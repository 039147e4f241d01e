"""What is saved of the tensors of a run, in Stepwatch's own format or in smdebug's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from smdebug.core import environment
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.utils import step_in_range
from stepwatch.errors import StepUnavailable
from stepwatch.formats.interface import StepRange
from stepwatch.formats.smdebug.collections import NEED_VALUES, Reduction
from stepwatch.formats.smdebug.index import Contents, SavedStep
from stepwatch.formats.smdebug.layout import (
    COLLECTIONS,
    EVENTS,
    event_key,
    parse_collections_key,
    parse_step_key,
)
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.formats.smdebug.reductions import DERIVED, reductions
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import FIELDS
from stepwatch.store import Store
from stepwatch.trial import Series, Trial

if TYPE_CHECKING:
    from .followed_run import FollowedRun

#: First global step and the one behind the last; each may be open.
Span = tuple[int | None, int | None]
EVERYTHING: Span = (None, None)


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """What one worker saved of one tensor at one step.

    Args:
        mode: The mode of the step.
        mode_step: The step within the mode.
        has_value: Whether its full value is there.
        shape: Its shape, if that is known without the value.
        reductions: Which reductions of it were saved.
    """

    mode: Mode
    mode_step: int
    has_value: bool
    shape: tuple[int, ...] | None = None
    reductions: tuple[Reduction, ...] = ()


class TensorSource(Protocol):
    """What is saved of the tensors of a run, as of the last ``refresh``."""

    def refresh(self) -> None:
        """See what is new; the run was read again."""

    def collections(self) -> dict[str, Collection]:
        """Return the collections, with the tensors that each holds; new objects each time."""

    def tensors(
        self, *, mode: Mode | None = None, worker: str | None = None, steps: Span = EVERYTHING
    ) -> set[str]:
        """Return the names of tensors.

        Args:
            mode: Only those that have a step of this mode.
            worker: Only those that this worker saved.
            steps: Only those that have a global step within.
        """

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        """Return the names of the tensors of a global step, by worker."""

    def original_name(self, tensor: str) -> str | None:
        """Return what the framework calls a tensor; ``None`` if that was not saved."""

    def steps_of(self, tensor: str) -> Mapping[int, tuple[Mode, int]]:
        """Return the global steps of a tensor, each with its mode and mode step."""

    def saved(self, tensor: str, step: int) -> dict[str, SavedTensor]:
        """Return what of a tensor was saved at a global step, by worker."""

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value that was saved."""

    def reduction(self, worker: str, step: int, tensor: str, reduction: Reduction) -> Any:
        """Return a reduction that was saved or follows from what was saved.

        Raises:
            LookupError: It does not follow.
        """


_LATE_POLL_S = 0.2
# smdebug reads so many times, two seconds apart.
_TRIES = 100
_PAUSE_S = 2.0


def late_value(run: FollowedRun, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
    """Return a value, and wait for its file, which uploads may bring later than its index.

    It never comes once the training ended, or if the worker has written a later one.
    ``$SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` times two seconds, by default 200, are the most.

    Raises:
        StepUnavailable: The file did not come.
        TensorUnavailable: There is no such value.
    """
    try:
        return run.evidence.value(worker, step, tensor)
    except StepUnavailable:
        tries = environment.integer(environment.MISSING_FILE_LIMIT)
    deadline = time.monotonic() + _PAUSE_S * (_TRIES if tries is None else tries)
    while True:
        try:
            return run.evidence.value(worker, step, tensor)
        except StepUnavailable:
            if time.monotonic() >= deadline or _wrote_later(run, worker, step):
                raise
        time.sleep(_LATE_POLL_S)


def _wrote_later(run: FollowedRun, worker: str, step: int) -> bool:
    later = run.store.list(EVENTS, event_key(step, worker))
    return any(parsed and parsed[1] == worker for parsed in map(parse_step_key, later))


_COLUMNS = ["mode", "mode_step", "dtype", "shape", "blob", *FIELDS]
# How many tensors keep their rows in memory.
_KEPT = 64
_Values = dict[int, npt.NDArray[np.generic]]


class NativeSource:
    """A source in Stepwatch's own format.

    Statistics of a tensor are there whenever it is, so each reduction that follows from them is.
    A value is there if it was saved raw, or if the tensor has one element.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._known_ranges: dict[str, list[StepRange]] | None = None
        self.refresh()

    def refresh(self) -> None:
        reader = self._trial.reader
        ranges = {worker: reader.step_ranges(worker) for worker in reader.workers}
        if ranges == self._known_ranges:
            return
        self._known_ranges = ranges
        # A cache of its own for each state of the run.
        self._rows: Callable[[str], _Rows] = lru_cache(maxsize=_KEPT)(self._read)
        self._scalars: Callable[[str, str], _Values] = lru_cache(maxsize=_KEPT)(self._read_scalars)

    def collections(self) -> dict[str, Collection]:
        found = {
            name: Collection(name, list(one.patterns), self._trial.tensor_names(collection=name))
            for name, one in self._trial.collections.items()
        }
        biases = Collection(CollectionKeys.BIASES, ["^(?!gradient).*bias"])
        every = Collection(CollectionKeys.ALL, [".*"])
        return {biases.name: biases, every.name: every} | found

    def tensors(
        self, *, mode: Mode | None = None, worker: str | None = None, steps: Span = EVERYTHING
    ) -> set[str]:
        if (mode, worker, steps) == (None, None, EVERYTHING):
            return set(self._trial.reader.tensors())
        if not self._trial.workers or worker not in (None, *self._trial.workers):
            return set()
        table = self._trial.rows(None, ["tensor"], mode or Mode.GLOBAL, worker)
        within = [step_in_range(steps, step) for step in table.column("step").to_pylist()]
        names = table.filter(pa.array(within, pa.bool_())).column("tensor")
        return set(names.unique().to_pylist())

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        if not self._trial.workers:
            return {}
        table = self._trial.rows(None, ["tensor"], step=step)
        table = table.filter(pa.array(table.column("step").to_numpy() == step))
        found: dict[str, set[str]] = {}
        names, workers = table.column("tensor").to_pylist(), table.column("worker").to_pylist()
        for name, worker in zip(names, workers, strict=True):
            found.setdefault(worker, set()).add(name)
        return found

    def original_name(self, tensor: str) -> str | None:
        del tensor  # names are those of the framework
        return None

    def steps_of(self, tensor: str) -> dict[int, tuple[Mode, int]]:
        return self._rows(tensor).modes

    def saved(self, tensor: str, step: int) -> dict[str, SavedTensor]:
        rows = self._rows(tensor)
        if step not in rows.at:
            return {}
        mode, mode_step = rows.modes[step]
        return {
            worker: SavedTensor(
                mode,
                mode_step,
                rows.has_value(row),
                rows.shape(row),
                () if rows.is_scalar(row) else DERIVED,
            )
            for worker, row in rows.at[step].items()
        }

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        rows = self._rows(tensor)
        blob = rows.blobs[rows.at[step][worker]]
        if blob is None:
            return self._scalars(tensor, worker)[step]
        return self._trial.reader.raw(worker, blob, step, tensor)

    def reduction(self, worker: str, step: int, tensor: str, reduction: Reduction) -> Any:
        # Standard deviation and variance are those of a sample, as a hook for PyTorch saves them:
        # a rule then reads the same numbers in both formats.
        rows = self._rows(tensor)
        row = rows.at[step][worker]
        if reduction.name in NEED_VALUES or rows.is_scalar(row):
            raise LookupError(f"{reduction.stored} of {tensor} does not follow from statistics")
        return np.float64(reductions(rows.statistics[row : row + 1], [reduction])[0, 0])

    def _read_scalars(self, tensor: str, worker: str) -> _Values:
        return self._trial.tensor(tensor).values(worker=worker)

    def _read(self, tensor: str) -> _Rows:
        return _Rows(self._trial.rows(frozenset([tensor]), ["tensor", *_COLUMNS]), tensor)


class _Rows:
    """The rows of one tensor."""

    def __init__(self, table: pa.Table, tensor: str) -> None:
        names = table.column("tensor").to_pylist()
        table = table.filter(pa.array([name == tensor for name in names], pa.bool_()))
        self.statistics = Series(table).rows
        self._shapes = table.column("shape").to_pylist()
        self.blobs: list[str | None] = table.column("blob").to_pylist()
        self.at: dict[int, dict[str, int]] = {}
        self.modes: dict[int, tuple[Mode, int]] = {}
        columns = ("step", "worker", "mode", "mode_step")
        lists = [table.column(name).to_pylist() for name in columns]
        for row, (step, worker, mode, mode_step) in enumerate(zip(*lists, strict=True)):
            self.at.setdefault(step, {}).setdefault(worker, row)
            self.modes.setdefault(step, (Mode(mode), mode_step))

    def has_value(self, row: int) -> bool:
        return self.blobs[row] is not None or self.is_scalar(row)

    def is_scalar(self, row: int) -> bool:
        return bool(self._shapes[row] == "[]")

    def shape(self, row: int) -> tuple[int, ...] | None:
        text = self._shapes[row]
        return None if text is None else tuple(json.loads(text))


class SmdebugSource:
    """A source in smdebug's format.

    Most steps hold the same tensors, and then share one description of it. So the steps of a
    tensor are found by description, and nothing is kept for every tensor of every step.
    """

    def __init__(self, store: Store, reader: SmdebugReader) -> None:
        self._store = store
        self._reader = reader
        self._steps: dict[int, dict[str, SavedStep]] = {}
        self._with: dict[Contents, list[tuple[str, SavedStep]]] = {}
        self._tensors: dict[str, list[Contents]] = {}
        self._added: dict[str, list[StepRange]] = {}
        self.refresh()

    def refresh(self) -> None:
        for worker in self._reader.workers:
            ranges = self._reader.step_ranges(worker)
            if ranges == self._added.get(worker):
                continue
            self._added[worker] = list(ranges)
            for range_ in ranges:
                steps = range(range_.first, range_.last + 1, range_.stride or 1)
                for step in steps:
                    if worker not in self._steps.get(step, ()):
                        self._add(worker, step)

    def collections(self) -> dict[str, Collection]:
        found: dict[str, Collection] = {}
        for key in self._store.list(COLLECTIONS):
            if parse_collections_key(key) is None:
                continue
            loaded = CollectionManager.load_from_string(self._store.get(key).decode())
            for name, one in ({} if loaded is None else loaded.collections).items():
                first = found.setdefault(name, one)
                first.tensor_names |= one.tensor_names
        return found

    def tensors(
        self, *, mode: Mode | None = None, worker: str | None = None, steps: Span = EVERYTHING
    ) -> set[str]:
        def counts(who: str, saved: SavedStep) -> bool:
            right = mode in (None, saved.mode) and worker in (None, who)
            return right and step_in_range(steps, saved.step)

        found: set[str] = set()
        for contents, saved in self._with.items():
            if any(counts(*one) for one in saved):
                found |= _names(contents)
        return found

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        saved = self._steps.get(step, {})
        return {worker: _names(one.contents) for worker, one in saved.items()}

    def original_name(self, tensor: str) -> str | None:
        described = (one.shapes.get(tensor) for one in self._tensors.get(tensor, ()))
        return next((shape[1] for shape in described if shape), None)

    def steps_of(self, tensor: str) -> dict[int, tuple[Mode, int]]:
        return {
            saved.step: (saved.mode, saved.mode_step)
            for contents in self._tensors.get(tensor, ())
            for _, saved in self._with[contents]
        }

    def saved(self, tensor: str, step: int) -> dict[str, SavedTensor]:
        found: dict[str, SavedTensor] = {}
        for worker, one in self._steps.get(step, {}).items():
            contents = one.contents
            known = (contents.byte_ranges, contents.shapes, contents.reductions)
            if any(tensor in of for of in known):
                found[worker] = SavedTensor(
                    one.mode,
                    one.mode_step,
                    tensor in contents.byte_ranges,
                    contents.shapes.get(tensor, (None, ""))[0],
                    contents.reductions.get(tensor, ()),
                )
        return found

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        return self._reader.value(worker, step, tensor)

    def reduction(
        self, worker: str, step: int, tensor: str, reduction: Reduction
    ) -> npt.NDArray[np.generic]:
        if reduction not in self._steps[step][worker].contents.reductions.get(tensor, ()):
            raise LookupError(f"{reduction.stored} of {tensor} was not saved")
        return self._reader.reduction(worker, step, tensor, reduction)

    def _add(self, worker: str, step: int) -> None:
        saved = self._reader.saved(worker, step)
        if saved is None:
            return
        self._steps.setdefault(step, {})[worker] = saved
        contents = saved.contents
        if contents not in self._with:
            for tensor in _names(contents):
                self._tensors.setdefault(tensor, []).append(contents)
        self._with.setdefault(contents, []).append((worker, saved))


def _names(contents: Contents) -> set[str]:
    return {*contents.tensors, *contents.shapes, *contents.reductions}
