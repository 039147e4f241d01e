"""Numbers with too few bits: lost updates, gradients that underflow, a scaler that gives up."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, SUM_ABS, ZEROS
from .checks import number
from .rule import Findings, NothingToJudge, Rule
from .scalars import InARow, prefixed, sizes
from .scope import above, at_least, within
from .step_view import StepView, TensorGroup

#: The least normal number of float16; what is smaller loses bits, and below 2**-25 becomes 0.
LEAST_NORMAL = 2.0**-14


class LowPrecisionLoss(Rule):
    """What is lost to 16-bit numbers.

    ``lost_updates``: of the weights in 16 bits that have a gradient, most stay what they were,
    because an update that is small beside them is rounded away (Zamirai et al.: Revisiting
    bfloat16 training, 2020). ``underflow``: most elements of the float16 gradients are zero, and
    the others are below its least normal number (Micikevicius et al.: Mixed precision training,
    2018). ``skipped``: a gradient scaler skips most steps, or came down to a scale below 1.

    Args:
        max_lost: The share of updates that may be lost, between 0 and 1.
        max_zeros: The share of zeros in float16 gradients, between 0 and 1.
        consecutive: Looks in a row.
        skip_window: TRAIN steps of which at least half must be skipped.
    """

    name = "low_precision_loss"
    needs = ("updates", "gradients", "optimizer")
    per_model = True

    def __init__(
        self,
        max_lost: float = 0.5,
        max_zeros: float = 0.5,
        consecutive: int = 5,
        skip_window: int = 40,
    ) -> None:
        within("max_lost", max_lost, 0, 1)
        above("max_zeros", max_zeros, 0, up_to=1)
        at_least("consecutive", consecutive, 1)
        at_least("skip_window", skip_window, 2)
        self.max_lost, self.max_zeros = max_lost, max_zeros
        self.consecutive, self.skip_window = consecutive, skip_window
        self._in_a_row = InARow()
        self._skipped: dict[str, deque[bool]] = {}
        self._judged = False

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group in prefixed(step, "updates", "lost_updates/"):
            yield from self._judge_lost(step, group)
        for group in step.groups("gradients"):
            yield from self._judge_underflow(step, group)
        for worker in step.workers:
            yield from self._judge_scaler(step, worker)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return NothingToJudge("no weight, gradient or loss scale in 16 bits was seen")

    def _judge_lost(self, step: StepView, group: TensorGroup) -> Findings:
        values, weights = group.quantity("mean"), sizes(group)
        known = np.isfinite(values)
        if not known.any():
            return
        self._judged = True
        lost = float(np.average(values[known], weights=weights[known]))
        key = group.record.worker, "lost"
        if self._in_a_row.count(key, lost > self.max_lost) >= self.consecutive:
            worst = group[int(np.nanargmax(values))]
            yield Finding(
                self.name,
                step.number,
                worst.name,
                f"{lost:.0%} of the updates of weights in {_dtype(worst.name, group)} changed"
                f" nothing at step {step.number} (> {self.max_lost:.0%}), {self.consecutive} looks"
                f" in a row; most of all {worst.name}",
                worker=group.record.worker,
                value=lost,
                threshold=self.max_lost,
                condition="lost_updates",
                remedy="keep the weights in float32 and compute under autocast, or raise the"
                " learning rate",
            )

    def _judge_underflow(self, step: StepView, group: TensorGroup) -> Findings:
        half = np.array([info.dtype == "float16" for info in group.infos])
        if not half.any():
            return
        self._judged = True
        total = group.where(half).record.statistics[group.rows[half]].sum(axis=0)
        zeros = float(total[ZEROS] / total[COUNT]) if total[COUNT] else 0.0
        size = float(total[SUM_ABS] / max(total[COUNT] - total[ZEROS], 1))
        met = zeros > self.max_zeros and size < LEAST_NORMAL
        if self._in_a_row.count((group.record.worker, "underflow"), met) >= self.consecutive:
            yield Finding(
                self.name,
                step.number,
                group.where(half)[0].name,
                f"{zeros:.0%} of the float16 gradients are zero at step {step.number}"
                f" (> {self.max_zeros:.0%}) and the mean magnitude of the others is"
                f" {number(size)}, below the least normal number {number(LEAST_NORMAL)}"
                f", {self.consecutive} looks in a row",
                worker=group.record.worker,
                value=zeros,
                threshold=self.max_zeros,
                condition="underflow",
                remedy="scale the loss with torch.amp.GradScaler, or use bfloat16",
            )

    def _judge_scaler(self, step: StepView, worker: str) -> Findings:
        skipped = step.scalar("optimizer/skipped", worker)
        if skipped != skipped:
            return
        self._judged = True
        recent = self._skipped.setdefault(worker, deque(maxlen=self.skip_window))
        recent.append(skipped > 0)
        scale = step.scalar("optimizer/loss_scale", worker)
        often = len(recent) == self.skip_window and 2 * sum(recent) >= self.skip_window
        if often or (scale < 1 and skipped > 0):
            yield Finding(
                self.name,
                step.number,
                "optimizer/loss_scale",
                f"the gradient scaler skipped {sum(recent)} of the last {len(recent)} steps up to"
                f" step {step.number}; the loss scale is {number(scale)}",
                worker=worker,
                value=float(sum(recent)),
                threshold=self.skip_window / 2,
                condition="skipped",
                remedy="gradients are not finite whatever the scale: look for the module that"
                " overflows, or use bfloat16",
            )


def _dtype(name: str, group: TensorGroup) -> str:
    layout = group.record.layout
    row = layout.row_of.get(name.partition("/")[2])
    return "16 bits" if row is None else layout.tensors[row].dtype
