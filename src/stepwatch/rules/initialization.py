"""Rules on what a training begins with: weights, activations, logits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule, Selection
from ..judge.step_view import StepView, TensorGroup, TensorView
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo
from ..numerics.measures import Floats, listed, non_finite, number
from ..numerics.statistics import COUNT, MAX, MIN, SUM, SUM_SQ
from .shared import is_loss, losses_of, prefixed

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
    """

    name = "poor_weight_initialization"
    training_only = True
    per_model = True
    sign = "initialization"
    view = EvidenceView("weights", "std")
    compat: ClassVar[Mapping[str, object]] = {"combine": "any"}

    activation_inputs_regex: Sequence[str] = parameter(
        (".*relu_input",),
        "Inputs of activations; else outputs of layers with a matrix, but for the last.",
    )
    threshold: float = parameter(
        10.0, "(a) The largest variance over the smallest is too much above this.", above=1
    )
    distribution_range: float = parameter(
        0.001, "(b) The range from the 5% to the 95% quantile is too small below this.", at_least=0
    )
    patience: int = parameter(5, "(c) So many steps without a better loss.", at_least=1)
    steps: int = parameter(10, "How many steps are looked at.", at_least=1)
    combine: Literal["corroborated", "any"] = parameter(
        "corroborated", "`corroborated` for (c) and, seen at least once, (a) or (b); `any` for one."
    )
    relative_range: bool = parameter(
        False, "Divide the range by the largest magnitude of the gradient."
    )

    def begin(self) -> None:
        self.evidence = (f"quantiles:raw:last={self.steps}",)
        self._inputs = Selection((), self.activation_inputs_regex)
        self._outputs = Selection(("outputs",), keep=_is_of_layer)
        self._gradients = Selection(("gradients",))
        self._losses = Selection(("losses",), keep=is_loss)
        self._best: dict[str, tuple[float, int]] = {}
        self._first: dict[str, float] = {}
        self._spread = math.nan
        self._range = math.nan

    def check(self, step: StepView) -> Findings:
        if self._steps >= self.steps:
            return
        losses = losses_of(step, self._losses)
        if not losses:
            return
        self._steps += 1
        self._spread = float(np.fmax(self._spread, self._variance_ratio(step)))
        self._range = float(np.fmin(self._range, self._smallest_range(step)))
        stale = self._stale(losses)
        is_poor = self._spread > self.threshold or self._range < self.distribution_range
        stuck = stale >= self.patience
        if (is_poor and stuck) if self.combine == "corroborated" else (is_poor or stuck):
            yield self._finding(step, losses, stale)

    def unevaluated(self) -> str | None:
        if not self._steps:
            return f"no loss was seen at a TRAIN step; {self._losses.missing() or 'too few steps'}"
        if math.isnan(self._spread) and math.isnan(self._range):
            return "neither inputs of activations nor gradients were seen at the first TRAIN steps"
        return None

    def _stale(self, losses: Mapping[str, float]) -> int:
        """Return for how many steps none of the losses got better; nan is no better."""
        for name, loss in losses.items():
            best, _ = self._best.setdefault(name, (math.inf, self._steps))
            self._first.setdefault(name, loss)
            margin = MARGIN * abs(best) if math.isfinite(best) else 0.0
            if math.isfinite(loss) and loss < best - margin:
                self._best[name] = loss, self._steps
        return self._steps - max(at for _, at in self._best.values())

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

    def _finding(self, step: StepView, losses: Mapping[str, float], stale: int) -> Finding:
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
        return self.finding(
            step,
            name,
            f"after {self._steps} steps: {'; '.join(parts)}",
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


#: Fewer elements may lie at the ends by chance.
LEAST = 64


def slopes(rows: Floats) -> Floats:
    """Return the mean slope of what may be a tanh or a sigmoid, as a share of the largest slope.

    The slope of tanh is 1 - y**2, and that of a sigmoid y - y**2, which is 1/4 at most; so the
    means of y and of y**2 give it. A sigmoid whose outputs are nearly all at one end cannot be told
    from other small numbers.

    Args:
        rows: Statistics of outputs, shape ``[tensors, NUM_FIELDS]``.

    Returns:
        From 0 to 1, shape ``[tensors]``; nan for what leaves -1 to 1, does not come near an end of
        both signs or of 0 and 1, or holds nothing but the ends themselves, as masks do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = rows[:, COUNT] - non_finite(rows)
        mean, square = rows[:, SUM] / finite, rows[:, SUM_SQ] / finite
    low, high = rows[:, MIN], rows[:, MAX]
    tanh = (low >= -1) & (low < -0.9) & (high <= 1) & (high > 0.9) & (square < 1)
    sigmoid = (low >= 0) & (low < 0.1) & (high <= 1) & (high > 0.9) & (square < mean)
    sigmoid &= (mean > 0.05) & (mean < 0.95)
    found = np.where(tanh, 1 - square, np.where(sigmoid, 4 * (mean - square), np.nan))
    result: Floats = np.where(finite >= LEAST, found, np.nan)
    return result


#: How far what sines are given spreads, by layer.
SINES = "setup/sine_spread/"
#: Logits below this are there to be left out by the softmax.
MASK = -1e4


class InitialState(Rule):
    """A model that begins in a state in which it cannot learn, or not all of it.

    ``alike``: matrices of weights that begin with all elements the same, so that all units of a
    layer compute the same and get the same gradient, for good. ``saturated``: outputs of a tanh
    or a sigmoid that lie at its ends from the first step on, where its slope, which each gradient
    is multiplied by, is next to nothing (Glorot and Bengio: Understanding the difficulty of
    training deep feedforward neural networks, 2010). ``noisy``: what a sine is given by a layer of
    other sines spreads by more than a period, so that the function is noise between samples
    (Sitzmann et al.: Implicit neural representations with periodic activation functions, 2020).

    ``loud``: logits of classes with a root mean square above ``loud``, so that the loss is about as
    many nats. ``copied``, of severity info: an embedding's table of which another
    parameter begins as a copy, where sharing it may have been meant.
    """

    name = "initial_state"
    needs = ("weights", "outputs", "predictions")
    training_only = True
    per_model = True
    sign = "initialization"
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "saturated*": EvidenceView("outputs", "abs_mean", "linear"),
        "loud*": EvidenceView("outputs", "abs_max"),
        "*": EvidenceView("weights", "std"),
    }

    min_slope: float = parameter(
        0.05, "Mean slope of an activation, as a share of the largest.", above=0, at_most=0.5
    )
    consecutive: int = parameter(5, "TRAIN steps in a row, from the first.", at_least=1)
    loud: float = parameter(100.0, "A root mean square of logits, in nats.", above=1)

    def check(self, step: StepView) -> Findings:
        if self._steps >= self.consecutive:
            return
        self._steps += 1
        if self._steps == 1:
            yield from self._evaluate_weights(step)
            yield from self._evaluate_copies(step)
            yield from self._evaluate_logits(step)
        for group in prefixed(step, "setup", SINES):
            yield from self._evaluate_sines(step, group)
        for group in step.groups("outputs"):
            yield from self._evaluate_outputs(step, group)

    def unevaluated(self) -> str | None:
        return None if self._steps else NotApplicable("no TRAIN step was seen")

    def _evaluate_weights(self, step: StepView) -> Findings:
        for group in step.groups("weights"):
            alike = _alike(group)
            # One may be meant, as a table of gates is that begins open.
            if len(alike) < 2:
                continue
            yield self.finding(
                step,
                alike[0],
                f"{alike[0]} and {len(alike) - 1} more begin with all elements the same: all units"
                " of a layer compute the same, and get the same gradient",
                worker=group.record.worker,
                condition="alike",
                remedy="draw weights at random, as layers do by themselves",
                evidence={"tensors": alike},
            )

    def _evaluate_copies(self, step: StepView) -> Findings:
        """Judge whether the table of an embedding was copied instead of being shared."""
        for table in step.tensors("embeddings"):
            name = table.name.removeprefix("row_norms/")
            weight = step.tensor(name, table.worker)
            for other in step.tensors("weights") if weight is not None else ():
                if weight is None or other.name == name or not _is_copy(weight, other):
                    continue
                yield self.finding(
                    step,
                    other.name,
                    f"{other.name} begins as a copy of {name}, and is a parameter of its own: if"
                    " the two are meant to be tied, they are not",
                    severity="info",
                    worker=table.worker,
                    condition=f"copied {other.name}",
                    remedy="assign the parameter itself: head.weight = embedding.weight",
                )

    def _evaluate_logits(self, step: StepView) -> Findings:
        """Judge whether the logits of classes begin far from zero."""
        for logits in step.tensors("predictions"):
            size = logits.statistics.rms
            if logits.statistics.min < MASK and abs(logits.statistics.max) <= self.loud:
                continue
            if logits.info.function == "cross_entropy" and size > self.loud:
                yield self.finding(
                    step,
                    logits,
                    f"{logits.name}: the root mean square of the logits is {number(size)} at the"
                    f" first step (> {number(self.loud)}): it is sure of what it does not know",
                    value=size,
                    threshold=self.loud,
                    condition=f"loud {logits.name}",
                    remedy="smaller first weights, above all of the last layer, or a normalization"
                    " before it",
                )

    def _evaluate_sines(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge whether what sines are given by layers of other sines goes through many periods."""
        spreads = group.quantity("mean")
        wide = np.flatnonzero(spreads > 2 * math.pi).tolist()
        if not self.persists(("sines", group.record.worker), bool(wide), 1):
            return
        layers = [group.names[one].removeprefix(SINES) for one in wide]
        spread = float(spreads[wide[0]])
        yield self.finding(
            step,
            group.where(wide)[0],
            f"what {listed(layers)} gives to a sine begins with a standard deviation of"
            f" {number(spread)} (> 2 pi): it goes through many periods, and what is learnt is noise"
            " between the samples",
            worker=group.record.worker,
            value=spread,
            threshold=2 * math.pi,
            condition="noisy",
            remedy="draw the weights of hidden layers from a range that is divided by omega_0,"
            " which their outputs are multiplied by: bound = sqrt(6 / n) / omega_0",
        )

    def _evaluate_outputs(self, step: StepView, group: TensorGroup) -> Findings:
        worker = group.record.worker
        found = slopes(group.record.statistics[group.rows])
        # Data may lie at its ends, and what only passes it on.
        given = _squares(step, worker)
        squares = group.record.statistics[group.rows][:, SUM_SQ]
        # What comes last may be sure of itself; the model itself may return it once more.
        given = {*given, squares[-1]}
        for index, info in enumerate(group.infos[:-1]):
            holds = bool(found[index] < self.min_slope) and squares[index] not in given
            if self.persists((worker, info.name), holds):
                yield self.finding(
                    step,
                    info.name,
                    f"{info.name}: its elements lie at the ends of a tanh or sigmoid from the first"
                    f" step on, where the mean slope is {number(found[index])} of the largest"
                    f" (< {number(self.min_slope)}): next to no gradient passes",
                    worker=worker,
                    value=float(found[index]),
                    threshold=self.min_slope,
                    condition=f"saturated {info.name}",
                    remedy="smaller first weights or inputs, or a normalization before it",
                )


def _is_copy(one: TensorView, other: TensorView) -> bool:
    """Return whether two parameters are the same by all that is known of them, and vary."""
    if one.worker != other.worker or one.info.shape != other.info.shape:
        return False
    ours, theirs = (each.record.statistics[each.row] for each in (one, other))
    return bool((ours == theirs).all() and ours[MIN] < ours[MAX])


def _alike(group: TensorGroup) -> list[str]:
    """Return the matrices that are to be trained and hold one number only.

    Some are zero on purpose, as the last of a residual branch; if all are, nothing is learnt. Ones
    beside zeros of their shape scale and shift the elements of a sample, as of a normalization.
    """
    rows = group.record.statistics[group.rows]
    is_same, is_zero = rows[:, MIN] == rows[:, MAX], rows[:, MAX] == 0
    matrices = [
        index
        for index, info in enumerate(group.infos)
        if info.trainable is not False and sum(size > 1 for size in info.shape) >= 2
    ]
    zeros = {_place(group.infos[index]) for index in matrices if is_same[index] and is_zero[index]}
    matrices = [
        index
        for index in matrices
        if not (is_same[index] and rows[index, MAX] == 1 and _place(group.infos[index]) in zeros)
    ]
    all_zero = bool((is_same & is_zero)[matrices].all())
    return [
        group.infos[index].name
        for index in matrices
        if is_same[index] and (all_zero or not is_zero[index])
    ]


def _place(info: TensorInfo) -> tuple[str, tuple[int, ...]]:
    """Return which layer a parameter is of, by its name, and its shape."""
    return re.split(r"[./][^./]*$", info.name)[0], info.shape


def _squares(step: StepView, worker: str) -> set[float]:
    """Return the sums of squares of what the models of a worker were given."""
    given = step.tensors("batches", worker=worker)
    return {float(tensor.record.statistics[tensor.row, SUM_SQ]) for tensor in given}
