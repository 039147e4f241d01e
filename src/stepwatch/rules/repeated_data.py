"""The rule on data that comes again and again, or class by class."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..finding import Finding
from ..steps import Mode
from .checks import Floats, number
from .rule import Findings, Rule
from .scalars import few_steps
from .scope import above, at_least
from .step_view import StepView, TensorView

_PREFIX = "class_count/"


def dependence(counts: Floats) -> float:
    """Return how much the classes depend on the step: Cramér's V squared, less that of chance.

    Args:
        counts: Labels of each class at each step, shape ``[steps, classes]``, at least 0.

    Returns:
        About 0 if every step is a random sample of all labels, and up to 1 if each holds a single
        class (Cramér: Mathematical methods of statistics, 1946; what chance makes of it is taken
        off as by Bergsma: A bias-correction for Cramér's V, 2013). 0 for a single step or class.
    """
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    steps, classes = counts.shape
    if min(steps, classes) < 2:
        return 0.0
    total = float(counts.sum())
    expected = np.outer(counts.sum(1), counts.sum(0)) / total
    squares = float(((counts - expected) ** 2 / expected).sum())
    by_chance = (steps - 1) * (classes - 1) / max(total - 1, 1.0)
    above_chance = max(0.0, squares / total - by_chance)
    return float(above_chance / (min(steps, classes) - 1))


class RepeatedData(Rule):
    """Training data of which there is too little variety from step to step.

    ``same_batch``: what the model is given is bit for bit the same at ``num_steps`` TRAIN steps in
    a row, and fewer samples than were evaluated at once: it is not all the data there is. A
    training on all data at each step is let be, and so is one that never evaluates. ``one_class``:
    all labels so far are of one class out of three or more. ``class_by_class``: each step holds
    hardly more than one class, and the next another, as in data that is sorted and not shuffled.

    Classes are judged from ``looks`` steps on at which they were counted, their order over the last
    ones, where a sample has one label.

    Args:
        num_steps: TRAIN steps in a row with one batch.
        looks: Steps at which classes were counted.
        depends: How much classes may depend on the step, as Cramér's V squared: 0 for random
            samples, 1 for one class a step.
    """

    name = "repeated_data"
    needs = ("batches", "classes")
    per_model = True

    def __init__(self, num_steps: int = 20, looks: int = 10, depends: float = 0.5) -> None:
        at_least("num_steps", num_steps, 2)
        at_least("looks", looks, 2)
        above("depends", depends, 0, up_to=1)
        self.num_steps, self.looks, self.depends = num_steps, looks, depends
        self._batches: dict[str, tuple[tuple[int, ...], int]] = {}
        self._counts: dict[tuple[str, str], deque[Floats]] = {}
        self._seen: dict[tuple[str, str], Floats] = {}
        self._evaluated: dict[str, int] = {}
        self._evaluating: dict[str, int] = {}
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if step.mode is Mode.EVAL:
            for worker in step.workers:
                self._count_evaluated(step, worker)
            return
        if not step.trains:
            return
        self._steps += 1
        self._evaluating.clear()
        for worker in step.workers:
            yield from self._judge_batch(step, worker)
        for tensor in step.tensors("classes"):
            if tensor.name.startswith(_PREFIX) and tensor.name in tensor.record.raw:
                yield from self._judge_classes(step, tensor)

    def unevaluated(self) -> str | None:
        return few_steps(self._steps, self.num_steps)

    def _count_evaluated(self, step: StepView, worker: str) -> None:
        """Remember how many samples one evaluation had, all its steps together."""
        so_far = self._evaluating.get(worker, 0) + _samples(_batches(step, worker))
        self._evaluating[worker] = so_far
        self._evaluated[worker] = max(so_far, self._evaluated.get(worker, 0))

    def _judge_batch(self, step: StepView, worker: str) -> Findings:
        batches = _batches(step, worker)
        digests = tuple(batch.digest for batch in batches)
        known = tuple(digest for digest in digests if digest is not None)
        before, times = self._batches.get(worker, ((), 0))
        times = times + 1 if known and known == before else 1
        self._batches[worker] = known, times
        samples, evaluated = _samples(batches), self._evaluated.get(worker, 0)
        if len(known) == len(digests) and times >= self.num_steps and samples < evaluated:
            yield Finding(
                self.name,
                step.number,
                batches[0].name,
                f"{batches[0].name}: the same {samples} samples, bit for bit, at {times} TRAIN"
                f" steps in a row up to step {step.number}; {evaluated} are evaluated",
                worker=worker,
                value=float(times),
                threshold=float(self.num_steps),
                condition="same_batch",
                remedy="go through the loader: next(iter(loader)) begins it anew each time",
            )

    def _judge_classes(self, step: StepView, tensor: TensorView) -> Findings:
        counts = np.asarray(tensor.value(), np.float64)
        batches = _batches(step, tensor.worker)
        if len(counts) < 3 or not 0 < counts.sum() <= _samples(batches):
            return
        key = tensor.worker, tensor.name
        recent = self._counts.setdefault(key, deque(maxlen=self.looks))
        recent.append(counts)
        seen = self._seen[key] = self._seen.get(key, 0) + counts
        if len(recent) < self.looks:
            return
        table = np.array(recent)
        classes = np.flatnonzero(seen)
        depends = dependence(table)
        if len(classes) == 1:
            text = f"all {number(seen.sum())} labels so far are of class {classes[0]}"
            text += f", of {len(counts)} classes"
            yield self._finding(step, tensor, "one_class", text, (1.0, 2.0))
        elif depends > self.depends and len(classes) > 2:
            text = (
                f"a step holds {number(float((table > 0).sum(1).mean()))} of {len(classes)}"
                f" classes, and others than the step before: classes depend on the step by"
                f" {number(depends)} (> {number(self.depends)}; 0 if shuffled, 1 if sorted)"
            )
            yield self._finding(step, tensor, "class_by_class", text, (depends, self.depends))

    def _finding(
        self,
        step: StepView,
        tensor: TensorView,
        condition: str,
        message: str,
        measured: tuple[float, float],
    ) -> Finding:
        return Finding(
            self.name,
            step.number,
            tensor.name,
            f"{tensor.name}: at {self.looks} looks up to step {step.number} {message}",
            worker=tensor.worker,
            value=measured[0],
            threshold=measured[1],
            condition=condition,
            remedy="shuffle the data: DataLoader(..., shuffle=True)"
            if condition == "class_by_class"
            else "look at the labels after all conversions: something makes them all the same",
        )


def _batches(step: StepView, worker: str) -> list[TensorView]:
    return [tensor for tensor in step.tensors("batches") if tensor.worker == worker]


def _samples(batches: list[TensorView]) -> int:
    """Return how many samples models were called with, counting those of several inputs once."""
    calls: dict[str, int] = {}
    for batch in batches:
        if batch.info.shape:
            call = batch.name.rpartition("/")[0]
            calls[call] = max(calls.get(call, 0), batch.info.shape[0])
    return sum(calls.values())
