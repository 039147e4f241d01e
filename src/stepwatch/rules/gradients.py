"""Rules on gradients: too small, too large, added up by mistake, clipped too late."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule, Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, StepRecord, TensorInfo
from ..numerics.measures import (
    by_x,
    global_norm,
    magnitude,
    non_finite,
    number,
    top_shares,
    zero_percent,
)
from ..numerics.statistics import COUNT, MAX, MIN, NAN, NEGINF, POSINF, SUM_ABS, SUM_SQ
from .circumstances import PaddedSequences, Reason, WeightHistory, first_step_only
from .history import Norms, OptimizerPace, Series
from .shared import (
    COMPOSED,
    has_sums,
    in_a_row,
    is_of_trainable,
    is_scalar,
    is_trainable,
    losses_of,
)


class StaleGradients(Rule):
    """Gradients that nobody set to zero after the step before, so that each step adds to all.

    Gradients of several backward calls of one step are meant to add up, and are not stale.
    """

    name = "stale_gradients"
    needs = ("optimizer",)
    needed_steps = "consecutive"
    training_only = True
    sign = "stale"
    view = EvidenceView("gradients", "l2")

    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=1)

    def check(self, step: StepView) -> Findings:
        self._steps += 1
        for worker in step.workers:
            stale = step.scalar("optimizer/stale_gradients", worker)
            if np.isnan(stale):
                continue  # what the step before left over was not observed
            if self.persists(worker, stale > 0):
                yield self.finding(
                    step,
                    "optimizer/stale_gradients",
                    f"the gradients of {number(stale)} parameters were not set to zero since the"
                    f" optimizer step before, {in_a_row(self.consecutive, 'step')} up to step"
                    f" {step.train_step}: each step adds to all gradients before it",
                    worker=worker,
                    value=stale,
                    threshold=0.0,
                    condition="stale_gradients",
                    remedy="call zero_grad() once for each optimizer step",
                )


#: Of the micro-batches that were asked for a step has fewer if it has this share of them.
FEWER = 0.75
#: So many TRAIN steps are counted before that is said.
ASKED_STEPS = 20
#: Shares of the weight of a step that lie where one loss over all its targets would not put them.
MISWEIGHTED, MUCH_MISWEIGHTED = 0.1, 0.2
#: The micro-batch with most targets has so many times those of the one with fewest.
UNEVEN = 2.0
#: Weights that are the same but for rounding.
_ALIKE = 1e-3


class GradAccumulationScale(Rule):
    """Micro-batches that are put together to one step in another way than was meant.

    The derivatives of what ``backward()`` is called on, by the losses of a step, add up to 1
    where each of n micro-batches is divided by n. Where nothing is divided they add up to n, and
    so the gradient is n times that of the whole batch (``sum``); unless losses are sums over the
    samples, for these add up to that of the whole batch. Where gradients are set to zero between
    micro-batches only the last of them counts (``lost``).

    Trainers, and accelerate, are asked for a number of micro-batches. ``fewer``: steps have fewer
    of them on average, below ``FEWER`` times the number, as where ``accumulate()`` is not entered,
    or an epoch is shorter. ``divided_twice``: they have as many, and the weights add up to 1/n.

    ``token_weight``: each loss is the mean over the targets of its micro-batch, and these means
    count alike though the numbers of targets differ ``UNEVEN`` times and more, so that a target
    counts for more the fewer there are beside it. A step over all targets at once would put
    ``MISWEIGHTED`` of the weight, or more, elsewhere; the median over looks counts.
    """

    name = "grad_accumulation_scale"
    needs = ("loop", "supervision")
    needed_steps = "consecutive"
    training_only = True
    sign = "scale"
    view = EvidenceView("gradients", "l2")

    tolerance: float = parameter(
        1e-3, "How near the sum is to the number of micro-batches.", above=0, at_most=0.5
    )
    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=1)
    looks: int = parameter(5, "Looks at the targets of micro-batches.", at_least=1)

    def begin(self) -> None:
        self._paces: dict[str, _Pace] = {}
        self._optimizers: defaultdict[str, OptimizerPace] = defaultdict(OptimizerPace)
        self._misweighted: Series[str, tuple[float, float]] = Series(self.looks)

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            yield from self._evaluate_asked(step, worker)
            yield from self._evaluate_targets(step, worker)
            parts = step.scalar("loop/backwards", worker)
            optimizers = self._optimizers[worker]
            optimizers.add(step, worker)
            if optimizers.updates >= parts > 1:
                parts = math.nan  # as of an actor and a critic: each is for one of its own
            lost = step.scalar("loop/backwards_lost", worker)
            holds = lost >= 1 and parts == lost + 1 and _are_micro_batches(step, worker, parts)
            if self.persists((worker, "lost"), holds):
                yield self.finding(
                    step,
                    "loop/backwards_lost",
                    f"gradients of {number(lost)} of {number(parts)} micro-batches were set to zero"
                    f" before the optimizer used them, "
                    f"{in_a_row(self.consecutive, 'step')} up to step"
                    f" {step.train_step}: only the last of each step is learnt from",
                    worker=worker,
                    value=lost,
                    threshold=0.0,
                    condition="lost",
                    remedy="call zero_grad() once for each optimizer step, before its first"
                    " micro-batch",
                )
            weight = step.scalar("loop/loss_weight", worker)
            if weight != weight:
                continue
            self._steps += 1
            holds = (
                not has_sums(step, worker)
                and parts > 1
                and abs(weight - parts) <= self.tolerance * parts
            )
            holds = holds and _are_micro_batches(step, worker, parts)
            if self.persists(worker, holds):
                yield self.finding(
                    step,
                    "loop/loss_weight",
                    f"the losses of {number(parts)} micro-batches enter each step with a weight of"
                    f" {number(weight)} together instead of 1, "
                    f"{in_a_row(self.consecutive, 'step')} up"
                    f" to step {step.train_step}: gradients are {number(weight)} times those of the"
                    " whole batch",
                    worker=worker,
                    # A trainer divides by itself, but not the losses of all models.
                    severity="info" if step.scalar(_ASKED[0], worker) > 1 else "warning",
                    value=weight,
                    threshold=1.0,
                    condition="sum",
                    remedy=f"divide the loss of each micro-batch by {number(parts)}, or lower the"
                    " learning rate and clip accordingly if the sum is meant",
                )

    def _evaluate_asked(self, step: StepView, worker: str) -> Findings:
        """Judge whether steps have as many micro-batches as were asked for."""
        asked, calls, parts, weight = step.scalars(_ASKED, worker)
        if not asked > 1 or math.isnan(calls):
            return
        twice = parts == asked and abs(weight * parts - 1) <= self.tolerance
        if self.persists((worker, "twice"), twice and _are_micro_batches(step, worker, parts)):
            yield self.finding(
                step,
                "loop/loss_weight",
                f"the losses of {number(parts)} micro-batches enter each step with a weight of"
                f" {number(weight)} together instead of 1, "
                f"{in_a_row(self.consecutive, 'step')} up to"
                f" step {step.train_step}: they are divided by {number(parts)} twice",
                worker=worker,
                value=weight,
                threshold=1.0,
                condition="divided_twice",
                remedy="do not divide the loss: accelerator.backward(), or the trainer, does",
            )
        pace = self._paces.get(worker)
        if pace is None or pace.asked != asked or step.mode_step <= pace.first_step:
            self._paces[worker] = _Pace(asked, calls, step.mode_step)
            return
        steps = step.mode_step - pace.first_step
        mean = (calls - pace.first_calls) / steps
        if steps < ASKED_STEPS or mean >= FEWER * asked:
            return
        divided = weight < 1 and abs(weight * asked - parts) <= self.tolerance * parts
        yield self.finding(
            step,
            "loop/accumulation_steps",
            f"{number(asked)} micro-batches were asked for each step of the optimizer, and it had"
            f" {number(mean)} on average in {steps} steps up to step {step.train_step}"
            + (f"; each loss is divided by {number(asked)} all the same" if divided else ""),
            worker=worker,
            value=mean,
            threshold=FEWER * asked,
            condition="fewer",
            remedy="enter accelerator.accumulate(model) for each micro-batch, and step the"
            " optimizer that it prepared; where the end of each epoch makes a step, ask for no more"
            " micro-batches than an epoch has",
            evidence={"asked": asked, "micro_batches": mean, "loss_weight": weight},
        )

    def _evaluate_targets(self, step: StepView, worker: str) -> Findings:
        """Judge how much more a target counts in one micro-batch than in another."""
        tensor = step.tensor("micro_batches/targets", worker)
        if tensor is None or tensor.name not in tensor.record.raw:
            return
        weights, counts = np.asarray(tensor.value(), np.float64).T
        is_known = len(counts) == step.scalar("loop/backwards", worker)
        if not (is_known and (counts > 0).all() and (weights > 0).all()):
            self._misweighted.pop(worker, None)
            return
        shares = weights * counts / (weights * counts).sum()
        if not shares.max() <= (1 + _ALIKE) * shares.min():
            self._misweighted.pop(worker, None)
            return
        off = float(np.abs(shares - counts / counts.sum()).sum()) / 2
        recent = self._misweighted.add(worker, (off, float(counts.max() / counts.min())))
        middle, ratio = np.median(recent, axis=0).tolist()
        if len(recent) < self.looks or middle < MISWEIGHTED or ratio < UNEVEN:
            return
        yield self.finding(
            step,
            tensor,
            f"the losses of {len(counts)} micro-batches count alike, and are means over"
            f" {number(counts.min())} to {number(counts.max())} targets at step"
            f" {step.train_step}: up"
            f" to {number(ratio)} times the weight for a target with few beside it, and"
            f" {middle:.0%} of the weight of a step elsewhere than in one batch of them all (in the"
            f" median of {self.looks} looks)",
            value=middle,
            threshold=MISWEIGHTED,
            severity="warning" if middle >= MUCH_MISWEIGHTED else "info",
            condition="token_weight",
            remedy='sum each loss over its targets (reduction="sum"), and divide it by how many'
            " targets all micro-batches of the step have together",
            evidence={"targets": counts.tolist(), "ratio": ratio},
        )


#: What is known of the micro-batches that were asked for, and of those that there are.
_ASKED = tuple(
    f"loop/{what}" for what in ("accumulation_steps", "backward_calls", "backwards", "loss_weight")
)


@dataclass(frozen=True, slots=True)
class _Pace:
    """Where micro-batches are counted from.

    Args:
        asked: How many were asked for each step.
        first_calls: Calls of ``backward()`` until then.
        first_step: The TRAIN step.
    """

    asked: float
    first_calls: float
    first_step: int


def _are_micro_batches(step: StepView, worker: str, parts: float) -> bool:
    """Return whether one loss was computed of each of so many different batches.

    Two losses of one batch, and one batch that is used twice as by LBFGS and sharpness-aware
    minimization, are no micro-batches.
    """
    counts = {
        int(loss.record.statistics[loss.row, COUNT])
        for loss in step.tensors("losses", worker=worker)
        if loss.name not in COMPOSED
    }
    digests = [tensor.digest for tensor in step.tensors("batches", worker=worker)]
    is_known = bool(digests) and None not in digests
    return counts == {int(parts)} and is_known and len(set(digests)) >= parts


#: Norms of the same gradients are the same but for rounding.
_SAME = 1e-3


class GradientClipping(Rule):
    """Gradients that are clipped once they were used, or before they were unscaled.

    What clipping leaves is what the optimizer must get. ``late``: it had what clipping finds
    only then. ``scaled``: it got what clipping left divided by the loss
    scale, so that the limit was held against gradients that many times as large as they are.
    Where a script updates the parameters itself, gradients are those that ``backward()`` left, and
    which it uses is not known.
    """

    name = "gradient_clipping"
    needs = ("optimizer",)
    training_only = True
    per_model = True
    sign = "scale"
    view = EvidenceView("gradients", "l2")
    lacks = NotApplicable("no gradients were clipped that an optimizer uses")

    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=1)

    def begin(self) -> None:
        self._used: dict[str, float] = {}

    def check(self, step: StepView) -> Findings:
        for group in step.groups("gradients"):
            worker = group.record.worker
            if _is_updated_by_hand(group.record.layout):
                continue
            used = global_norm(group.record.statistics[group.rows])
            last, self._used[worker] = self._used.get(worker, math.nan), used
            before, after = (
                step.scalar(f"optimizer/gradient_norm_{when}_clipping", worker)
                for when in ("before", "after")
            )
            scale = step.scalar("optimizer/loss_scale", worker)
            self._evaluated |= before == before
            # what is clipped after the step may be counted to it, or to the next
            cut = after < (1 - _SAME) * before
            late = cut and (_is(before, last) or _is(before, used))
            scaled = scale > 1 and _is(after, used * scale)
            for condition, holds in (("late", late), ("scaled", scaled)):
                if self.persists((worker, condition), holds):
                    what, remedy = _MESSAGES[condition]
                    yield self.finding(
                        step,
                        "optimizer/gradient_norm_after_clipping",
                        f"gradients are clipped {what}: clipping leaves a norm of {number(after)}"
                        f" and the optimizer uses one of {number(used)},"
                        f" {in_a_row(self.consecutive, 'step')} up to step {step.train_step}",
                        worker=worker,
                        value=used,
                        threshold=after,
                        condition=condition,
                        remedy=remedy,
                    )


_MESSAGES = {
    "late": (
        "once the optimizer has used them",
        "clip between backward() and the optimizer's step()",
    ),
    "scaled": (
        "before they are unscaled",
        "call scaler.unscale_(optimizer) before clipping",
    ),
}


def _is_updated_by_hand(layout: Layout) -> bool:
    """Return whether weights were seen, and no optimizer holds any of them."""
    weights = [layout.tensors[row] for row in layout.rows_of.get("weights", ())]
    return bool(weights) and all(one.optimizer_groups == 0 for one in weights)


def _is(norm: float, other: float) -> bool:
    return abs(norm - other) <= _SAME * other


def is_of_trained(layout: Layout, gradient: TensorInfo) -> bool:
    """Return whether a gradient belongs to a parameter that is not frozen."""
    return is_of_trainable(layout, gradient) and is_trainable(layout, gradient)


def _is_of_trained_matrix(layout: Layout, gradient: TensorInfo) -> bool:
    """Return the same, for a vector only where there is nothing else."""
    return is_of_trained(layout, gradient) and (
        len(gradient.shape) > 1
        or not any(
            len(layout.tensors[row].shape) > 1 for row in layout.rows_of.get("gradients", ())
        )
    )


class VanishingGradient(Rule):
    """Gradients too small to train with.

    Frozen parameters are left out. A gradient of which most is zero, such as an embedding's, is
    judged by the mean over its non-zero elements.
    """

    name = "vanishing_gradient"
    needs = ("gradients",)
    sign = "vanishing"
    view = EvidenceView("gradients", "abs_mean")
    compat: ClassVar[Mapping[str, object]] = {"ignore_zero_init": False}

    threshold: float = parameter(1e-7, "The limit, where `relative_to` is `none`.", above=0)
    min_tensors: int = parameter(1, "So many gradients must be below at one step.", at_least=1)
    consecutive: int = parameter(1, "Each of them at so many steps in a row.", at_least=1)
    relative_to: Literal["median", "largest"] | None = parameter(
        None, "`median` or `largest`: compare within the step, whatever the scale."
    )
    relative_threshold: float = parameter(1e-4, "The fraction for `relative_to`.", above=0)
    ignore_zero_init: bool = parameter(
        True, "Let a gradient be zero at the first step; `false` in compat."
    )
    vectors: bool = parameter(
        True, "Judge gradients of one dimension, too, where others have more."
    )

    def begin(self) -> None:
        keep = is_of_trained if self.vectors else _is_of_trained_matrix
        self._tensors = Selection(("gradients",), keep=keep)
        self._padded, self._weights = PaddedSequences(), WeightHistory()

    def check(self, step: StepView) -> Findings:
        self._padded.add(step)
        self._weights.add(step)
        for group, names in self._tensors.groups(step):
            rows = group.record.statistics[group.rows]
            sizes = magnitude(rows)
            limit = self._limit(sizes)
            below = sizes < limit  # false for nan: nothing of it is finite, or it is empty
            if self.ignore_zero_init and step.mode_step == 0:
                below &= sizes > 0
            below = self.persist_each(group.record.worker, names, below)
            if below.any() and np.count_nonzero(below) >= self.min_tensors:
                yield self._finding(step, group, sizes, below, limit)

    def _limit(self, sizes: npt.NDArray[np.float64]) -> float:
        if self.relative_to is None:
            return self.threshold
        finite = sizes[~np.isnan(sizes)]
        if not len(finite):
            return math.nan
        reference = np.median(finite) if self.relative_to == "median" else finite.max()
        return self.relative_threshold * float(reference)

    def _finding(
        self,
        step: StepView,
        group: TensorGroup,
        sizes: npt.NDArray[np.float64],
        below: npt.NDArray[np.bool_],
        limit: float,
    ) -> Finding:
        worst = int(np.argmin(np.where(below, sizes, np.inf)))
        names = group.where(below).names
        tensor, row = group[worst], group.record.statistics[group.rows[worst]]
        zeros, bad = float(zero_percent(row[None])[0]), int(non_finite(row))
        since = f", {in_a_row(self.consecutive, 'step')}" if self.consecutive > 1 else ""
        message = (
            f"{len(names)} of {len(group)} gradients vanish: their mean magnitude is below"
            f" {number(limit)} at step {step.train_step}{since}; it is {number(sizes[worst])} in"
            f" {tensor.name}"
            + (f", of which {number(zeros)}% is zero" if zeros else "")
            + (f", of which {bad} elements are not finite" if bad else "")
            + (
                f"; the first layer with one is that of {names[0]}"
                if names[0] != tensor.name
                else ""
            )
        )
        reason = (
            self._padded.reason()
            or self._weights.reason(group.record.worker)
            or _softmax_of_scores(step, group.where(below))
            or first_step_only(group.where(below))
        )
        return self.finding(
            step,
            tensor,
            f"{message}; {reason.sentence}" if reason else message,
            severity="info" if reason and reason.cause == "last_step" else "warning",
            value=float(sizes[worst]),
            threshold=limit,
            condition="below",
            remedy=reason.remedy
            if reason
            else "use activations that do not saturate, residual connections or normalization,"
            " or another initialization; with mixed precision, check the loss scale",
            evidence={
                "below": len(names),
                "first_in_depth": names[0],
                "tensors": names[:20],
                **({"why": reason.cause} if reason else {}),
            },
        )


class ZeroGradients(Rule):
    """Gradients of all weights that are exactly zero: the loss does not depend on the weights.

    Softmax over one unit, a loss that is clamped, rounded or of one class, a dead or saturated
    last layer. What is reported says which output is the first that has one value whatever the
    input is. Where the loss is exactly zero, as a hinge loss is once all margins are kept, it is
    reported only if it has been zero from the first step on.
    """

    name = "zero_gradients"
    needs = ("gradients", "losses")
    needed_steps = "consecutive"
    training_only = True
    per_model = True
    sign = "no_gradient"
    view = EvidenceView("gradients", "l2")

    consecutive: int = parameter(10, "TRAIN steps in a row.", at_least=1)

    def begin(self) -> None:
        self._gradients = Selection(("gradients",), keep=is_of_trained)
        self._losses = Selection(("losses",), keep=is_scalar)
        self._was_learning: set[str] = set()
        self._weights = WeightHistory()

    def concerns(self, step: StepView) -> bool:
        return any(True for _ in self._gradients.groups(step))

    def check(self, step: StepView) -> Findings:
        self._steps += 1
        losses = losses_of(step, self._losses)
        self._weights.add(step)
        for group, _ in self._gradients.groups(step):
            worker, rows = group.record.worker, group.record.statistics[group.rows]
            is_zero = bool((rows[:, COUNT] > 0).any() and not rows[:, NOT_ZERO].any())
            values = losses.values()
            if any(values):
                self._was_learning.add(worker)
            is_met = worker in self._was_learning and not any(values)
            judged = bool(values) and all(map(math.isfinite, values)) and not is_met
            if self.persists(worker, is_zero and judged):
                yield self._finding(step, group, losses)

    def _finding(self, step: StepView, group: TensorGroup, losses: Mapping[str, float]) -> Finding:
        constant = _first_constant(step, group.record)
        too_large = self._weights.reason(group.record.worker)
        cause = _why_constant(step, group.record, losses, constant, too_large)
        return self.finding(
            step,
            constant[1] if constant else "",
            f"the gradients of all {len(group)} weights are exactly 0, {self.consecutive} TRAIN"
            f" steps in a row up to step {step.train_step}: the loss does not depend on the"
            " weights;"
            f" {cause.sentence}",
            worker=group.record.worker,
            value=0.0,
            remedy=cause.remedy,
            evidence={
                "cause": cause.cause,
                "why": cause.cause,
                "last_that_varies": constant[0] if constant else "",
            },
        )


#: Scores within this of 0 are in no activation's flat part.
_MODERATE = 10.0


def _softmax_of_scores(step: StepView, gradients: TensorGroup) -> Reason | None:
    """Return that a layer of one unit has no gradient, though its output varies, if one is so.

    As where the softmax of scores is taken over that unit, whichever way it is written: it is 1
    whatever the score is, and its derivative exactly 0. Neither a ReLU nor a sigmoid after such
    scores is flat.
    """
    for gradient in gradients:
        path = gradient.name.removeprefix("gradient/").replace("/", ".").split(".")
        if len(path) < 2 or gradient.statistics.sum_abs or gradient.info.shape[-1:] == ():
            continue
        name = gradient.name.removeprefix("gradient/")[: -len(path[-1]) - 1]
        output = step.tensor(f"output/{name}", gradient.worker)
        if output is None or len(output.info.shape) < 2 or output.info.shape[-1] != 1:
            continue
        scores = output.statistics
        if -_MODERATE < scores.min < scores.max < _MODERATE and scores.max > 0:
            return Reason(
                "softmax_of_one",
                f"{output.name} (shape {by_x(output.info.shape)}) varies, and exactly no gradient"
                " comes back to it, as to scores whose softmax is taken over their one unit: each"
                " weight is then 1",
                "take the softmax of scores of one unit over the axis of the positions, as dim=1 or"
                " axis=1, not over the last; so also where it is written out, exp(x) / sum(exp(x))",
            )
    return None


#: The fields of which one is above 0 where any element is neither 0 nor missing.
NOT_ZERO = [NAN, POSINF, NEGINF, SUM_ABS]


def _first_constant(step: StepView, record: StepRecord) -> tuple[str, str] | None:
    """Return the last output that varies, and the first after it from which on none does."""
    group = next(step.groups("outputs", worker=record.worker), None)
    if group is None:
        return None
    rows = record.statistics[group.rows]
    is_constant = (rows[:, MIN] == rows[:, MAX]) & (rows[:, COUNT] > 1)
    if not len(rows) or not is_constant[-1]:
        return None
    varying = np.flatnonzero(~is_constant)
    if not len(varying):
        return "", group.names[0]
    last = int(varying[-1])
    return group.names[last], group.names[last + 1]


def _why_constant(
    step: StepView,
    record: StepRecord,
    losses: Mapping[str, float],
    constant: tuple[str, str] | None,
    too_large: Reason | None,
) -> Reason:
    """Return what makes the loss independent of the weights, as far as the step shows it."""
    for tensor in step.tensors("predictions", worker=record.worker):
        shape = tensor.info.shape
        if tensor.info.function == "cross_entropy" and len(shape) > 1 and shape[1] == 1:
            return Reason(
                "one_class",
                f"{tensor.name} has one class (shape {by_x(shape)}), of which the probability is"
                " always 1",
                "give the last layer one output for each class, or compute a binary cross entropy",
            )
    if too_large is not None:
        return too_large
    if constant is not None:
        before, name = constant
        view = step.tensor(name, record.worker)
        value = number(view.statistics.max) if view is not None else "the same"
        after = f", though {before} before it varies" if before else ""
        shape = view.info.shape if view is not None else ()
        if view is not None and view.statistics.max == 1 and shape and shape[-1] == 1:
            return Reason(
                "softmax_of_one",
                f"{name} (shape {by_x(shape)}) is 1 whatever the input is{after}, as a softmax"
                " over one unit",
                "take a sigmoid for one unit, or one unit for each class",
            )
        return Reason(
            "constant_output",
            f"{name} is {value} whatever the input is{after}",
            "see what its activation does with the values before it: one that ends at 0 or 1 gives"
            " no gradient there; begin with smaller weights, biases of 0 and a lower learning rate,"
            " or take it away from the last layer",
        )
    named = ", ".join(f"{name} is {number(value)}" for name, value in losses.items())
    return Reason(
        "cut_off",
        f"the outputs vary, and {named}",
        "look between the model and backward() for what has no slope: a clamp that the loss is"
        " beyond, rounding, argmax, a comparison, or a loss of something else",
    )


class GradNormSpike(Rule):
    """The norm of all gradients together jumps, is always clipped, or grows towards the end.

    The norm before clipping is used where the script clips by norm.
    """

    name = "grad_norm_spike"
    needs = ("gradients", "optimizer")
    view = EvidenceView("gradients", "l2")
    per_model = True
    sign: ClassVar[Mapping[str, str]] = {"spike": "spike", "*": "growth"}

    alpha: float = parameter(
        0.97, "How much of running mean and variance each step keeps.", above=0, at_most=0.9999999
    )
    z: float = parameter(6.0, "Running standard deviations above the running mean.", above=0)
    min_ratio: float = parameter(2.0, "And so many times the mean.", at_least=1)
    warmup_steps: int = parameter(
        25, "Norms that only give the first mean and variance.", at_least=2
    )
    clip_share: float | None = parameter(
        0.9, "The share of clipped steps that is tolerated; `none` for any.", above=0, at_most=1
    )
    clip_window: int = parameter(
        500, "Length of that window in steps, and the least to judge.", at_least=1
    )
    clip_ratio: float = parameter(
        1.0, "Count only norms above so many times the clipping norm.", at_least=1
    )
    growth: float | None = parameter(10.0, "The growth that is too much; `none` for any.", above=1)
    growth_share: float = parameter(
        0.1, "The last part of training that is looked at.", above=0, at_most=1
    )

    def begin(self) -> None:
        self._start = self.alpha, self.z, self.warmup_steps
        self._norms: dict[str, Norms] = {}

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            norm, max_norm = _norm(step, worker)
            if not math.isfinite(norm):
                continue  # skipped by a gradient scaler, or the business of other rules
            norms = self._norms.get(worker)
            if norms is None:
                norms = self._norms[worker] = Norms(*self._start, clip_window=self.clip_window)
            mean, score = norms.add(step.at, norm)
            if score > self.z and norm > self.min_ratio * mean:
                yield self._spike(step, worker, norm, mean, score)
            if max_norm is not None and self.clip_share is not None:
                share = norms.clipped_share(norm > self.clip_ratio * max_norm)
                if share > self.clip_share:
                    yield self._clipping(step, worker, share, max_norm)

    def finish(self) -> Findings:
        for worker, norms in self._norms.items():
            factor = norms.growth(self.growth_share)
            if self.growth is not None and factor >= self.growth:
                yield self.finding(
                    norms.last_step,
                    "gradient_norm",
                    f"the gradient norm grew x{number(factor)} (>= x{number(self.growth)}) over"
                    f" the last {self.growth_share:.0%} of training, up to step"
                    f" {norms.last_step.train_step}",
                    mode="TRAIN",
                    worker=worker,
                    value=factor,
                    threshold=self.growth,
                    condition="growth",
                    remedy="lower the learning rate or clip; training is about to diverge",
                )

    def unevaluated(self) -> str | None:
        most = max((norms.count for norms in self._norms.values()), default=0)
        if most > self._start[2]:
            return None
        return f"{most} steps had a finite gradient norm; the first {self._start[2]} are warm-up"

    def _spike(
        self, step: StepView, worker: str, norm: float, mean: float, score: float
    ) -> Finding:
        top = _top(_gradients(step, worker))
        shares = ", ".join(f"{name} {share:.0%}" for name, share in top[:3])
        message = (
            f"gradient norm {number(norm)} at step {step.train_step} is {number(score)} standard"
            f" deviations above its running mean {number(mean)} (> {number(self.z)})"
        )
        return self.finding(
            step,
            top[0][0] if top else "gradient_norm",
            f"{message}; of its square: {shares}" if shares else message,
            worker=worker,
            value=score,
            threshold=self.z,
            condition="spike",
            remedy="look at the batch of this step; clip the gradient, or lower the learning rate",
            evidence={"norm": norm, "mean": mean, "shares": [list(pair) for pair in top]},
        )

    def _clipping(self, step: StepView, worker: str, share: float, max_norm: float) -> Finding:
        factor = f", to less than 1/{number(self.clip_ratio)}," if self.clip_ratio > 1 else ""
        return self.finding(
            step,
            "gradient_norm",
            f"the gradient was clipped to {number(max_norm)}{factor} at {share:.1%} of the last"
            f" {self.clip_window} steps (> {self.clip_share:.1%}) up to step {step.train_step}:"
            " clipping sets the size of the step, not the learning rate",
            worker=worker,
            value=share,
            threshold=self.clip_share,
            severity="info",
            condition="clipping",
            remedy="raise the clipping norm, or lower the learning rate",
        )


def _norm(step: StepView, worker: str) -> tuple[float, float | None]:
    """Return the global norm before clipping, and the norm that the script clips to."""
    max_norm = _scalar(step, "optimizer/max_norm", worker)
    norm = _scalar(step, "optimizer/gradient_norm_before_clipping", worker)
    if norm is None:
        group = _gradients(step, worker)
        norm = math.nan if group is None else global_norm(group.record.statistics[group.rows])
    return norm, max_norm


def _scalar(step: StepView, name: str, worker: str) -> float | None:
    tensor = step.tensor(name, worker)
    return None if tensor is None else tensor.scalar


def _gradients(step: StepView, worker: str) -> TensorGroup | None:
    return next(step.groups("gradients", worker=worker), None)


def _top(group: TensorGroup | None) -> list[tuple[str, float]]:
    if group is None:
        return []
    return top_shares(group.names, group.record.statistics[group.rows, SUM_SQ])
