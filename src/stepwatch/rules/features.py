"""The rule on boosted trees that look at few features only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..finding import Finding
from .checks import number
from .loss_memory import is_scalar, losses_of
from .rule import Findings, Rule
from .scope import Selection, above, at_least
from .step_view import StepView

# There is one for every column of the data, whether the model uses it or not.
_COLUMNS = r"^(average|full)_shap/(?!bias$)"
# What a hook says of the training.
_ROUND, _NUM_COLUMNS = "boosting/round", "boosting/columns"


class FeatureImportanceOverweight(Rule):
    """A few features that hold nearly all importance of a boosted model.

    Where the data have no more columns than ``nfeatures`` these hold everything, and nothing is
    judged. How many there are the hook says, or SHAP values that were saved.

    Args:
        threshold: The most important features hold too much above this fraction of all.
        nfeatures: So many features together.
        tensor_regex: The importances, one scalar for each feature, named after it at the end.
        columns: How many columns the data have, where it is not known.
        min_rounds: Judge when a model has so many rounds, where their number is known: the first
            trees hold few features, whatever the data are.
    """

    name = "feature_importance_overweight"
    compat: ClassVar[Mapping[str, object]] = {"min_rounds": 1}

    def __init__(
        self,
        threshold: float = 0.8,
        nfeatures: int = 3,
        tensor_regex: Sequence[str] = (".*feature_importance/weight",),
        columns: int | None = None,
        min_rounds: int = 10,
    ) -> None:
        above("threshold", threshold, 0, up_to=1)
        at_least("nfeatures", nfeatures, 1)
        at_least("columns", 1 if columns is None else columns, 1)
        at_least("min_rounds", min_rounds, 1)
        self.threshold, self.nfeatures = threshold, nfeatures
        self.tensor_regex = tuple(tensor_regex)
        self.columns = columns
        self.min_rounds = min_rounds
        self._importances = Selection((), tensor_regex, keep=is_scalar)
        self._shap = Selection((), (_COLUMNS,))
        self._judged = self._is_young = False

    def check(self, step: StepView) -> Findings:
        importances = losses_of(step, self._importances)
        known = {name: value for name, value in importances.items() if value > 0}
        total = sum(known.values())
        if not (0 < total < np.inf) or self._num_columns(step) <= self.nfeatures:
            return
        self._is_young = _said(step, _ROUND, np.inf) + 1 < self.min_rounds
        if self._is_young:
            return
        self._judged = True
        top = sorted(known, key=lambda name: -known[name])[: self.nfeatures]
        share = sum(known[name] for name in top) / total
        if share > self.threshold:
            yield self._finding(step, top, share, len(known))

    def unevaluated(self) -> str | None:
        if self._judged:
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
        return _said(step, _NUM_COLUMNS, np.inf)

    def _finding(self, step: StepView, top: list[str], share: float, features: int) -> Finding:
        kind = top[0].rpartition("/")[0].rpartition("/")[2] or "importance"
        named = ", ".join(name.rpartition("/")[2] for name in top)
        return Finding(
            self.name,
            step.number,
            top[0],
            f"the top {len(top)} of {features} features hold {number(100 * share)}% of {kind}"
            f" (> {number(100 * self.threshold)}%) at step {step.number}: {named}",
            value=share,
            threshold=self.threshold,
            condition="overweight",
            remedy="see whether one of them tells the label; drop it, or regularize",
            evidence={"features": features, "top": top},
        )


def _said(step: StepView, name: str, otherwise: float) -> float:
    """Return a number that the hook said of the training at this step."""
    found = (one.scalar for one in step.tensors("boosting") if one.name == name)
    return next(found, otherwise)
