"""The rule on a loss that is trained in the wrong direction."""

from __future__ import annotations

from ..finding import Finding
from .checks import number
from .loss_memory import is_scalar, losses_of
from .rule import Findings, Rule
from .scalars import First, InARow, few_steps
from .scope import Selection, at_least
from .step_view import StepView


class LossDirection(Rule):
    """A loss that is maximized, and rises.

    What ``backward`` is called on falls when the only loss of the step rises: its derivative by
    the loss is below 0, as after a sign that is lost on the way. Two losses in one step may be
    meant to pull in different directions, and are not judged.

    Args:
        consecutive: TRAIN steps in a row.
    """

    name = "loss_direction"
    needs = ("losses", "loop")
    per_model = True

    def __init__(self, consecutive: int = 10) -> None:
        at_least("consecutive", consecutive, 2)
        self.consecutive = consecutive
        self._losses = Selection(("losses",), keep=is_scalar)
        self._first = First(3)
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        losses = losses_of(step, self._losses) if step.trains else {}
        self._steps += bool(losses)
        if len(losses) != 1:
            return
        (name, value), *_ = losses.items()
        first = self._first.of(name, value)
        for worker in step.workers:
            weight = step.scalar("loop/loss_weight", worker)
            times = self._in_a_row.count(worker, weight < 0)
            if times >= self.consecutive and value > first:
                yield Finding(
                    self.name,
                    step.number,
                    name,
                    f"{name}: it is maximized: what backward is called on falls by"
                    f" {number(-weight)} for each 1 that the loss rises, {times} TRAIN steps in a"
                    f" row up to step {step.number}; the loss rose from {number(first)} to"
                    f" {number(value)}",
                    worker=worker,
                    value=weight,
                    threshold=0.0,
                    condition="maximized",
                    remedy="take the minus away from the loss, or from the score it is made of",
                )

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.consecutive)
