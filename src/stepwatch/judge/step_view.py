"""One step as rules evaluate it; the same from a live record and from a stored run."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from ..errors import TensorUnavailable
from ..model.record import StepRecord, TensorInfo
from ..model.sharding import assemble_records
from ..model.steps import Mode
from ..numerics import statistics
from ..numerics.measures import any_non_finite, scalar_value


class TensorView(NamedTuple):
    """One tensor of one worker at one step."""

    record: StepRecord
    row: int

    @property
    def info(self) -> TensorInfo:
        """Kind, dtype, shape and role."""
        return self.record.layout.tensors[self.row]

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.info.name

    @property
    def worker(self) -> str:
        """The worker that recorded it."""
        return self.record.worker

    @property
    def statistics(self) -> statistics.Statistics:
        """Its statistics under names, such as ``.statistics.abs_mean``."""
        return statistics.Statistics(self.record.statistics[self.row])

    def value(self) -> npt.NDArray[np.generic]:
        """Return the full value.

        Raises:
            TensorUnavailable: It was not saved at this step.
        """
        try:
            return self.record.raw[self.name]
        except KeyError:
            raise TensorUnavailable(
                f"the raw value of {self.name} was not saved at step {self.record.step}"
                f"; save it with: --save '{self.info.collection}:raw'"
            ) from None

    @property
    def scalar(self) -> float:
        """The value of a tensor of one element; see ``measures.scalar_value``."""
        return scalar_value(self.record.statistics[self.row])

    @property
    def digest(self) -> int | None:
        """The digest of its value, from 0 to 2**64 - 1; ``None`` if it was not saved."""
        return self.record.digests.get(self.name)

    @property
    def exponents(self) -> npt.NDArray[np.int64] | None:
        """How many elements have which exponent; ``None`` if that was not saved."""
        return self.record.exponents.get(self.name)


class TensorGroup(Sequence[TensorView]):
    """Some tensors of one worker at one step, in the order of execution.

    Iterate for one tensor after the other; ``group.quantity("abs_mean")`` is that of all at once.
    """

    def __init__(self, record: StepRecord, rows: npt.NDArray[np.intp]) -> None:
        self.record = record
        self.rows = rows
        self._tensors: list[TensorView] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> TensorView: ...
    @overload
    def __getitem__(self, index: slice) -> TensorGroup: ...
    def __getitem__(self, index: int | slice) -> TensorView | TensorGroup:
        if isinstance(index, slice):
            return TensorGroup(self.record, self.rows[index])
        return TensorView(self.record, int(self.rows[index]))

    def __iter__(self) -> Iterator[TensorView]:
        if self._tensors is None:
            record = self.record
            self._tensors = [TensorView(record, row) for row in self.rows.tolist()]
        return iter(self._tensors)

    def quantity(self, name: str) -> npt.NDArray[np.float64]:
        """Return one statistic of every tensor, shape ``[tensors]``, float64."""
        return statistics.quantity(self.record.statistics[self.rows], name)

    @property
    def infos(self) -> list[TensorInfo]:
        """Kind, dtype, shape and role of every tensor."""
        tensors = self.record.layout.tensors
        return [tensors[row] for row in self.rows]

    @property
    def names(self) -> list[str]:
        """The names of the tensors."""
        return [info.name for info in self.infos]

    def where(self, chosen: npt.NDArray[np.bool_] | Sequence[int]) -> TensorGroup:
        """Return the tensors for which a mask is true, shape ``[tensors]``, or at some indices."""
        return TensorGroup(self.record, self.rows[chosen])


# To take the value of a mode costs more than all else that is done to compare it.
_GLOBAL, _TRAIN = Mode.GLOBAL.value, Mode.TRAIN.value
_NO_ROWS = np.empty(0, np.intp)
_NO_PATTERNS: Mapping[str, Sequence[str]] = {}


class StepNumber(NamedTuple):
    """A step that a rule remembers.

    Args:
        number: The global step.
        train_step: The TRAIN step that people count by; see ``StepView.train_step``.
    """

    number: int
    train_step: int

    def mode_step(self, mode: str) -> int | None:
        """Return the step as a mode counts it; ``None`` where no mode is known."""
        if not mode:
            return None
        return self.train_step if mode in (_TRAIN, _GLOBAL) else self.number - self.train_step


class StepView:
    """One complete step.

    Args:
        records: The records of this step, by worker; at least one. The shards of a tensor are
            joined, and it is left out if one is missing.
        patterns: The patterns of the run's own collections, by collection name.
        include: Only tensors whose name matches this regular expression, by a search.
        exclude: Tensors whose name matches this regular expression are left out.
        others: Whether there are workers whose records of this step are not among these.
    """

    def __init__(
        self,
        records: Sequence[StepRecord],
        patterns: Mapping[str, Sequence[str]] = _NO_PATTERNS,
        *,
        include: str | None = None,
        exclude: str | None = None,
        others: bool = False,
    ) -> None:
        # Attributes, and no properties: rules ask for them dozens of times at every step.
        self.others = others
        self._given = tuple(records)
        self.records = assemble_records(self._given)
        self.patterns = patterns
        self._include = include
        self._exclude = exclude
        first = self.records[0]
        #: The global step.
        self.number: int = first.step
        #: What the model was used for.
        self.mode: Mode = first.mode
        #: The step within the mode.
        self.mode_step: int = first.mode_step
        #: Whether the model is trained at it.
        self.trains: bool = self.mode is Mode.TRAIN or self.mode is Mode.GLOBAL
        #: The workers of which there are records.
        self.workers: tuple[str, ...] = tuple([record.worker for record in self.records])
        #: The TRAIN step that people count by: in an evaluation how many there were so far.
        self.train_step: int = (
            self.mode_step if self.trains else max(0, first.step - self.mode_step)
        )
        #: Its numbers, to be remembered.
        self.at = StepNumber(self.number, self.train_step)
        #: What rules computed of this step, for those that need the same, by what it is.
        self.computed: dict[Hashable, Any] = {}
        self._groups: dict[tuple[str, ...], list[TensorGroup]] = {}

    def is_of(self, mode: str | None) -> bool:
        """Return whether the step is of a mode; ``None`` and ``GLOBAL`` are all.

        A training that knows no modes has steps of ``GLOBAL`` only, and these train.
        """
        mine = self.mode
        return mode in (None, mine, _GLOBAL) or (mine is Mode.GLOBAL and mode == _TRAIN)

    @property
    def time_ns(self) -> int:
        """When the step ended, nanoseconds since the Unix epoch."""
        return self.records[0].time_ns

    @property
    def in_parts(self) -> frozenset[str]:
        """The collections of tensors that are left out because a shard of each is missing."""
        whole = {name for record in self.records for name in record.layout.row_of}
        return frozenset(
            tensor.collection
            for record in self._given
            if record.layout.has_parts
            for tensor in record.layout.tensors
            if tensor.offset is not None and tensor.name not in whole
        )

    @property
    def unassembled(self) -> tuple[StepRecord, ...]:
        """The records as the workers wrote them, with the shards of tensors that each holds."""
        return self._given

    def groups(self, *collections: str, worker: str | None = None) -> Iterator[TensorGroup]:
        """Yield, for each worker (or one) that has any, its tensors of the collections, or all."""
        groups = self._groups.get(collections)
        if groups is None:
            groups = self._groups[collections] = []
            for record in self.records:
                rows = self._rows(record, collections)
                if len(rows):
                    groups.append(TensorGroup(record, rows))
        if worker is not None:
            groups = [group for group in groups if group.record.worker == worker]
        return iter(groups)

    def tensors(self, *collections: str, worker: str | None = None) -> Iterator[TensorView]:
        """Yield the tensors of the collections (all by default), worker after worker, or of one."""
        return chain.from_iterable(self.groups(*collections, worker=worker))

    def tensor(self, name: str, worker: str | None = None) -> TensorView | None:
        """Return the tensor of this name from the first worker (or ``worker``) that has it."""
        for record in self.records:
            row = record.layout.row_of.get(name)
            if row is not None and worker in (None, record.worker):
                return TensorView(record, row)
        return None

    def scalar(self, name: str, worker: str) -> float:
        """Return the scalar of this name that a worker recorded; nan if there is none."""
        tensor = self.tensor(name, worker)
        return math.nan if tensor is None else tensor.scalar

    def scalars(self, names: Sequence[str], worker: str) -> list[float]:
        """Return the scalars of these names that a worker recorded; nan for those of none."""
        for record in self.records:
            if record.worker == worker:
                row_of, rows = record.layout.row_of, record.statistics
                found = [row_of.get(name) for name in names]
                return [math.nan if row is None else scalar_value(rows[row]) for row in found]
        return [math.nan] * len(names)

    def has_non_finite(self, record: StepRecord) -> bool:
        """Return whether any tensor of a record, in scope or not, has an element nan or infinite.

        Not known counts as no.
        """
        key = "has_non_finite", id(record)
        known: bool | None = self.computed.get(key)
        if known is None:
            known = self.computed[key] = any_non_finite(record.statistics)
        return known

    def _rows(self, record: StepRecord, collections: tuple[str, ...]) -> npt.NDArray[np.intp]:
        layout = record.layout
        if collections and not (self._include or self._exclude or self.patterns):
            return layout.rows_of_any(collections)
        mask = np.ones(len(layout), bool)
        if collections:
            mask[:] = False
            for name in collections:
                mask[layout.rows_of.get(name, _NO_ROWS)] = True
                for pattern in self.patterns.get(name, ()):
                    mask |= layout.matching(pattern)
        if self._include is not None:
            mask &= layout.matching(self._include)
        if self._exclude is not None:
            mask &= ~layout.matching(self._exclude)
        return np.flatnonzero(mask)
