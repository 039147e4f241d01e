"""Memory that a training does not give back."""

from __future__ import annotations

import math

from ..finding import Finding
from .checks import number
from .rule import Findings, Rule
from .scalars import InARow, few_steps
from .scope import at_least
from .step_view import StepView


class MemoryGrowth(Rule):
    """Graphs of losses that are kept, one more at each step, until memory runs out.

    A loss that is put into a list or added to a total, without ``item()`` or ``detach()``, keeps
    the graph that it was computed by, and with it what the graph holds.

    Args:
        consecutive: TRAIN steps in a row at each of which more graphs were kept than at the one
            before. Those of one epoch may be meant.
    """

    name = "memory_growth"
    needs = ("loop",)

    def __init__(self, consecutive: int = 100) -> None:
        at_least("consecutive", consecutive, 1)
        self.consecutive = consecutive
        self._in_a_row = InARow()
        self._last: dict[str, float] = {}
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        for worker in step.workers:
            graphs = step.scalar("loop/graphs", worker)
            grew = graphs > self._last.get(worker, math.inf)
            self._last[worker] = graphs
            if self._in_a_row.count(worker, grew) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    "loop/graphs",
                    f"the graphs of {number(graphs)} losses are kept at step {step.number}, more at"
                    f" each of {self.consecutive} TRAIN steps in a row: memory grows without end",
                    worker=worker,
                    value=graphs,
                    threshold=float(self.consecutive),
                    condition="graphs",
                    remedy="keep loss.item() or loss.detach(), not the loss itself",
                )

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.consecutive)
