"""Numbers with too few bits: lost updates, underflow, a scaler that gives up, what fp8 loses."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, SUM_ABS, ZEROS
from .checks import Floats, number
from .narrow import FORMATS, least_normal, lost
from .rule import Findings, NothingToJudge, Rule
from .scalars import InARow, prefixed, sizes
from .scope import above, at_least, one_of, within
from .step_view import StepView, TensorGroup, TensorView

#: Of these a target format is asked what it would lose.
_JUDGED = ("weights", "outputs", "gradients")
#: So many looks the largest magnitude is remembered that the next is held against.
AMAX_LOOKS = 16


class LowPrecisionLoss(Rule):
    """What is lost to numbers of 16 and 8 bits.

    ``lost_updates``: of the weights in 16 bits that have a gradient, most stay what they were,
    because an update that is small beside them is rounded away (Zamirai et al.: Revisiting
    bfloat16 training, 2020). ``underflow``: most elements of the gradients in float16 or an 8-bit
    format are zero, and the others are below its least normal number (Micikevicius et al.: Mixed
    precision training, 2018). ``skipped``: a gradient scaler skips most steps, or came down to a
    scale below 1.

    With ``target`` weights, outputs and gradients are also held against a format before it is
    used. ``flushed``: most of a tensor that is not zero would become zero. ``too_large``: some of
    it cannot be held. ``jump``: its largest magnitude is so many times those of the looks before
    that a scale learnt from these is stale (Fishman et al.: Scaling FP8 training, 2024).

    Args:
        max_lost: The share of updates that may be lost, between 0 and 1.
        max_zeros: The share of gradients that are zero, or would be of a tensor, up to 1.
        consecutive: Looks in a row.
        skip_window: TRAIN steps of which at least half must be skipped.
        target: A format such as ``float8_e4m3fn``; ``None`` for none.
        scaled: Each tensor is brought to the range of the target by a factor of its own.
        max_jump: So many times the largest magnitude before. Above 1.
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
        target: str | None = None,
        scaled: bool = True,
        max_jump: float = 16.0,
    ) -> None:
        within("max_lost", max_lost, 0, 1)
        above("max_zeros", max_zeros, 0, up_to=1)
        at_least("consecutive", consecutive, 1)
        at_least("skip_window", skip_window, 2)
        one_of("target", target, FORMATS)
        above("max_jump", max_jump, 1)
        self.target, self.scaled, self.max_jump = target, scaled, max_jump
        self._largest: dict[tuple[str, str], deque[float]] = {}
        self.max_lost, self.max_zeros = max_lost, max_zeros
        self.consecutive, self.skip_window = consecutive, skip_window
        self._in_a_row = InARow()
        self._skipped: dict[str, deque[bool]] = {}
        self._judged = False

    @property
    def evidence(self) -> tuple[str, ...]:  # type: ignore[override]  # that of other rules is fixed
        """What must be saved for it, in the words of ``--save``."""
        return tuple(f"{kind}:exponents:every=10" for kind in _JUDGED if self.target)

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group in prefixed(step, "updates", "lost_updates/"):
            yield from self._judge_lost(step, group)
        for group in step.groups("gradients"):
            yield from self._judge_underflow(step, group)
        for worker in step.workers:
            yield from self._judge_scaler(step, worker)
        for kind in _JUDGED if self.target else ():
            for group in step.groups(kind):
                yield from self._judge_target(step, group)

    def unevaluated(self) -> str | None:
        if self._judged:
            return None
        return NothingToJudge("no weight, gradient or loss scale in 16 or 8 bits was seen")

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
        dtypes = np.array([info.dtype for info in group.infos])
        for dtype in sorted({*FORMATS}.intersection(dtypes.tolist())):
            self._judged = True
            rows = group.rows[dtypes == dtype]
            total = group.record.statistics[rows].sum(axis=0)
            zeros = float(total[ZEROS] / total[COUNT]) if total[COUNT] else 0.0
            size = float(total[SUM_ABS] / max(total[COUNT] - total[ZEROS], 1))
            met = zeros > self.max_zeros and size < least_normal(dtype)
            if self._in_a_row.count((group.record.worker, dtype), met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    group.where(dtypes == dtype)[0].name,
                    f"{zeros:.0%} of the {dtype} gradients are zero at step {step.number}"
                    f" (> {self.max_zeros:.0%}) and the mean magnitude of the others is"
                    f" {number(size)}, below the least normal number"
                    f" {number(least_normal(dtype))}, {self.consecutive} looks in a row",
                    worker=group.record.worker,
                    value=zeros,
                    threshold=self.max_zeros,
                    condition="underflow",
                    remedy="scale the loss (torch.amp.GradScaler, keras LossScaleOptimizer), or use"
                    " bfloat16",
                )

    def _judge_target(self, step: StepView, group: TensorGroup) -> Findings:
        """Judge what the target format would lose of tensors of one kind."""
        counted = [tensor for tensor in group if tensor.exponents is not None]
        if not counted or self.target is None:
            return
        self._judged = True
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
            if self._in_a_row.count(key, value > limit) >= needed:
                yield Finding(
                    self.name,
                    step.number,
                    tensor.name,
                    f"{tensor.name}: {what.format(value)} {self.target} at step {step.number}"
                    f" (> {number(limit)}); so it is of {int((found > limit).sum())} of"
                    f" {len(counted)} {tensor.info.collection}",
                    worker=tensor.worker,
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
            now = tensor.statistics.abs_max
            before = self._largest.setdefault(
                (tensor.worker, tensor.name), deque(maxlen=AMAX_LOOKS)
            )
            found.append(now / max(before) if len(before) == AMAX_LOOKS and max(before) else 0.0)
            before.append(now)
        return np.array(found)

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
