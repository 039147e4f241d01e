"""The step that is being observed."""

from __future__ import annotations

from collections.abc import KeysView

import numpy as np
import numpy.typing as npt

from ..record import Layout, TensorInfo
from ..statistics import NUM_FIELDS, merge, summarize_into
from .plan import Plan

Array = npt.NDArray[np.generic]


class OpenStep:
    """Gathers the observations of one step until it is closed.

    A tensor that is observed again within the step (micro-batches, a shared layer) is merged
    into its row.

    Args:
        plan: What is saved of which tensor.
        mode_step: The step within its mode, which save schedules count.
    """

    def __init__(self, plan: Plan, mode_step: int) -> None:
        self._plan = plan
        self._mode_step = mode_step
        self.tensors: list[TensorInfo] = []
        self.raw: dict[str, Array] = {}
        self._rows: dict[str, int] = {}
        self._matrix = np.empty((64, NUM_FIELDS))

    def __len__(self) -> int:
        return len(self.tensors)

    @property
    def names(self) -> KeysView[str]:
        """The names of what was observed."""
        return self._rows.keys()

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def wants(self, name: str, kind: str) -> bool:
        """Return whether anything is saved of this tensor at this step."""
        step = self._mode_step
        return any(policy.wants(step) for policy in self._plan.policies(name, kind))

    def wants_raw(self, name: str, kind: str) -> bool:
        """Return whether the full value of this tensor is saved at this step."""
        step = self._mode_step
        return any(policy.wants_raw(step) for policy in self._plan.policies(name, kind))

    def add(self, info: TensorInfo, array: Array) -> int | None:
        """Observe a tensor; return its row if it is new and wanted.

        Args:
            info: What is known of it.
            array: Its value, of any shape; read now, so it may change afterwards.
        """
        if not self.wants(info.name, info.collection):
            return None
        part = np.empty(NUM_FIELDS)
        summarize_into(array, part)  # it may refuse the array: nothing was noted yet
        if self.wants_raw(info.name, info.collection):
            self.raw[info.name] = np.array(array)
        row = self._rows.get(info.name)
        if row is None:
            row = self.add_row(info)
            self._matrix[row] = part
            return row
        self._matrix[row] = merge(np.stack([self._matrix[row], part]))
        return None

    def add_row(self, info: TensorInfo) -> int:
        """Make room for a new tensor and return its row, for the caller to fill."""
        row = len(self.tensors)
        if row == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
        self.tensors.append(info)
        self._rows[info.name] = row
        return row

    def alias(self, info: TensorInfo, row: int) -> None:
        """Observe a tensor that is the very one of another row of this step."""
        if self.wants(info.name, info.collection) and info.name not in self._rows:
            self._matrix[self.add_row(info)] = self._matrix[row]
            if self.wants_raw(info.name, info.collection):
                source = self.tensors[row].name
                if source in self.raw:
                    self.raw[info.name] = self.raw[source]

    def row_of(self, name: str) -> int:
        """Return the row of a tensor that was observed."""
        return self._rows[name]

    def statistics_of(self, row: int) -> npt.NDArray[np.float64]:
        """Return the statistics of a row, shape ``[NUM_FIELDS]``, to read or to fill."""
        found: npt.NDArray[np.float64] = self._matrix[row]
        return found

    def absorb(self, other: OpenStep) -> None:
        """Take over all observations of a step that turned out to belong to this one."""
        for row, info in enumerate(other.tensors):
            mine = self._rows.get(info.name)
            if mine is None:
                self._matrix[self.add_row(info)] = other._matrix[row]
            else:
                self._matrix[mine] = merge(np.stack([self._matrix[mine], other._matrix[row]]))
        self.raw |= other.raw

    def close(self, last: Layout | None) -> tuple[Layout, npt.NDArray[np.float64]]:
        """Return layout and statistics, shape ``[tensors, NUM_FIELDS]``.

        Args:
            last: The layout of the step before; returned again if this step has the same.
        """
        tensors = tuple(self.tensors)
        layout = last if last is not None and last.tensors == tensors else Layout(tensors)
        return layout, self._matrix[: len(tensors)].copy()
