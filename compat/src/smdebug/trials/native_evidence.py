"""What is saved of the tensors of a run in Stepwatch's own format.

Statistics of a tensor are there whenever it is, so each reduction that follows from them does. A
value is there if it was saved raw, or if the tensor has one element.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.utils import step_in_range
from smdebug.trials.evidence import EVERYTHING, Saved, Span
from stepwatch.formats.smdebug.reduce import DERIVED, reductions
from stepwatch.formats.step_range import StepRange
from stepwatch.hook_config import NEED_VALUES, Reduction
from stepwatch.statistics import FIELDS
from stepwatch.steps import Mode
from stepwatch.trial import Series, Trial

_COLUMNS = ["mode", "mode_step", "dtype", "shape", "blob", *FIELDS]
# How many tensors keep their rows in memory.
_KEPT = 64
_Values = dict[int, npt.NDArray[np.generic]]


class NativeEvidence:
    """What is saved of the tensors of a run in Stepwatch's own format.

    Args:
        trial: A view of the run.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._seen: dict[str, list[StepRange]] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Forget what was read, if there is more now."""
        reader = self._trial.reader
        seen = {worker: reader.step_ranges(worker) for worker in reader.workers}
        if seen == self._seen:
            return
        self._seen = seen
        # A cache of its own for each state of the run.
        self._rows: Callable[[str], _Rows] = lru_cache(maxsize=_KEPT)(self._read)
        self._scalars: Callable[[str, str], _Values] = lru_cache(maxsize=_KEPT)(self._read_scalars)

    def collections(self) -> dict[str, Collection]:
        """Return the collections: the kinds of tensors, those asked for, and ``biases``."""
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
        """Return the names of tensors: of a mode, of a worker, of some steps; all by default."""
        if (mode, worker, steps) == (None, None, EVERYTHING):
            return set(self._trial.reader.tensors())
        if not self._trial.workers or worker not in (None, *self._trial.workers):
            return set()
        table = self._trial.rows(None, ["tensor"], mode or Mode.GLOBAL, worker)
        within = [step_in_range(steps, step) for step in table.column("step").to_pylist()]
        names = table.filter(pa.array(within, pa.bool_())).column("tensor")
        return set(names.unique().to_pylist())

    def tensors_at(self, step: int) -> dict[str, set[str]]:
        """Return the names of the tensors of a global step, by worker."""
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
        """Return ``None``: names are those of the framework."""
        del tensor
        return None

    def steps_of(self, tensor: str) -> dict[int, tuple[Mode, int]]:
        """Return the global steps of a tensor, each with its mode and mode step."""
        return self._rows(tensor).modes

    def saved(self, tensor: str, step: int) -> dict[str, Saved]:
        """Return what of a tensor was saved at a global step, by worker."""
        rows = self._rows(tensor)
        if step not in rows.at:
            return {}
        mode, mode_step = rows.modes[step]
        return {
            worker: Saved(
                mode,
                mode_step,
                rows.has_value(row),
                rows.shape(row),
                () if rows.is_scalar(row) else DERIVED,
            )
            for worker, row in rows.at[step].items()
        }

    def value(self, worker: str, step: int, tensor: str) -> npt.NDArray[np.generic]:
        """Return a full value that was saved."""
        rows = self._rows(tensor)
        blob = rows.blobs[rows.at[step][worker]]
        if blob is None:
            return self._scalars(tensor, worker)[step]
        return self._trial.reader.raw(worker, blob, step, tensor)

    def reduction(self, worker: str, step: int, tensor: str, reduction: Reduction) -> Any:
        """Return a reduction that follows from the statistics, as a NumPy scalar.

        Standard deviation and variance are those of a sample, as a hook for PyTorch saves them:
        a rule then sees the same numbers in both formats.

        Raises:
            LookupError: It needs the values, or the tensor is a scalar, whose value is there.
        """
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
