"""The rule on numbers with too few bits: lost updates, underflow, what a format loses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import ml_dtypes
import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, NotApplicable, Rule
from ..judge.step_view import StepNumber, StepView, TensorGroup, TensorView
from ..numerics.exponents import LOWEST, NUM_BINS, Counts, overflow_fraction, underflow_fraction
from ..numerics.measures import Floats, dtype_max, number
from ..numerics.statistics import COUNT, SUM_ABS, ZEROS
from .history import Series
from .shared import in_a_row, largest_of, parameter_of, prefixed, weighted_mean

FORMATS = ("float16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def least_normal(dtype: str) -> float:
    """Return the least number of a format that has all its bits.

    Example:
        >>> least_normal("float8_e4m3fn")
        0.015625
    """
    return float(ml_dtypes.finfo(dtype).smallest_normal)  # type: ignore[no-untyped-call]


def lost(counts: Counts, dtype: str, *, scaled: bool) -> tuple[Floats, Floats]:
    """Return which part of each tensor's elements a format makes zero, and cannot hold.

    Args:
        counts: Histograms of exponents, shape ``[tensors, NUM_BINS]``.
        dtype: The format.
        scaled: Each tensor is first multiplied by the power of two that brings its largest element
            just below the largest of the format.

    Returns:
        Shares of the elements that are not zero, shape ``[tensors]`` each; nan for a tensor that
        is all zero.
    """
    if scaled:
        to = math.frexp(dtype_max(dtype))[1] - 1 - LOWEST
        counts = np.array([_moved(one, to) for one in counts])
    return underflow_fraction(counts, dtype), overflow_fraction(counts, dtype)


def _moved(counts: Counts, to: int) -> Counts:
    """Return a histogram whose last element lies in the bin ``to``."""
    filled = np.flatnonzero(counts)
    by = to - int(filled[-1]) if len(filled) else 0
    moved = np.zeros_like(counts)
    np.add.at(moved, np.clip(np.arange(NUM_BINS) + by, 0, NUM_BINS - 1), counts)
    return moved


# Before the dtype, of the number of parameters in it.
_LOST_EPS = "optimizer/lost_eps/"
#: It is judged what a target format would lose of these.
_EVALUATED_KINDS = ("weights", "outputs", "gradients")
#: Updates that are lost at so many looks over so many steps are so for long, as at more in a row.
LOOKS_APART, STEPS_APART = 3, 100
#: With the largest of so many magnitudes the next is compared.
AMAX_HISTORY = 16


class LowPrecisionLoss(Rule):
    """What is lost to numbers of 16 and 8 bits.

    ``lost_updates``: of the weights in 16 bits that have a gradient, most stay what they were,
    because an update that is small beside them is rounded away (Zamirai et al.: Revisiting bfloat16
    training, 2020), while no learning rate rises. ``underflow``: most elements of the gradients in
    float16 or an 8-bit format are zero, and the others are below its least normal number
    (Micikevicius et al.: Mixed precision training, 2018). ``skipped``: a gradient scaler skips most
    steps, or came down to a scale below 1. ``lost_eps``: the optimizer divides by the root of a
    mean of squares plus an eps that is zero in the dtype of the parameters, so that it divides by
    zero where gradients are small, and the weights become infinite or nan.

    With ``target`` weights, outputs and gradients are also held against a format before it is
    used. ``flushed``: most of a tensor that is not zero would become zero. ``too_large``: some of
    it cannot be held. ``jump``: its largest magnitude is so many times those before
    that a scale learnt from these is stale (Fishman et al.: Scaling FP8 training, 2024).
    """

    name = "low_precision_loss"
    needs = ("updates", "gradients", "optimizer")
    training_only = True
    per_model = True
    sign = "precision"
    view: ClassVar[Mapping[str, EvidenceView]] = {
        "underflow": EvidenceView("gradients", "zero_fraction"),
        "*": EvidenceView("updates"),
    }
    lacks = NotApplicable("no weight, gradient or loss scale in 16 or 8 bits was seen")

    max_lost: float = parameter(0.5, "The share of updates that may be lost.", between=(0, 1))
    max_zeros: float = parameter(
        0.5, "The share of gradients that may be zero, or become it.", above=0, at_most=1
    )
    consecutive: int = parameter(
        5, "Looks in a row, for all but `skipped`, `jump` and `lost_eps`.", at_least=1
    )
    skip_window: int = parameter(
        40, "TRAIN steps of which at least half must be skipped.", at_least=2
    )
    target: str | None = parameter(
        None, "A narrower format to judge by, such as `float16`, `float8_e5m2`.", one_of=FORMATS
    )
    scaled: bool = parameter(
        True, "Each tensor is brought to the range of the target by a power of two of its own."
    )
    max_jump: float = parameter(16.0, "So many times the largest magnitude before.", above=1)

    def begin(self) -> None:
        # Since when most updates are lost, at how many looks, and the last rates.
        self._lost: dict[str, tuple[StepNumber, int]] = {}
        self._rates: dict[str, Floats] = {}
        self._largest: Series[tuple[str, str], float] = Series(AMAX_HISTORY + 1)
        self._skipped: Series[str, bool] = Series(self.skip_window)

    @property
    def evidence(self) -> tuple[str, ...]:  # type: ignore[override]  # that of other rules is fixed
        """What must be saved for it, in the words of ``--save``."""
        return tuple(f"{kind}:exponents:every=10" for kind in _EVALUATED_KINDS if self.target)

    def check(self, step: StepView) -> Findings:
        for group in prefixed(step, "updates", "lost_updates/"):
            yield from self._evaluate_lost(step, group)
        for group in prefixed(step, "optimizer", _LOST_EPS):
            yield from self._evaluate_eps(step, group)
        for group in step.groups("gradients"):
            yield from self._evaluate_underflow(step, group)
        for worker in step.workers:
            yield from self._evaluate_scaler(step, worker)
        for kind in _EVALUATED_KINDS if self.target else ():
            for group in step.groups(kind):
                yield from self._evaluate_target(step, group)

    def _evaluate_lost(self, step: StepView, group: TensorGroup) -> Findings:
        lost = weighted_mean(group)
        if math.isnan(lost):
            return
        self._evaluated = True
        worker = group.record.worker
        if not lost > self.max_lost or self._rises(step, worker):
            self._lost.pop(worker, None)
            return
        since, looks = self._lost.get(worker, (step.at, 0))
        self._lost[worker] = since, looks + 1
        is_long = looks + 1 >= LOOKS_APART and step.train_step - since.train_step >= STEPS_APART
        if looks + 1 >= self.consecutive or is_long:
            worst = largest_of(group)
            yield self.finding(
                step,
                worst,
                f"{lost:.0%} of the updates of weights in {_dtype(worst.name, group)} changed"
                f" nothing at step {step.train_step} (> {self.max_lost:.0%}), "
                f"{in_a_row(looks + 1, 'look')}; most of all {worst.name}",
                value=lost,
                threshold=self.max_lost,
                onset=since,
                condition="lost_updates",
                remedy="keep the weights in float32 and compute under autocast, or raise the"
                " learning rate",
            )

    def _rises(self, step: StepView, worker: str) -> bool:
        """Return whether a learning rate rose since the last look: it may have been too small."""
        tensors = step.tensors("learning_rates", worker=worker)
        rates = np.array([one.scalar for one in tensors])
        before, self._rates[worker] = self._rates.get(worker, rates), rates
        return len(before) == len(rates) and bool((rates > before).any())

    def _evaluate_eps(self, step: StepView, group: TensorGroup) -> Findings:
        for tensor in group:
            self._evaluated = True
            dtype = tensor.name.removeprefix(_LOST_EPS)
            least = float(ml_dtypes.finfo(dtype).smallest_subnormal)  # type: ignore[no-untyped-call]
            yield self.finding(
                step,
                tensor,
                f"the eps of the optimizer is zero in {dtype}, the dtype of"
                f" {number(tensor.scalar)} parameters, whose least number is {number(least)}: it"
                " divides by zero where the mean of squared gradients underflows, which gives"
                " infinite weights and nan",
                value=tensor.scalar,
                threshold=0.0,
                condition="lost_eps",
                remedy="keep the weights in float32 and compute under autocast, with a GradScaler"
                " for float16; or give the optimizer an eps that the dtype holds, such as eps=1e-4",
            )

    def _evaluate_underflow(self, step: StepView, group: TensorGroup) -> Findings:
        dtypes = np.array([info.dtype for info in group.infos])
        for dtype in sorted({*FORMATS}.intersection(dtypes.tolist())):
            self._evaluated = True
            rows = group.rows[dtypes == dtype]
            total = group.record.statistics[rows].sum(axis=0)
            zeros = float(total[ZEROS] / total[COUNT]) if total[COUNT] else 0.0
            size = float(total[SUM_ABS] / max(total[COUNT] - total[ZEROS], 1))
            holds = zeros > self.max_zeros and size < least_normal(dtype)
            if self.persists((group.record.worker, dtype), holds):
                yield self.finding(
                    step,
                    group.where(dtypes == dtype)[0],
                    f"{zeros:.0%} of the {dtype} gradients are zero at step {step.train_step}"
                    f" (> {self.max_zeros:.0%}) and the mean magnitude of the others is"
                    f" {number(size)}, below the least normal number"
                    f" {number(least_normal(dtype))}, {in_a_row(self.consecutive, 'look')}",
                    value=zeros,
                    threshold=self.max_zeros,
                    condition="underflow",
                    remedy="scale the loss (torch.amp.GradScaler, keras LossScaleOptimizer), or use"
                    " bfloat16",
                )

    def _evaluate_target(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge what the target format would lose of tensors of one kind."""
        counted = [tensor for tensor in group if tensor.exponents is not None]
        if not counted or self.target is None:
            return
        self._evaluated = True
        counts = np.array([tensor.exponents for tensor in counted])
        zero, over = lost(counts, self.target, scaled=self.scaled)
        for condition, found, limit, what in (
            ("flushed", zero, self.max_zeros, "{:.0%} of what is not zero would become zero in"),
            ("too_large", over, 0.0, "{:.2%} of what is not zero is too large for"),
            ("jump", self._jumps(counted), self.max_jump, "{:.3g} times as large as before, for"),
        ):
            worst = int(np.argmax(np.nan_to_num(found)))
            value, tensor = float(found[worst]), counted[worst]
            key = tensor.worker, tensor.info.collection, condition
            needed = 1 if condition == "jump" else self.consecutive
            if self.persists(key, value > limit, needed):
                yield self.finding(
                    step,
                    tensor,
                    f"{tensor.name}: {what.format(value)} {self.target} at step {step.train_step}"
                    f" (> {number(limit)}); so it is of {int((found > limit).sum())} of"
                    f" {len(counted)} {tensor.info.collection}",
                    value=value,
                    threshold=limit,
                    condition=f"{condition} {tensor.info.collection}",
                    remedy="leave such tensors in bfloat16, or scale them by blocks; take the"
                    " scale from the step itself where the magnitude jumps",
                )

    def _jumps(self, tensors: Sequence[TensorView]) -> Floats:
        """Return how many times each tensor's largest magnitude is that of the looks before."""
        found = []
        for tensor in tensors:
            key = tensor.worker, tensor.name
            *before, now = self._largest.add(key, tensor.statistics.abs_max)
            known = len(before) == AMAX_HISTORY and max(before)
            found.append(now / max(before) if known else 0.0)
        return np.array(found)

    def _evaluate_scaler(self, step: StepView, worker: str) -> Findings:
        skipped = step.scalar("optimizer/skipped", worker)
        if skipped != skipped:
            return
        self._evaluated = True
        recent = self._skipped.add(worker, skipped > 0)
        scale = step.scalar("optimizer/loss_scale", worker)
        often = len(recent) == self.skip_window and 2 * sum(recent) >= self.skip_window
        if often or (scale < 1 and skipped > 0):
            yield self.finding(
                step,
                "optimizer/loss_scale",
                f"the gradient scaler skipped {sum(recent)} of the last {len(recent)} steps up to"
                f" step {step.train_step}; the loss scale is {number(scale)}",
                worker=worker,
                value=float(sum(recent)),
                threshold=self.skip_window / 2,
                condition="skipped",
                remedy="gradients are not finite whatever the scale: look for the module that"
                " overflows, or use bfloat16",
            )


def _dtype(name: str, group: TensorGroup) -> str:
    parameter = parameter_of(group.record.layout, name)
    return "16 bits" if parameter is None else parameter.dtype
