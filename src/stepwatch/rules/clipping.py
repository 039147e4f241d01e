"""Gradients that are clipped, and not those that the optimizer uses."""

from __future__ import annotations

import math

from ..finding import Finding
from .checks import global_norm, number
from .rule import Findings, NothingToJudge, Rule
from .scalars import InARow
from .scope import at_least
from .step_view import StepView

#: Norms of the same gradients are the same but for rounding.
_SAME = 1e-3


class GradientClipping(Rule):
    """Gradients that are clipped once they were used, or before they were unscaled.

    What clipping leaves is what the optimizer must get. ``late``: it had what clipping finds
    only then. ``scaled``: it got what clipping left divided by the loss
    scale, so that the limit was held against gradients that many times as large as they are.

    Args:
        consecutive: TRAIN steps in a row.
    """

    name = "gradient_clipping"
    needs = ("optimizer",)
    per_model = True

    def __init__(self, consecutive: int = 10) -> None:
        at_least("consecutive", consecutive, 1)
        self.consecutive = consecutive
        self._used: dict[str, float] = {}
        self._in_a_row = InARow()
        self._judged = False

    def check(self, step: StepView) -> Findings:
        for group in step.groups("gradients") if step.trains else ():
            worker = group.record.worker
            used = global_norm(group.record.statistics[group.rows])
            last, self._used[worker] = self._used.get(worker, math.nan), used
            before, after = (
                step.scalar(f"optimizer/gradient_norm_{when}_clipping", worker)
                for when in ("before", "after")
            )
            scale = step.scalar("optimizer/loss_scale", worker)
            self._judged |= before == before
            # what is clipped after the step may be counted to it, or to the next
            cut = after < (1 - _SAME) * before
            late = cut and (_is(before, last) or _is(before, used))
            scaled = scale > 1 and _is(after, used * scale)
            for condition, met in (("late", late), ("scaled", scaled)):
                if self._in_a_row.count((worker, condition), met) >= self.consecutive:
                    yield self._finding(step, worker, condition, after, used)

    def unevaluated(self) -> str | None:
        return None if self._judged else NothingToJudge("no gradients were clipped")

    def _finding(
        self, step: StepView, worker: str, condition: str, after: float, used: float
    ) -> Finding:
        what, remedy = _TOLD[condition]
        return Finding(
            self.name,
            step.number,
            "optimizer/gradient_norm_after_clipping",
            f"gradients are clipped {what}: clipping leaves a norm of {number(after)} and the"
            f" optimizer uses one of {number(used)}, {self.consecutive} steps in a row up to step"
            f" {step.number}",
            worker=worker,
            value=used,
            threshold=after,
            condition=condition,
            remedy=remedy,
        )


_TOLD = {
    "late": (
        "once the optimizer has used them",
        "clip between backward() and the optimizer's step()",
    ),
    "scaled": (
        "before they are unscaled",
        "call scaler.unscale_(optimizer) before clipping",
    ),
}


def _is(norm: float, other: float) -> bool:
    return abs(norm - other) <= _SAME * other
