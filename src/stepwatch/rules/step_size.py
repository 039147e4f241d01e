"""The rule on how far training gets with the size of its steps."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..finding import Finding
from ..statistics import SUM
from .checks import Floats, global_norm, number
from .loss_memory import is_scalar, losses_of
from .rule import Findings, Rule
from .scalars import few_steps
from .scope import Selection, above, at_least, within
from .step_view import StepView, TensorGroup
from .weights_moved import is_trained

_PREFIX = "update_ratio/"
#: A loss is taken to be what it is at so many steps, at first and now.
_FIRST, _LAST = 5, 20


class StepSize(Rule):
    """Steps so large that weights run away, or so small that they stay, while no loss falls.

    All trained weights are taken together, and compared with what they were at the first step.
    ``too_large``: their l2 norm grew many times. ``decay``: it shrank to a fraction: what pulls
    weights to zero is stronger than the loss. ``too_small``: no step that was measured moved them
    by as much as ``least_step`` of their norm, and the learning rate has been at its height for
    ``num_steps``.
    ``too_large`` and ``decay`` are said only if no loss fell by ``fall`` of what it was at first.

    Args:
        grown: So many times their first norm, weights have run away. Above 1.
        shrunk: Below this fraction of it, they are pulled to zero.
        least_step: A step is too small below this fraction of the norm.
        fall: A loss that fell by this fraction of its magnitude is on its way.
        num_steps: TRAIN steps before the first judgement.
    """

    name = "step_size"
    needs = ("weights",)
    per_model = True

    def __init__(
        self,
        grown: float = 10.0,
        shrunk: float = 0.5,
        least_step: float = 3e-6,
        fall: float = 0.1,
        num_steps: int = 100,
    ) -> None:
        above("grown", grown, 1)
        above("shrunk", shrunk, 0, up_to=0.99)
        above("least_step", least_step, 0, up_to=1e-3)
        within("fall", fall, 0, 1)
        at_least("num_steps", num_steps, _LAST)
        self.grown, self.shrunk, self.least_step = grown, shrunk, least_step
        self.fall, self.num_steps = fall, num_steps
        self._weights = Selection(("weights",), keep=is_trained)
        self._losses = Selection(("losses",), keep=is_scalar)
        self._of_loss: dict[str, _Loss] = {}
        self._of_worker: dict[str, _Weights] = {}
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        for name, value in losses_of(step, self._losses).items():
            self._of_loss.setdefault(name, _Loss()).add(value)
        for group, names in self._weights.groups(step):
            worker = group.record.worker
            weights = self._of_worker.get(worker)
            if weights is None or weights.names != names:
                weights = self._of_worker[worker] = _Weights(names)
            weights.add(group)
            if weights.num_steps >= self.num_steps:
                yield from self._judge(step, worker, weights)

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.num_steps)

    def _judge(self, step: StepView, worker: str, weights: _Weights) -> Findings:
        ratio = weights.norm / weights.first if weights.first else math.nan
        size = f"the l2 norm of all trained weights is {number(weights.norm)} at step {step.number}"
        size += f", {number(ratio)} times what it was at first"
        if ratio > self.grown and self._is_stuck():
            text = f"{size} (> {number(self.grown)}), and no loss fell by {self.fall:.0%}"
            yield self._finding(step, worker, "too_large", text, (ratio, self.grown))
        elif ratio < self.shrunk and (self._is_stuck() or self._rises()):
            how = "no loss fell" if self._is_stuck() else "every loss is above its best"
            text = f"{size} (< {number(self.shrunk)}), and {how} by {self.fall:.0%}"
            yield self._finding(step, worker, "decay", text, (ratio, self.shrunk))
        elif weights.is_below(self.least_step, after=self.num_steps):
            text = (
                f"no step that was measured in {weights.num_steps} steps up to step {step.number}"
                f" moved the weights by more than {number(weights.largest_step)} of their norm"
                f" (< {number(self.least_step)}): at this pace they will not change"
            )
            measured = weights.largest_step, self.least_step
            yield self._finding(step, worker, "too_small", text, measured)

    def _is_stuck(self) -> bool:
        losses = self._of_loss.values()
        return bool(losses) and not any(loss.fell(self.fall) for loss in losses)

    def _rises(self) -> bool:
        losses = self._of_loss.values()
        return bool(losses) and all(loss.rose(self.fall) for loss in losses)

    def _finding(
        self,
        step: StepView,
        worker: str,
        condition: str,
        message: str,
        measured: tuple[float, float],
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            "",
            message,
            worker=worker,
            value=measured[0],
            threshold=measured[1],
            condition=condition,
            remedy=_REMEDIES[condition],
            evidence={name: [loss.first, loss.now] for name, loss in self._of_loss.items()},
        )


_REMEDIES = {
    "too_large": "lower the learning rate (or momentum) tenfold, warm up, or clip gradients; a loss"
    " that is a sum needs a rate as much smaller as it has terms",
    "decay": "lower weight_decay: AdamW multiplies it by the learning rate, Adam adds it to each"
    " gradient",
    "too_small": "raise the learning rate tenfold until the loss moves; see whether gradients are"
    " clipped to next to nothing, or clipped before the scaler has unscaled them",
}


@dataclass(slots=True)
class _Loss:
    """What a loss was at its first steps and is at its last."""

    head: list[float] = field(default_factory=list)
    tail: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    best: float = math.inf

    def add(self, value: float) -> None:
        if len(self.head) < _FIRST:
            self.head.append(value)
        self.tail.append(value)
        if len(self.tail) == _LAST:
            self.best = min(self.best, self.now)

    @property
    def first(self) -> float:
        # the least: the first steps of a training that diverges make the others look like a fall
        return min(self.head)

    @property
    def now(self) -> float:
        return float(np.median(self.tail))

    def fell(self, by: float) -> bool:
        """Return whether it fell by a fraction of its magnitude; false if it is not finite."""
        return self.now < self.first - by * abs(self.first)

    def rose(self, by: float) -> bool:
        """Return whether it is above the best it was by a fraction of that."""
        return self.now > self.best + by * abs(self.best)


class _Weights:
    """What is remembered of the same weights of one worker.

    Args:
        names: Of the weights.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.num_steps = 0
        #: L2 norms of all together.
        self.first = self.norm = math.nan
        #: The largest step that was measured, as a fraction of the norm; infinite before.
        self.largest_step = math.inf
        self.highest_rate = 0.0
        #: After how many steps the learning rate was higher than ever before.
        self.last_rise = 0

    def is_below(self, least_step: float, *, after: int) -> bool:
        """Return whether no step reached a size, so long after the learning rate's height."""
        at_height = self.num_steps - self.last_rise >= after
        return self.norm > 0 and self.largest_step < least_step and at_height

    def add(self, group: TensorGroup) -> None:
        """Add one TRAIN step."""
        rates = group.record.statistics[_rows(group, "learning_rates"), SUM]
        self.norm = global_norm(group.record.statistics[group.rows])
        if not self.num_steps:
            self.first = self.norm
        rate = float(np.abs(rates).max(initial=0.0))
        if rate > self.highest_rate:
            self.highest_rate, self.last_rise = rate, self.num_steps
        self.num_steps += 1
        step = _step_of(group)
        if not math.isnan(step):
            known = 0.0 if math.isinf(self.largest_step) else self.largest_step
            self.largest_step = max(known, step)


def _step_of(group: TensorGroup) -> float:
    """Return the norm of an update over the norm of what it changed; nan if not measured."""
    record, layout = group.record, group.record.layout
    rows = [
        row
        for row in _rows(group, "updates").tolist()
        if layout.tensors[row].name.startswith(_PREFIX)
    ]
    weights = [layout.row_of.get(layout.tensors[row].name.removeprefix(_PREFIX)) for row in rows]
    if not rows or None in weights:
        return math.nan
    squares: Floats = record.statistics[[row for row in weights if row is not None]]
    norms = np.array([global_norm(square[None]) for square in squares])
    moved = float(np.linalg.norm(record.statistics[rows, SUM] * norms))
    size = float(np.linalg.norm(norms))
    return moved / size if size else math.nan


def _rows(group: TensorGroup, collection: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return group.record.layout.rows_of.get(collection, np.empty(0, np.intp))
