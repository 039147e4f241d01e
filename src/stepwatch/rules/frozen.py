"""Which parameters look as if they were frozen by accident: a block between two that train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..record import TensorInfo

Mask = npt.NDArray[np.bool_]


def is_frozen(info: TensorInfo) -> bool:
    """Return whether a parameter is frozen although an optimizer was given it."""
    return info.trainable is False and bool(info.optimizer_groups)


def frozen_inside(infos: Sequence[TensorInfo]) -> Mask:
    """Return which parameters are of a block that is frozen between others that train.

    Blocks are what a list of modules holds: ``blocks.0``, ``blocks.1`` and so on. One of them is
    frozen by accident if an optimizer was given all of it, one before it that is built the same
    way trains, and so does some parameter after it. What is frozen on purpose is the beginning of
    a model, or the same layer of every block.

    Args:
        infos: Of all parameters, in the order of the model.

    Returns:
        Shape ``[parameters]``.
    """
    inside = np.zeros(len(infos), bool)
    trains = np.array([info.trainable is not False for info in infos], bool)
    frozen = np.array([is_frozen(info) for info in infos], bool)
    last = int(np.flatnonzero(trains)[-1]) if trains.any() else -1
    for blocks in _lists(infos).values():
        for index, block in blocks.items():
            if max(block.rows) < last and frozen[block.rows].all():
                inside[block.rows] |= any(
                    trains[other.rows].all() and other.parts == block.parts
                    for before, other in blocks.items()
                    if before < index
                )
    return inside


@dataclass(slots=True)
class _Block:
    """Where the parameters of a block stand, and their names within it with their shapes."""

    rows: list[int] = field(default_factory=list)
    parts: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


def _lists(infos: Sequence[TensorInfo]) -> dict[str, dict[int, _Block]]:
    """Return the blocks of each list of modules, by the name of the list."""
    lists: dict[str, dict[int, _Block]] = {}
    for row, info in enumerate(infos):
        path = info.name.split(".")
        for depth, part in enumerate(path[:-1]):
            if part.isdecimal():
                blocks = lists.setdefault(".".join(path[:depth]), {})
                block = blocks.setdefault(int(part), _Block())
                block.rows.append(row)
                block.parts.append((".".join(path[depth + 1 :]), info.shape))
    return lists
