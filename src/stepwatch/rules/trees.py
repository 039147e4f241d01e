"""Rules on boosted trees: too deep, or few features that hold all importance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule, Selection
from ..judge.step_view import StepView
from ..model.finding import Finding
from ..model.record import StepRecord
from ..numerics.measures import number
from .shared import is_scalar, losses_of

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
    row_of = {one: index for index, one in enumerate(ids.tolist())}
    children = np.array(
        [[row_of.get(one, -1) for one in side.tolist()] for side in (yes, no)], np.int64
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
    taken from the largest id of a node, which is too little for trees that are not full.
    """

    name = "tree_depth"
    evidence = ("trees:raw:every=10",)

    depth: float = parameter(4.0, "A tree is too deep above this.", at_least=1)

    def check(self, step: StepView) -> Findings:
        deepest = max(
            (found for record in step.records for found in _deepest(record)),
            default=None,
        )
        if deepest is None:
            return
        self._evaluated = True
        depth, tree, largest = deepest
        if depth > self.depth:
            yield self.finding(
                step,
                ID,
                f"tree {tree} at step {step.train_step} is {depth} deep (> {number(self.depth)})",
                value=float(depth),
                threshold=self.depth,
                condition="depth",
                remedy="lower max_depth, or raise gamma or min_child_weight",
                evidence={"tree": tree, "largest_id": largest, "by_id": depth_by_id(largest)},
            )

    def unevaluated(self) -> str | None:
        return None if self._evaluated else f"no trees were saved in full, as {ID}, {YES} and {NO}"


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


# There is one for every column of the data, whether the model uses it or not.
_COLUMNS = r"^(average|full)_shap/(?!bias$)"
# What a hook records of the training.
_ROUND, _NUM_COLUMNS = "boosting/round", "boosting/columns"


class FeatureImportanceOverweight(Rule):
    """A few features that hold nearly all importance of a boosted model.

    Where the data have no more columns than ``nfeatures`` these hold everything, and nothing is
    judged. How many there are is recorded by the hook, or follows from SHAP values that were saved.
    """

    name = "feature_importance_overweight"
    compat: ClassVar[Mapping[str, object]] = {"min_rounds": 1}

    threshold: float = parameter(
        0.8, "The share of all importance that they may hold.", above=0, at_most=1
    )
    nfeatures: int = parameter(3, "So many features together.", at_least=1)
    tensor_regex: Sequence[str] = parameter(
        (".*feature_importance/weight",),
        "One scalar a feature: `weight`, `gain`, `cover`, `total_gain` …",
    )
    columns: int | None = parameter(
        None, "How many columns the data have, where the run does not tell.", at_least=1
    )
    min_rounds: int = parameter(
        10, "A model is judged once it has so many rounds, if that is known.", at_least=1
    )

    def begin(self) -> None:
        self._importances = Selection((), self.tensor_regex, keep=is_scalar)
        self._shap = Selection((), (_COLUMNS,))
        self._is_young = False

    def check(self, step: StepView) -> Findings:
        importances = losses_of(step, self._importances)
        known = {name: value for name, value in importances.items() if value > 0}
        total = sum(known.values())
        if not (0 < total < np.inf) or self._num_columns(step) <= self.nfeatures:
            return
        self._is_young = _scalar_or(step, _ROUND, np.inf) + 1 < self.min_rounds
        if self._is_young:
            return
        self._evaluated = True
        top = sorted(known, key=lambda name: -known[name])[: self.nfeatures]
        share = sum(known[name] for name in top) / total
        if share > self.threshold:
            yield self._finding(step, top, share, len(known))

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        few = f"the data have no more than {self.nfeatures} columns, which hold all importance"
        if self._is_young:
            few = f"importances were saved of models with fewer than {self.min_rounds} rounds only"
        return self._importances.missing() or few

    def _num_columns(self, step: StepView) -> float:
        """Return how many columns the data have; infinity where it is not known."""
        if self.columns is not None:
            return self.columns
        for _, names in self._shap.groups(step):
            return len({re.sub(_COLUMNS, "", name) for name in names})
        return _scalar_or(step, _NUM_COLUMNS, np.inf)

    def _finding(self, step: StepView, top: list[str], share: float, features: int) -> Finding:
        kind = top[0].rpartition("/")[0].rpartition("/")[2] or "importance"
        named = ", ".join(name.rpartition("/")[2] for name in top)
        return self.finding(
            step,
            top[0],
            f"the top {len(top)} of {features} features hold {number(100 * share)}% of {kind}"
            f" (> {number(100 * self.threshold)}%) at step {step.train_step}: {named}",
            value=share,
            threshold=self.threshold,
            condition="overweight",
            remedy="see whether one of them tells the label; drop it, or regularize",
            evidence={"features": features, "top": top},
        )


def _scalar_or(step: StepView, name: str, otherwise: float) -> float:
    """Return a number that the hook recorded of the training at this step."""
    found = (one.scalar for one in step.tensors("boosting") if one.name == name)
    return next(found, otherwise)
