"""The rule on boosted trees that grow too deep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..record import StepRecord
from .checks import number
from .rule import Findings, Rule
from .scope import at_least
from .step_view import StepView

ID, YES, NO = "trees/ID", "trees/Yes", "trees/No"

Texts = npt.NDArray[np.str_]
Ints = npt.NDArray[np.int64]


def depths(ids: Texts, yes: Texts, no: Texts) -> Ints:
    """Return how many splits are above each node; by following children from the roots.

    Args:
        ids: Of the nodes, shape ``[nodes]``, all different.
        yes: The child of each where its condition holds; of a leaf, what is no id.
        no: The other child.

    Returns:
        Shape ``[nodes]``, int64; -1 for a node that no root leads to.

    Example:
        >>> ids = np.array(["0-0", "0-1", "0-2", "0-3", "0-4"])
        >>> yes, no = np.array(["0-1", "", "0-3", "", ""]), np.array(["0-2", "", "0-4", "", ""])
        >>> depths(ids, yes, no).tolist()
        [0, 1, 1, 2, 2]
    """
    place = {one: index for index, one in enumerate(ids.tolist())}
    children = np.array(
        [[place.get(one, -1) for one in side.tolist()] for side in (yes, no)], np.int64
    )
    depth = np.full(len(ids), -1, np.int64)
    level = np.setdiff1d(np.arange(len(ids)), children)
    number_of_levels = 0
    while len(level):
        depth[level] = number_of_levels
        number_of_levels += 1
        level = children[:, level].ravel()
        level = level[(level >= 0) & (depth[level] < 0)]  # a circle would never end
    return depth


def depth_by_id(node: int) -> int:
    """Return how deep a node lies if ids number full levels: ``floor(log2(id + 1))``.

    Example:
        >>> [depth_by_id(node) for node in (0, 2, 6, 30)]
        [0, 1, 2, 4]
    """
    return int(node + 1).bit_length() - 1


class TreeDepth(Rule):
    """A tree of a boosted model that is deeper than it should be.

    The depth is counted by following the children of each node. Where they were not saved, it is
    told from the largest id of a node, which is too little for trees that are not full.

    Args:
        depth: A tree is too deep above this.
    """

    name = "tree_depth"
    evidence = ("trees:raw:every=10",)

    def __init__(self, depth: float = 4.0) -> None:
        at_least("depth", depth, 1)
        self.depth = depth
        self._judged = False

    def check(self, step: StepView) -> Findings:
        deepest = max(
            (found for record in step.records for found in _deepest(record)),
            default=None,
        )
        if deepest is None:
            return
        self._judged = True
        depth, tree, largest = deepest
        if depth > self.depth:
            yield Finding(
                self.name,
                step.number,
                ID,
                f"tree {tree} at step {step.number} is {depth} deep (> {number(self.depth)})",
                value=float(depth),
                threshold=self.depth,
                condition="depth",
                remedy="lower max_depth, or raise gamma or min_child_weight",
                evidence={"tree": tree, "largest_id": largest, "by_id": depth_by_id(largest)},
            )

    def unevaluated(self) -> str | None:
        return None if self._judged else f"no trees were saved in full, as {ID}, {YES} and {NO}"


def _deepest(record: StepRecord) -> Iterator[tuple[int, str, int]]:
    """Yield depth, name and largest id of the deepest tree of a step, if there is one."""
    saved = frozenset(record.raw) if record.raw else frozenset()
    columns = {name: _texts(record.raw[name]) for name in (ID, YES, NO) if name in saved}
    ids = columns.get(ID, np.empty(0, np.str_))
    if not len(ids):
        return
    trees, nodes = np.char.rpartition(ids, "-")[:, [0, 2]].T
    if len(columns) == 3:
        found = depths(*columns.values())
    else:
        found = np.array([depth_by_id(int(node)) for node in nodes], np.int64)
    at = int(found.argmax())
    largest = max(int(node) for node in nodes[trees == trees[at]])
    yield int(found[at]), str(trees[at]), largest


def _texts(values: npt.NDArray[np.generic]) -> Texts:
    flat = [one.decode() if isinstance(one, bytes) else str(one) for one in values.ravel().tolist()]
    return np.array(flat, np.str_)
