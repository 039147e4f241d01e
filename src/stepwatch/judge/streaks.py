"""How many times in a row conditions held, and for which tensors one began to hold together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class NamedRows:
    """An array with a row for each name; a name keeps its row, whatever else comes.

    Args:
        shape: Of a row.
        dtype: Of the array.
    """

    def __init__(self, shape: tuple[int, ...] = (), dtype: npt.DTypeLike = np.float64) -> None:
        self.values: npt.NDArray[Any] = np.zeros((0, *shape), dtype)
        self.index: dict[str, int] = {}
        self._names: Sequence[str] = ()
        self._rows = np.zeros(0, np.intp)

    def rows(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the rows of some names; those of new ones hold zeros."""
        if names is not self._names and names != self._names:
            index = self.index
            rows = [index.setdefault(name, len(index)) for name in names]
            self._names, self._rows = names, np.array(rows, np.intp)
            new = (len(index) - len(self.values), *self.values.shape[1:])
            self.values = np.concatenate([self.values, np.zeros(new, self.values.dtype)])
        return self._rows


class Streaks:
    """Counts evaluations in a row, of single conditions or of all tensors of a group at once."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}
        self._groups: dict[Hashable, NamedRows] = {}

    def count(self, key: Hashable, holds: object) -> int:
        """Count one evaluation; return how often in a row the condition held, with this one."""
        count = self._counts[key] = self._counts.get(key, 0) + 1 if holds else 0
        return count

    def count_each(
        self, key: Hashable, names: tuple[str, ...], holds: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Count one evaluation of each tensor; one that is not in ``names`` keeps its count.

        Args:
            key: The group, such as a worker.
            names: The tensors.
            holds: Whether the condition holds for each now, shape ``[tensors]``.

        Returns:
            Shape ``[tensors]``, how often in a row it held, with this one.
        """
        group = self._groups.setdefault(key, NamedRows(dtype=np.int64))
        rows = group.rows(names)
        counts = np.where(holds, group.values[rows] + 1, 0)
        group.values[rows] = counts
        return counts


class SimultaneousOnsets:
    """Tensors for which a condition began to hold at one step, under the name of the first."""

    def __init__(self) -> None:
        self._leader_of: dict[str, str] = {}

    def update(self, names: tuple[str, ...], holds: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
        """Return the indices of the tensors for which it holds now; see ``Rule.onsets``."""
        if not self._leader_of and not holds.any():
            return {}
        new_leader = ""
        groups: dict[str, list[int]] = {}
        for index, (name, holds_now) in enumerate(zip(names, holds.tolist(), strict=True)):
            if not holds_now:
                self._leader_of.pop(name, None)
                continue
            if name not in self._leader_of:
                new_leader = new_leader or name
                self._leader_of[name] = new_leader
            groups.setdefault(self._leader_of[name], []).append(index)
        return groups
