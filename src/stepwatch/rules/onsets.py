"""Tensors that meet a condition together are one finding, not one each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class Onsets:
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
