"""The step that is being observed."""

from __future__ import annotations

from collections.abc import KeysView, Sequence, Set

import numpy as np
import numpy.typing as npt

from ..model.record import Layout, TensorInfo
from ..model.steps import Mode
from ..numerics.digest import digest
from ..numerics.exponents import count_exponents
from ..numerics.statistics import (
    COUNT,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    ReadTensors,
    Row,
    merge,
    summarize_into,
    summarize_numbers,
)
from .budget import Budget
from .plan import DIGEST, EXPONENTS, NOTHING, RAW, STATISTICS, Plan, Plans

Array = npt.NDArray[np.generic]
_NO_ROWS = np.empty((0, NUM_FIELDS))
_STRUCT = _NO_ROWS.__array_struct__


class Arrays(dict[str, Array]):
    """Arrays by name, and their size in bytes: a sum for each tensor would be quadratic.

    Change it by ``[]`` and ``del`` only.
    """

    size_bytes = 0

    def __setitem__(self, name: str, array: Array) -> None:
        if name in self:
            self.size_bytes -= self[name].nbytes
        self.size_bytes += array.nbytes
        super().__setitem__(name, array)

    def __delitem__(self, name: str) -> None:
        self.size_bytes -= self[name].nbytes
        super().__delitem__(name)


class OpenStep:
    """Gathers the observations of one step until it is closed.

    A tensor that is observed again within the step (micro-batches, a shared layer) is merged
    into its row.

    Args:
        plan: What is saved of which tensor.
        mode: Its mode.
        mode_step: The step within its mode, which save schedules count.
        thinned_by: The budget, if by it only a part of what is planned is saved.
    """

    def __init__(
        self, plan: Plans, mode: Mode, mode_step: int, thinned_by: Budget | None = None
    ) -> None:
        self._plan, self._budget = plan, thinned_by
        self.mode = mode
        self.mode_step = mode_step
        self.tensors: list[TensorInfo] = []
        self.raw = Arrays()
        self.digests: dict[str, int] = {}
        self.exponents: dict[str, npt.NDArray[np.int64]] = {}
        #: When tensors were observed of which that is kept, nanoseconds since the Unix epoch.
        self.times_ns: dict[str, int] = {}
        self._raw_room = 0
        #: Of these tensors statistics are saved, and nothing else; there may be others.
        self.usual: Set[str] = frozenset()
        self._wanted: Set[str] = frozenset()
        if thinned_by is None and isinstance(plan, Plan):
            self.usual, self._wanted = plan.always, plan.always_wanted
        #: The row of each tensor, by name; to be read only.
        self.rows: dict[str, int] = {}
        # Of steps between full ones most hold a few numbers or nothing.
        self._room, self._matrix, self._struct = 0, _NO_ROWS, _STRUCT

    def __len__(self) -> int:
        return len(self.tensors)

    @property
    def is_thin(self) -> bool:
        """Whether by the budget only a part of what is planned is saved."""
        return self._budget is not None

    @property
    def has_only_losses(self) -> bool:
        """Whether by the budget nothing is saved but losses and what the script saves itself."""
        return self._budget is not None and not self._budget.has_requests

    def widen(self) -> None:
        """Save from here on what is planned, whatever the budget leaves out."""
        self._budget = None

    @property
    def raw_room(self) -> int:
        """How many bytes of weights and gradients are kept raw, whatever the plan says."""
        return self._raw_room

    @raw_room.setter
    def raw_room(self, size_bytes: int) -> None:
        self._raw_room = size_bytes
        if size_bytes:
            self.usual = frozenset()

    @property
    def names(self) -> KeysView[str]:
        return self.rows.keys()

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def level(self, info: TensorInfo) -> int:
        """Return what is saved of this tensor at this step; see ``Plan.level``."""
        level = self._planned(info.name, info.collection)
        if self._raw_room and level and info.collection in ("weights", "gradients"):
            return level | RAW if self.raw.size_bytes < self._raw_room else level
        return level

    def saves(self, name: str, kind: str) -> bool:
        """Return whether anything is saved of a tensor at this step; see ``level``."""
        return self._planned(name, kind) != NOTHING

    def _planned(self, name: str, kind: str) -> int:
        """Return what the plan saves of a tensor, as far as the budget lets it."""
        if self._budget is not None and not self._budget.keeps(name, kind):
            return NOTHING
        return self._plan.level(name, kind, self.mode, self.mode_step)

    def wants(self, kind: str) -> bool:
        """Return whether any tensor of a kind may be saved at this step; see ``Plan.wants``."""
        if kind in self._wanted:
            return True
        if self._budget is not None and not self._budget.may_keep(kind):
            return False
        return self._plan.wants(kind, self.mode_step)

    def add(self, info: TensorInfo, array: Array, level: int | None = None) -> int | None:
        """Observe a tensor; return its row if it is new and wanted.

        Args:
            info: What is known of it.
            array: Its value, of any shape; read now, so it may change afterwards.
            level: What ``level`` returned, if it was called before.
        """
        if level is None:
            level = self.level(info)
        if level == NOTHING:
            return None
        row = self.rows.get(info.name)
        if row is None:
            self._make_room()
            # It may refuse the array: nothing was added yet.
            _summarize(array, self._matrix[len(self.tensors)])
            added = self._append(info)
        else:
            part = np.empty(NUM_FIELDS)
            _summarize(array, part)
            self._matrix[row] = merge(np.stack([self._matrix[row], part]))
            added = None
        if level > STATISTICS:
            self.add_more(info, array, level)
        return added

    def add_read(
        self, infos: Sequence[TensorInfo], values: tuple[object, ...], read: ReadTensors
    ) -> int:
        """Observe tensors that are new, by what reads many at a time, up to the first it cannot.

        Args:
            infos: What is known of them; of each only statistics are saved, none is in this step.
            values: Their values.
            read: What reads them.

        Returns:
            How many were added.
        """
        row = len(self.tensors)
        while row + len(values) > self._room:
            self._grow()
        added = read(values, self._struct, row)
        if added < len(values):
            infos = infos[:added]
        self.tensors += infos
        for info in infos:
            self.rows[info.name] = row
            row += 1
        return added

    def add_read_one(self, info: TensorInfo, value: object, read: ReadTensors) -> bool:
        """Observe one as ``add_read`` does; return whether it was added."""
        row = len(self.tensors)
        if row == self._room:
            self._grow()
        if not read((value,), self._struct, row):
            return False
        self.rows[info.name] = row
        self.tensors.append(info)
        return True

    def add_numbers(self, infos: Sequence[TensorInfo], numbers: tuple[float, ...]) -> None:
        """Observe tensors of one element each, float64.

        Args:
            infos: What is known of them; no two have one name.
            numbers: The elements.
        """
        for info in infos:
            is_usual = info.name in self.usual or self.level(info) == STATISTICS
            if not is_usual or info.name in self.rows:
                for one, number in zip(infos, numbers, strict=True):
                    self.add(one, np.asarray(number, np.float64))
                return
        row = len(self.tensors)
        while row + len(numbers) > self._room:
            self._grow()
        summarize_numbers(numbers, self._matrix, row)
        self.tensors += infos
        for info in infos:
            self.rows[info.name] = row
            row += 1

    def add_more(self, info: TensorInfo, array: Array, level: int) -> None:
        """Save of a tensor what ``level`` asks for beside its statistics.

        Args:
            info: What is known of it.
            array: Its value, of any shape; read now.
            level: As ``level`` returned it.
        """
        name = info.name
        if level & RAW:
            self.raw[name] = np.array(array)
        if level & DIGEST:
            self.digests[name] = digest(array)
        if level & EXPONENTS:
            self.add_exponents(name, count_exponents(array))

    def add_exponents(self, name: str, counts: npt.NDArray[np.int64]) -> None:
        """Add to the histogram of exponents of a tensor, shape ``[NUM_BINS]``."""
        self.exponents[name] = counts + self.exponents.get(name, 0)

    def add_statistics(self, info: TensorInfo, statistics: npt.NDArray[np.float64]) -> None:
        """Add statistics that were computed elsewhere, merged into those that are there.

        Args:
            info: The tensor; that it is saved was asked before.
            statistics: Shape ``[NUM_FIELDS]``, float64.
        """
        if info.name in self.rows:
            mine = self.statistics_of(self.rows[info.name])
            mine[:] = merge(np.stack([mine, statistics]))
        else:
            row = self.add_row(info)
            self._matrix[row] = statistics

    def add_row(self, info: TensorInfo) -> int:
        """Make room for a new tensor and return its row, for the caller to fill."""
        self._make_room()
        return self._append(info)

    def claim(self, info: TensorInfo) -> npt.NDArray[np.float64]:
        """Return the row of a tensor to be filled, which replaces what is there of its name.

        Returns:
            Shape ``[NUM_FIELDS]``, float64, not initialized; fill it before the next tensor.
        """
        row = self.rows.get(info.name)
        if row is None:
            row = self.add_row(info)
        self.tensors[row] = info
        if info.name in self.raw:
            del self.raw[info.name]
        return self.statistics_of(row)

    def alias(self, info: TensorInfo, row: int) -> bool:
        """Add a new tensor that is that of another row, perhaps reshaped, without reading it.

        Returns:
            False, and nothing is added, if it is not new, or if something is wanted of it that
            the row does not have.
        """
        if info.name in self.rows:
            return False
        source = self.tensors[row].name
        level = STATISTICS if info.name in self.usual else self.level(info)
        if level & RAW:
            if source not in self.raw:
                return False
            self.raw[info.name] = self.raw[source].reshape(info.shape)
        if level & (DIGEST | EXPONENTS):
            return False
        if level != NOTHING:
            added = self.add_row(info)  # first: it may replace the matrix
            self._matrix[added] = self._matrix[row]
        return True

    def row_of(self, name: str) -> int:
        return self.rows[name]

    def statistics_of(self, row: int) -> npt.NDArray[np.float64]:
        """Return the statistics of a row, shape ``[NUM_FIELDS]``, to read or to fill."""
        found: npt.NDArray[np.float64] = self._matrix[row]
        return found

    def is_finite(self, row: int) -> bool:
        """Return whether all elements of the tensor of a row are."""
        matrix = self._matrix
        return not (matrix[row, NAN] or matrix[row, POSINF] or matrix[row, NEGINF])

    def absorb(self, other: OpenStep) -> None:
        """Take over the observations of a step that turned out to belong to this one."""
        for row, info in enumerate(other.tensors):
            self.add_statistics(info, other._matrix[row])
        for name, array in other.raw.items():
            self.raw[name] = array
        self.raw_room = max(self.raw_room, other.raw_room)
        self.digests |= other.digests
        for name, counts in other.exponents.items():
            self.add_exponents(name, counts)

    def _append(self, info: TensorInfo) -> int:
        row = self.rows[info.name] = len(self.tensors)
        self.tensors.append(info)
        return row

    def _make_room(self) -> None:
        if len(self.tensors) == self._room:
            self._grow()

    def _grow(self) -> None:
        self._room = max(64 if self._budget is None else 4, 2 * self._room)
        before, self._matrix = self._matrix, np.empty((self._room, NUM_FIELDS))
        self._matrix[: len(before)] = before
        # Where it lies, for what fills its rows.
        self._struct = self._matrix.__array_struct__

    def is_small(self, statistics: npt.NDArray[np.float64]) -> bool:
        """Return whether statistics are all there is of a step that is closed, and all is finite.

        Args:
            statistics: What ``close`` returned.
        """
        if self.raw or self.digests or self.exponents or self.times_ns:
            return False
        return not statistics[:, NAN : NEGINF + 1].any()

    def close(self, last: Layout | None) -> tuple[Layout, npt.NDArray[np.float64]]:
        """Return layout and statistics, shape ``[tensors, NUM_FIELDS]``.

        Args:
            last: The layout of the step before; returned again if this step has the same.
        """
        tensors = tuple(self.tensors)
        layout = last if last is not None and last.tensors == tensors else Layout(tensors)
        return layout, self._matrix[: len(tensors)].copy()


def single_values(statistics: npt.NDArray[np.float64]) -> tuple[float, ...] | None:
    """Return the value of each tensor; ``None`` where one has not one element.

    Args:
        statistics: Shape ``[tensors, NUM_FIELDS]``.
    """
    rows = statistics.tolist()
    return tuple([row[SUM] for row in rows]) if all(row[COUNT] == 1 for row in rows) else None


def _summarize(array: Array, row: Row) -> None:
    """Write statistics into a row; of text only how many there are."""
    if array.dtype.kind == "U":
        row[:] = np.nan
        row[COUNT] = array.size
    else:
        summarize_into(array, row)
