"""Rules on gradients that add up: over the steps, where they should not, or in one, unscaled."""

from __future__ import annotations

from ..finding import Finding
from ..statistics import COUNT
from .checks import number
from .rule import Findings, Rule
from .scalars import InARow, few_steps
from .scope import above, at_least
from .step_view import StepView


class StaleGradients(Rule):
    """Gradients that nobody set to zero after the step before, so that each step adds to all.

    Gradients of several backward calls of one step are meant to add up, and are not stale.

    Args:
        consecutive: TRAIN steps in a row.
    """

    name = "stale_gradients"
    needs = ("optimizer",)

    def __init__(self, consecutive: int = 10) -> None:
        at_least("consecutive", consecutive, 1)
        self.consecutive = consecutive
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        for worker in step.workers:
            stale = step.scalar("optimizer/stale_gradients", worker)
            if self._in_a_row.count(worker, stale > 0) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    "optimizer/stale_gradients",
                    f"the gradients of {number(stale)} parameters were not set to zero since the"
                    f" optimizer step before, {self.consecutive} steps in a row up to step"
                    f" {step.number}: each step adds to all gradients before it",
                    worker=worker,
                    value=stale,
                    threshold=0.0,
                    condition="stale_gradients",
                    remedy="call zero_grad() once for each optimizer step",
                )

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.consecutive)


class GradAccumulationScale(Rule):
    """Losses of micro-batches that are summed where their mean was meant.

    The derivatives of what ``backward()`` is called on, by the losses of a step, add up to 1
    where each of n micro-batches is divided by n. Where nothing is divided they add up to n, and
    so the gradient is n times that of the whole batch (``sum``). Where gradients are set to zero
    between micro-batches only the last of them counts (``lost``).

    Args:
        tolerance: A sum within this fraction of the number of micro-batches is that number.
        consecutive: TRAIN steps in a row.
    """

    name = "grad_accumulation_scale"
    needs = ("loop",)

    def __init__(self, tolerance: float = 1e-3, consecutive: int = 10) -> None:
        above("tolerance", tolerance, 0, up_to=0.5)
        at_least("consecutive", consecutive, 1)
        self.tolerance, self.consecutive = tolerance, consecutive
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for worker in step.workers:
            parts = step.scalar("loop/backwards", worker)
            lost = step.scalar("loop/backwards_lost", worker)
            met = lost >= 1 and parts == lost + 1 and _are_micro_batches(step, worker, parts)
            if self._in_a_row.count((worker, "lost"), met) >= self.consecutive:
                yield self._lost(step, worker, lost, parts)
            weight = step.scalar("loop/loss_weight", worker)
            if weight != weight:
                continue
            self._steps += 1
            met = parts > 1 and abs(weight - parts) <= self.tolerance * parts
            met = met and _are_micro_batches(step, worker, parts)
            if self._in_a_row.count(worker, met) >= self.consecutive:
                yield self._finding(step, worker, weight, parts)

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.consecutive)

    def _lost(self, step: StepView, worker: str, lost: float, parts: float) -> Finding:
        return Finding(
            self.name,
            step.number,
            "loop/backwards_lost",
            f"gradients of {number(lost)} of {number(parts)} micro-batches were set to zero before"
            f" the optimizer used them, {self.consecutive} steps in a row up to step"
            f" {step.number}: only the last of each step is learnt from",
            worker=worker,
            value=lost,
            threshold=0.0,
            condition="lost",
            remedy="call zero_grad() once for each optimizer step, before its first micro-batch",
        )

    def _finding(self, step: StepView, worker: str, weight: float, parts: float) -> Finding:
        return Finding(
            self.name,
            step.number,
            "loop/loss_weight",
            f"the losses of {number(parts)} micro-batches enter each step with a weight of"
            f" {number(weight)} together instead of 1, {self.consecutive} steps in a row up to"
            f" step {step.number}: gradients are {number(weight)} times those of the whole batch",
            worker=worker,
            value=weight,
            threshold=1.0,
            condition="sum",
            remedy=f"divide the loss of each micro-batch by {number(parts)}, or lower the learning"
            " rate and clip accordingly if the sum is meant",
        )


def _are_micro_batches(step: StepView, worker: str, parts: float) -> bool:
    """Return whether one loss was computed of each of so many different batches.

    Two losses of one batch, and one batch that is asked twice as LBFGS and sharpness-aware
    minimization do, are no micro-batches.
    """
    losses = [tensor for tensor in step.tensors("losses") if tensor.worker == worker]
    counts = {
        int(loss.record.statistics[loss.row, COUNT])
        for loss in losses
        if loss.name != "loss/backward"
    }
    digests = [tensor.digest for tensor in step.tensors("batches") if tensor.worker == worker]
    is_known = bool(digests) and None not in digests
    return counts == {int(parts)} and is_known and len(set(digests)) >= parts
