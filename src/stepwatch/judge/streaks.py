"""How many times in a row conditions held, and for which tensors one began to hold together."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt


class Streaks:
    """Counts evaluations in a row, of single conditions or of all tensors of a group at once."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}
        self._groups: dict[Hashable, tuple[tuple[str, ...], npt.NDArray[np.int64]]] = {}
        self._absent: dict[tuple[Hashable, str], int] = {}

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
        before, counts = self._groups.get(key, ((), np.zeros(0, np.int64)))
        if names is not before and names != before:
            known = zip(before, counts.tolist(), strict=True)
            self._absent.update({(key, name): count for name, count in known})
            counts = np.array([self._absent.pop((key, name), 0) for name in names], np.int64)
        counts = np.where(holds, counts + 1, 0)
        self._groups[key] = names, counts
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
