"""Trees as a table of their nodes, a column a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: What stands for a child, or a condition, that a leaf has not.
NOTHING = "nan"


class Node(NamedTuple):
    """One node of a tree.

    Args:
        tree: Number of its tree, from 0 over all rounds.
        node: Its number within the tree; the root is 0.
        feature: What it splits by; ``Leaf`` for none.
        split: The condition holds below this number; 0 for a leaf, and for categories.
        yes: Number of the child where the condition holds; -1 for none.
        no: Number of the other.
        missing: Number of that where the value is missing.
        gain: What the split gains; of a leaf its value.
        cover: The sum of the second derivatives that come here.
    """

    tree: int
    node: int
    feature: str = "Leaf"
    split: float = 0.0
    yes: int = -1
    no: int = -1
    missing: int = -1
    gain: float = 0.0
    cover: float = 0.0


def columns_of(nodes: Sequence[Node]) -> Mapping[str, npt.NDArray[np.generic]]:
    """Return the columns of a table of nodes, shape ``[nodes]`` each.

    Returns:
        ``Tree`` and ``Node`` are int64; ``Split``, ``Gain`` and ``Cover`` float64; ``ID``,
        ``Yes``, ``No`` and ``Missing`` texts such as ``0-3``, and ``Feature`` is one.
    """
    return {
        "Tree": np.array([one.tree for one in nodes], np.int64),
        "Node": np.array([one.node for one in nodes], np.int64),
        "ID": _ids((one.tree, one.node) for one in nodes),
        "Feature": np.array([one.feature for one in nodes], np.str_),
        "Split": np.array([one.split for one in nodes], np.float64),
        "Yes": _ids((one.tree, one.yes) for one in nodes),
        "No": _ids((one.tree, one.no) for one in nodes),
        "Missing": _ids((one.tree, one.missing) for one in nodes),
        "Gain": np.array([one.gain for one in nodes], np.float64),
        "Cover": np.array([one.cover for one in nodes], np.float64),
    }


def _ids(places: Iterable[tuple[int, int]]) -> npt.NDArray[np.str_]:
    return np.array([NOTHING if at < 0 else f"{tree}-{at}" for tree, at in places], np.str_)
