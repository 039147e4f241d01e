"""The rules on the size of what models are given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from ..record import Layout, TensorInfo
from ..statistics import MAX, MIN
from ..steps import Mode
from .checks import number
from .rule import Findings, Rule
from .scalars import InARow, few_steps
from .scope import Selection, above, at_least
from .step_view import StepView, TensorView

_LOGITS = re.compile("cross_entropy|CrossEntropy|BCEWithLogits")
#: Mean square of activations between -1 and 1 above which they are nearly all at their ends.
SATURATED = 0.9
_SQUARES = re.compile("mse|l1_loss|huber|L1Loss", re.IGNORECASE)


class InputDrift(Rule):
    """Inputs that become many times larger or smaller while it trains.

    The root mean square of each input of a model, of a floating dtype, is compared with those of
    the first TRAIN steps. It changes so when samples are changed in place, and each epoch changes
    them again. A single batch that is ``factor`` times as large as any before is told as well.

    Inputs of EVAL steps are held against the same TRAIN steps, by mean and standard deviation, as
    if both were normal: a normalization that was forgotten for one of them sets them ``nats``
    apart, and ten times as far as any of the TRAIN steps is.

    Args:
        factor: So many times the largest at first, or the least over this, is a drift. Above 1.
        first: TRAIN steps whose inputs are the first.
        consecutive: TRAIN steps in a row.
        nats: The divergence of inputs that are evaluated from those that are trained. Above 0.
        evaluations: EVAL steps in a row.
    """

    name = "input_drift"
    needs = ("batches",)
    per_model = True

    def __init__(
        self,
        factor: float = 10.0,
        first: int = 20,
        consecutive: int = 20,
        nats: float = 0.5,
        evaluations: int = 4,
    ) -> None:
        above("factor", factor, 1)
        at_least("first", first, 1)
        at_least("consecutive", consecutive, 1)
        above("nats", nats, 0)
        at_least("evaluations", evaluations, 1)
        self.nats, self.evaluations = nats, evaluations
        self.factor, self.first, self.consecutive = factor, first, consecutive
        self._inputs = Selection(("batches",), keep=_is_real)
        self._sizes: dict[tuple[str, str], list[float]] = {}
        self._peaks: dict[tuple[str, str], float] = {}
        self._trained: dict[_Input, list[tuple[float, float]]] = {}
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if step.mode is Mode.EVAL:
            for group, _ in self._inputs.groups(step):
                for tensor in group:
                    yield from self._judge_evaluated(step, tensor)
        if not step.trains:
            return
        self._steps += 1
        for group, names in self._inputs.groups(step):
            for tensor in group:
                seen = self._trained.setdefault(_input(tensor), [])
                if len(seen) < self.first:
                    seen.append((tensor.statistics.mean, tensor.statistics.std))
            sizes = group.quantity("rms").tolist()
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

    def _judge_evaluated(self, step: StepView, tensor: TensorView) -> Findings:
        trained = self._trained.get(_input(tensor), ())
        if len(trained) < self.first:
            return
        usual = tuple(np.median(trained, axis=0).tolist())
        now = tensor.statistics.mean, tensor.statistics.std
        apart = divergence(now, usual)
        spread = max(divergence(each, usual) for each in trained)
        met = apart > max(self.nats, 10 * spread)
        if self._in_a_row.count((*_input(tensor), "evaluated"), met) >= self.evaluations:
            yield Finding(
                self.name,
                step.number,
                tensor.name,
                f"{tensor.name}: inputs that are evaluated have mean {number(now[0])} and standard"
                f" deviation {number(now[1])} at step {step.number}; those that are trained have"
                f" {number(usual[0])} and {number(usual[1])}: {number(apart)} nats apart"
                f" (> {number(self.nats)}), {self.evaluations} EVAL steps in a row",
                worker=tensor.worker,
                value=apart,
                threshold=self.nats,
                condition=f"{tensor.name} evaluated",
                remedy="do to the inputs of an evaluation what is done in training: the same"
                " normalization, by the numbers of the training data, and the same units",
            )


_Input = tuple[str, str, tuple[int, ...]]


def _input(tensor: TensorView) -> _Input:
    """Return the worker, the name and the shape of a sample: the same at all steps."""
    return tensor.worker, tensor.name, tuple(tensor.info.shape[1:])


def divergence(of: tuple[float, float], given: tuple[float, float]) -> float:
    """Return Kullback and Leibler's divergence of a normal distribution from another.

    Each is given by its mean and its standard deviation.

    Returns:
        Nats, at least 0; nan where a standard deviation is 0.

    Example:
        >>> divergence((1.0, 1.0), (0.0, 1.0))
        0.5
    """
    (mean, std), (other, spread) = of, given
    if not (std > 0 and spread > 0):
        return math.nan
    return math.log(spread / std) + ((std**2 + (mean - other) ** 2) / spread**2 - 1) / 2


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
            sizes = group.quantity("rms")
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
            yield from group.where(ends & bounded & (group.quantity("rms") ** 2 > SATURATED))


def _beyond(step: StepView, worker: str) -> Iterator[tuple[TensorView, float]]:
    """Yield what each loss is given, and how large it is in units of the loss."""
    for given in step.tensors("predictions"):
        what = given.name.removeprefix("prediction/")
        label, loss = (step.tensor(f"{kind}/{what}", worker) for kind in ("label", "loss"))
        if given.worker != worker or label is None or loss is None:
            continue
        size = given.statistics.rms
        if _LOGITS.search(what):
            shape = given.info.shape
            guessing = math.log(max(2, shape[1] if len(shape) > 1 else 2))
            if loss.scalar > 2 * guessing:
                yield given, size
        elif _SQUARES.search(what):
            unit = label.statistics.rms
            yield given, size / unit if unit else math.nan


def _is_real(layout: Layout, tensor: TensorInfo) -> bool:  # noqa: ARG001 - a Selection's keep
    return "float" in tensor.dtype and len(tensor.shape) > 1
