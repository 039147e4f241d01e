"""The rules on the size of what models are given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import COUNT, MAX, MIN, SUM_SQ
from .checks import Floats, non_finite, number
from .rule import Findings, Rule
from .scalars import InARow, few_steps
from .scope import Selection, above, at_least
from .step_view import StepView, TensorView

_LOGITS = re.compile("cross_entropy|CrossEntropy|BCEWithLogits")
#: Mean square of activations between -1 and 1 above which they are nearly all at their ends.
SATURATED = 0.9
_SQUARES = re.compile("mse|l1_loss|huber|L1Loss", re.IGNORECASE)


def root_mean_square(rows: Floats) -> Floats:
    """Return the root mean square of the finite elements.

    Args:
        rows: Statistics, shape ``[..., NUM_FIELDS]``.

    Returns:
        Shape ``[...]``, float64; nan where no element is finite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.sqrt(rows[..., SUM_SQ] / (rows[..., COUNT] - non_finite(rows)))
    return result


class InputDrift(Rule):
    """Inputs that become many times larger or smaller while it trains.

    The root mean square of each input of a model, of a floating dtype, is compared with those of
    the first TRAIN steps. It changes so when samples are changed in place, and each epoch changes
    them again. A single batch that is ``factor`` times as large as any before is told as well.

    Args:
        factor: So many times the largest at first, or the least over this, is a drift. Above 1.
        first: TRAIN steps whose inputs are the first.
        consecutive: TRAIN steps in a row.
    """

    name = "input_drift"
    needs = ("batches",)
    per_model = True

    def __init__(self, factor: float = 10.0, first: int = 20, consecutive: int = 20) -> None:
        above("factor", factor, 1)
        at_least("first", first, 1)
        at_least("consecutive", consecutive, 1)
        self.factor, self.first, self.consecutive = factor, first, consecutive
        self._inputs = Selection(("batches",), keep=_is_real)
        self._sizes: dict[tuple[str, str], list[float]] = {}
        self._peaks: dict[tuple[str, str], float] = {}
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        self._steps += 1
        for group, names in self._inputs.groups(step):
            sizes = root_mean_square(group.record.statistics[group.rows]).tolist()
            for name, size in zip(names, sizes, strict=True):
                yield from self._judge(step, group.record.worker, name, size)

    def unevaluated(self) -> str | None:
        missing = "no input of a floating dtype was seen"
        return few_steps(self._steps, self.first) if self._inputs.found_any else missing

    def _judge(self, step: StepView, worker: str, name: str, size: float) -> Findings:
        sizes = self._sizes.setdefault((worker, name), [])
        if len(sizes) < self.first:
            sizes.append(size)
            return
        yield from self._judge_one(step, worker, name, size, max(sizes))
        least, largest = min(sizes) / self.factor, max(sizes) * self.factor
        for side, limit, met in (
            ("shrunk", least, size < least),
            ("grown", largest, size > largest > 0),
        ):
            if self._in_a_row.count((worker, name, side), met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    name,
                    f"{name}: the root mean square of the inputs is {number(size)} at step"
                    f" {step.number}, {self.consecutive} steps in a row beyond {number(limit)};"
                    f" at the first {self.first} steps it was {number(min(sizes))} to"
                    f" {number(max(sizes))}",
                    worker=worker,
                    value=size,
                    threshold=limit,
                    condition=f"{name} {side}",
                    remedy="look for operations in place (mul_, /=, sub_) on what the data set"
                    " holds: they are done again each epoch; clone the sample first",
                )

    def _judge_one(
        self, step: StepView, worker: str, name: str, size: float, usual: float
    ) -> Findings:
        """Judge a single batch, beside the largest of those before that were not as large."""
        peak = self._peaks.setdefault((worker, name), usual)
        if size > self.factor * peak > 0:
            yield Finding(
                self.name,
                step.number,
                name,
                f"{name}: the root mean square of the inputs is {number(size)} at step"
                f" {step.number}, {number(size / peak)} times that of any batch before"
                f" (> {number(self.factor)})",
                worker=worker,
                value=size,
                threshold=self.factor * peak,
                condition=f"{name} outlier",
                remedy="look at the batch of this step; filter or repair its samples",
            )
        else:
            self._peaks[worker, name] = max(peak, size)


