"""The rule on weights that start so badly that training does not get going."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import COUNT, MAX, MIN
from .checks import number
from .loss_memory import is_loss, losses_of
from .rule import Findings, Rule
from .scope import Selection, above, at_least, one_of
from .step_view import StepView

SUMMARY = "quantiles/"
# Where a summary holds the quantiles at 5% and 95%.
_LOW, _HIGH = 0, 4
#: A loss has improved if it is lower by this fraction.
MARGIN = 1e-3


class PoorWeightInitialization(Rule):
    """A loss that does not fall from the start, where activations or gradients say why.

    Looked at are the first TRAIN steps. (a) The variances of the inputs of activations differ from
    layer to layer by too large a factor. (b) All elements of a gradient are nearly the same. (c)
    The loss does not improve. Where inputs of activations were not saved under a name that matches,
    the outputs of layers with a weight of two axes or more are taken, but for the last.

    Args:
        activation_inputs_regex: Inputs of activations.
        threshold: (a) The largest variance over the smallest is too much above this.
        distribution_range: (b) The range from the 5% to the 95% quantile is too small below this.
        patience: (c) So many steps without a better loss.
        steps: How many steps are looked at.
        combine: ``corroborated`` for (c) and, seen at least once, (a) or (b); ``any`` for one.
        relative_range: Divide the range of (b) by the largest magnitude of the gradient: it then
            does not matter how the loss is scaled.
    """

    name = "poor_weight_initialization"
    per_model = True
    compat: ClassVar[Mapping[str, object]] = {"combine": "any"}

    def __init__(
        self,
        activation_inputs_regex: Sequence[str] = (".*relu_input",),
        threshold: float = 10.0,
        distribution_range: float = 0.001,
        patience: int = 5,
        steps: int = 10,
        combine: Literal["corroborated", "any"] = "corroborated",
        relative_range: bool = False,
    ) -> None:
        above("threshold", threshold, 1)
        at_least("distribution_range", distribution_range, 0)
        at_least("patience", patience, 1)
        at_least("steps", steps, 1)
        one_of("combine", combine, ("corroborated", "any"))
        self.threshold, self.distribution_range = threshold, distribution_range
        self.patience, self.steps = patience, steps
        self.combine = combine
        self.relative_range = relative_range
        self.evidence = (f"quantiles:raw:last={steps}",)
        self._inputs = Selection((), activation_inputs_regex)
        self._outputs = Selection(("outputs",), keep=_is_of_layer)
        self._gradients = Selection(("gradients",))
        self._losses = Selection(("losses",), keep=is_loss)
        self._best: dict[str, tuple[float, int]] = {}
        self._first: dict[str, float] = {}
        self._looked = 0
        self._spread, self._range = math.nan, math.nan

    def check(self, step: StepView) -> Findings:
        if not step.trains or self._looked >= self.steps:
            return
        losses = losses_of(step, self._losses)
        if not losses:
            return
        self._looked += 1
        self._spread = float(np.fmax(self._spread, self._variance_ratio(step)))
        self._range = float(np.fmin(self._range, self._smallest_range(step)))
        stale = self._stale(losses)
        seen = self._spread > self.threshold or self._range < self.distribution_range
        stuck = stale >= self.patience
        if (seen and stuck) if self.combine == "corroborated" else (seen or stuck):
            yield self._finding(step, losses, stale)

    def unevaluated(self) -> str | None:
        if not self._looked:
            return f"no loss was seen at a TRAIN step; {self._losses.missing() or 'too few steps'}"
        if math.isnan(self._spread) and math.isnan(self._range):
            return "neither inputs of activations nor gradients were seen at the first TRAIN steps"
        return None

    def _stale(self, losses: dict[str, float]) -> int:
        """Return for how many steps none of the losses got better; nan is no better."""
        for name, loss in losses.items():
            best, _ = self._best.setdefault(name, (math.inf, self._looked))
            self._first.setdefault(name, loss)
            margin = MARGIN * abs(best) if math.isfinite(best) else 0.0
            if math.isfinite(loss) and loss < best - margin:
                self._best[name] = loss, self._looked
        return self._looked - max(at for _, at in self._best.values())

    def _variance_ratio(self, step: StepView) -> float:
        """Return the largest over the smallest variance; nan for fewer than two layers."""
        for group, _ in self._inputs.groups(step):
            return _ratio(group.quantity("variance"))
        for group, _ in self._outputs.groups(step):
            return _ratio(group.quantity("variance")[:-1])  # what feeds no activation comes last
        return math.nan

    def _smallest_range(self, step: StepView) -> float:
        """Return the smallest range of a gradient; nan if all have one element, or none is finite.

        Where no quantile is known it is the range from smallest to largest, which is no smaller.
        """
        for group, names in self._gradients.groups(step):
            rows = group.record.statistics[group.rows]
            ranges = rows[:, MAX] - rows[:, MIN]
            raw = group.record.raw
            saved = frozenset(raw) if raw else frozenset()
            for index, name in enumerate(names):
                if SUMMARY + name in saved:
                    quantiles = raw[SUMMARY + name]
                    ranges[index] = float(quantiles[_HIGH]) - float(quantiles[_LOW])
                elif name in saved:
                    ranges[index] = _quantile_range(raw[name])
            if self.relative_range:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ranges /= group.quantity("abs_max")
            ranges[rows[:, COUNT] < 2] = np.nan
            return float(np.fmin.reduce(ranges, initial=np.nan))
        return math.nan

    def _finding(self, step: StepView, losses: dict[str, float], stale: int) -> Finding:
        name = max(self._best, key=lambda one: self._best[one][1])
        parts = []
        if self._spread > self.threshold:
            parts.append(
                f"the variance of what goes into activations spans a factor of"
                f" {number(self._spread)} (> {number(self.threshold)})"
            )
        if self._range < self.distribution_range:
            parts.append(
                f"the elements of a gradient spread by {number(self._range)}"
                f" (< {number(self.distribution_range)})"
            )
        parts.append(
            f"{name} went from {number(self._first[name])} to {number(losses.get(name, math.nan))},"
            f" without improvement for {stale} steps"
        )
        return Finding(
            self.name,
            step.number,
            name,
            f"after {self._looked} steps: {'; '.join(parts)}",
            value=float(stale),
            threshold=float(self.patience),
            condition="initialization",
            remedy="use the initialization of Kaiming or Xavier; look for constant weights",
            evidence={"variance_ratio": self._spread, "range": self._range, "stale": stale},
        )


def _ratio(variances: npt.NDArray[np.float64]) -> float:
    """Return largest over smallest; infinity for a zero, nan for fewer than two finite ones."""
    finite = variances[np.isfinite(variances)]
    if len(finite) < 2:
        return math.nan
    return float(finite.max() / finite.min()) if finite.min() else math.inf


def _quantile_range(value: npt.NDArray[np.generic]) -> float:
    finite = value.astype(np.float64).ravel()
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return math.nan
    low, high = np.quantile(finite, (0.05, 0.95))
    return float(high - low)


def _is_of_layer(layout: Layout, tensor: TensorInfo) -> bool:
    weight = layout.row_of.get(f"{tensor.name.removeprefix('output/')}.weight")
    return weight is not None and len(layout.tensors[weight].shape) > 1
