"""The rule on a game of two networks that one of them has won."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..judge.declaration import parameter
from ..judge.rule import Findings, NotApplicable, Rule
from ..judge.step_view import StepView, TensorView
from ..model.finding import Finding
from ..numerics.measures import number
from ..numerics.statistics import MAX, MIN
from .history import Series
from .shared import BINARY, of_same_loss

#: A window is judged at every so many TRAIN steps.
EVERY = 10
# On real samples, on made ones, and the generator's.
_LOSSES, _EXACT = 3, 1e-6


class GanCollapse(Rule):
    """A discriminator that tells all samples apart, so that the generator learns nothing.

    Three losses of two classes whose labels are all the same belong to such a game: on real
    samples, on made ones, and that of the generator, which wants its samples called real. The
    generator's is the largest of those that want to be called real. The discriminator has won
    where, by the medians over ``window`` TRAIN steps, the others are together below
    ``max_discriminator`` and the generator's is above ``min_generator`` and does not fall: the
    gradient that reaches the generator has no information (Arjovsky and Bottou: Towards principled
    methods for training generative adversarial networks, 2017).
    """

    name = "gan_collapse"
    needs = ("losses",)
    training_only = True
    per_model = True
    sign = "outcome"

    max_discriminator: float = parameter(0.05, "Nats.", above=0)
    min_generator: float = parameter(
        5.0, "Nats; a discriminator that guesses gives it 0.69.", above=0
    )
    window: int = parameter(100, "TRAIN steps.", at_least=2)

    def begin(self) -> None:
        self._games: Series[str, tuple[float, float]] = Series(self.window)

    def concerns(self, step: StepView) -> bool:
        return any(True for worker in step.workers for _ in _binary(step, worker))

    def check(self, step: StepView) -> Findings:
        for worker in step.workers:
            losses = _losses(step, worker)
            if losses is None:
                continue
            game = self._games.add(worker, losses)
            if len(game) < self.window or step.mode_step % EVERY:
                continue
            history = np.array(game)
            generator, others = np.median(history, axis=0).tolist()
            before, now = (np.median(half[:, 0]) for half in np.array_split(history, 2))
            won = others < self.max_discriminator and generator > self.min_generator
            if won and now >= before:
                yield self._finding(step, worker, generator, others)

    def unevaluated(self) -> str | None:
        if self._games:
            return None
        return NotApplicable("no losses of a discriminator and a generator were seen in one step")

    def _finding(self, step: StepView, worker: str, generator: float, others: float) -> Finding:
        return self.finding(
            step,
            "",
            f"the discriminator tells all samples apart, over {self.window} TRAIN steps up to step"
            f" {step.train_step}: its losses are {number(others)} together and that of the"
            f" generator is {number(generator)}, and does not fall",
            worker=worker,
            value=generator,
            threshold=self.min_generator,
            condition="won",
            remedy="lower the learning rate of the discriminator or raise that of the generator;"
            " soften its labels, or penalize its gradients",
        )


def _losses(step: StepView, worker: str) -> tuple[float, float] | None:
    """Return the loss of the generator, and those of the discriminator together, if there are."""
    found = list(_of_one_label(step, worker))
    real = [loss for is_real, loss in found if is_real]
    made = [loss for is_real, loss in found if not is_real]
    if len(real) >= 2 and made:
        return max(real), sum(real) - max(real) + sum(made)
    return next(_on_one_line(step, worker), None)


def _binary(step: StepView, worker: str) -> Iterator[tuple[TensorView, TensorView]]:
    """Yield the losses of two classes, each with its labels."""
    for loss in step.tensors("losses", worker=worker):
        label = of_same_loss(step, loss, "label")
        if label is not None and loss.info.function in BINARY:
            yield loss, label


def _on_one_line(step: StepView, worker: str) -> Iterator[tuple[float, float]]:
    """Yield the same where one line computes all three: they are one tensor of three elements."""
    for loss, label in _binary(step, worker):
        # No other labels have just this mean at step after step.
        exact = abs(label.statistics.mean - 2 / _LOSSES) < _EXACT
        if exact and loss.statistics.count == _LOSSES:
            yield loss.statistics.max, loss.statistics.sum - loss.statistics.max


def _of_one_label(step: StepView, worker: str) -> Iterator[tuple[bool, float]]:
    """Yield the losses of two classes whose labels are all alike: whether these are 1, and it."""
    for loss, label in _binary(step, worker):
        least, most = label.record.statistics[label.row, [MIN, MAX]].tolist()
        if least == most and 0 <= most <= 1:
            yield most > 0.5, loss.scalar
