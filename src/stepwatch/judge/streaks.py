"""For how many steps in a row conditions were met, and which tensors met one together."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt


class Streaks:
    """Counts looks in a row, of single conditions or of all tensors of a group at once."""

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}
        self._groups: dict[Hashable, tuple[tuple[str, ...], npt.NDArray[np.int64]]] = {}
        self._absent: dict[tuple[Hashable, str], int] = {}

    def count(self, key: Hashable, met: object) -> int:
        """Count one look at a condition; return the looks in a row including this one."""
        count = self._counts[key] = self._counts.get(key, 0) + 1 if met else 0
        return count

    def count_each(
        self, key: Hashable, names: tuple[str, ...], met: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """Count one look at each tensor; one that is not among ``names`` keeps its count.

        Args:
            key: The group, such as a worker.
            names: The tensors looked at.
            met: Whether each meets the condition now, shape ``[tensors]``.

        Returns:
            Shape ``[tensors]``, the looks in a row including this one.
        """
        before, counts = self._groups.get(key, ((), np.zeros(0, np.int64)))
        if names is not before and names != before:
            known = zip(before, counts.tolist(), strict=True)
            self._absent.update({(key, name): count for name, count in known})
            counts = np.array([self._absent.pop((key, name), 0) for name in names], np.int64)
        counts = np.where(met, counts + 1, 0)
        self._groups[key] = names, counts
        return counts


class SimultaneousOnsets:
    """Which tensors met a condition at the same time, under the name of the first of them."""

    def __init__(self) -> None:
        self._leader_of: dict[str, str] = {}

    def update(self, names: tuple[str, ...], met: npt.NDArray[np.bool_]) -> dict[str, list[int]]:
        """Return the indices of the tensors that meet it now, by leader, in order.

        Args:
            names: The tensors looked at; others keep their leader.
            met: Whether each meets the condition now, shape ``[tensors]``.
        """
        if not self._leader_of and not met.any():
            return {}
        new_leader = ""
        groups: dict[str, list[int]] = {}
        for index, (name, is_met) in enumerate(zip(names, met.tolist(), strict=True)):
            if not is_met:
                self._leader_of.pop(name, None)
                continue
            if name not in self._leader_of:
                new_leader = new_leader or name
                self._leader_of[name] = new_leader
            groups.setdefault(self._leader_of[name], []).append(index)
        return groups