class InputScale(Rule):
    """Inputs so large that a new model cannot begin to learn from them.

    Judged at the first TRAIN step: an input of a floating dtype whose root mean square is above
    ``size``, while the outputs are far beyond what the loss is made for, or activations between
    -1 and 1 are nearly all at their ends (their mean square is above ``SATURATED``).

    Outputs are far beyond if their root mean square is more than ``outputs`` times the unit of the
    loss. For classes that is 1, the unit of logits, and the loss must be above twice
    ``log(classes)`` as well; for squares and magnitudes it is the root mean square of the targets.
    A model that normalizes what it is given is not affected, and nothing is said of it.

    Args:
        size: A root mean square of an input above this is large. Inputs of unit size have 1.
        outputs: Outputs beyond so many units are far off.
    """

    name = "input_scale"
    needs = ("batches",)
    per_model = True

    def __init__(self, size: float = 10.0, outputs: float = 5.0) -> None:
        above("size", size, 1)
        above("outputs", outputs, 1)
        self.size, self.outputs = size, outputs
        self._inputs = Selection(("batches",), keep=_is_real)
        self._judged: set[str] = set()

    def check(self, step: StepView) -> Findings:
        if not step.trains:
            return
        for group, names in self._inputs.groups(step):
            worker = group.record.worker
            if worker in self._judged:
                continue
            self._judged.add(worker)
            sizes = root_mean_square(group.record.statistics[group.rows])
            if not (sizes > self.size).any():
                continue
            worst = int(np.nanargmax(sizes))
            size = float(sizes[worst])
            for given, units in _beyond(step, worker):
                if units > self.outputs:
                    text = (
                        f"{given.name} begins {number(units)} times as large as its loss is made"
                        f" for (> {number(self.outputs)})"
                    )
                    yield self._finding(step, given, names[worst], size, text)
            for output in _saturated(step, worker):
                text = f"nearly all of {output.name} is at -1 or 1"
                yield self._finding(step, output, names[worst], size, text)
                break

    def unevaluated(self) -> str | None:
        return None if self._judged else "no input of a floating dtype was seen"

    def _finding(
        self, step: StepView, seen: TensorView, name: str, size: float, text: str
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            name,
            f"{name}: the root mean square of the inputs is {number(size)} (> {number(self.size)})"
            f" at step {step.number}, and {text}",
            worker=seen.worker,
            value=size,
            threshold=self.size,
            condition=f"{name} {seen.name}",
            remedy="normalize inputs to mean 0 and standard deviation 1, each feature by its own,"
            " or begin with a normalization layer",
            evidence={"seen_at": seen.name},
        )


def _saturated(step: StepView, worker: str) -> Iterator[TensorView]:
    """Yield the outputs that are between -1 and 1, reach both ends, and are mostly there."""
    for group in step.groups("outputs"):
        if group.record.worker == worker:
            rows = group.record.statistics[group.rows]
            ends = (rows[:, MIN] < -SATURATED) & (rows[:, MAX] > SATURATED)
            bounded = (rows[:, MIN] >= -1) & (rows[:, MAX] <= 1)
            yield from group.where(ends & bounded & (root_mean_square(rows) ** 2 > SATURATED))


def _beyond(step: StepView, worker: str) -> Iterator[tuple[TensorView, float]]:
    """Yield what each loss is given, and how large it is in units of the loss."""
    for given in step.tensors("predictions"):
        what = given.name.removeprefix("prediction/")
        label, loss = (step.tensor(f"{kind}/{what}", worker) for kind in ("label", "loss"))
        if given.worker != worker or label is None or loss is None:
            continue
        size = float(root_mean_square(given.record.statistics[given.row]))
        if _LOGITS.search(what):
            shape = given.info.shape
            guessing = math.log(max(2, shape[1] if len(shape) > 1 else 2))
            if loss.scalar > 2 * guessing:
                yield given, size
        elif _SQUARES.search(what):
            unit = float(root_mean_square(label.record.statistics[label.row]))
            yield given, size / unit if unit else math.nan


def _is_real(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return "float" in tensor.dtype and len(tensor.shape) > 1
