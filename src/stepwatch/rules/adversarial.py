"""Two networks that are trained against each other, of which one has won."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from ..statistics import MAX, MIN
from .checks import number
from .rule import Findings, NothingToJudge, Rule
from .scope import above, at_least
from .step_view import StepView

#: A window is judged at every so many TRAIN steps.
EVERY = 10
# On real samples, on made ones, and the generator's.
_LOSSES, _EXACT = 3, 1e-6
_BINARY = re.compile("binary_cross_entropy|BCE")


class GanCollapse(Rule):
    """A discriminator that tells all samples apart, so that the generator learns nothing.

    Three losses of two classes whose labels are all the same belong to such a game: on real
    samples, on made ones, and that of the generator, which wants its samples called real. The
    generator's is the largest of those that want to be called real. The discriminator has won
    where, by the medians over ``window`` TRAIN steps, the others are together below
    ``max_discriminator`` and the generator's is above ``min_generator`` and does not fall: the
    gradient that reaches the generator tells it nothing (Arjovsky and Bottou: Towards principled
    methods for training generative adversarial networks, 2017).

    Args:
        max_discriminator: Nats. Above 0.
        min_generator: Nats; a discriminator that guesses gives it 0.69. Above 0.
        window: TRAIN steps.
    """

    name = "gan_collapse"
    needs = ("losses",)
    per_model = True

    def __init__(
        self, max_discriminator: float = 0.05, min_generator: float = 5.0, window: int = 100
    ) -> None:
        above("max_discriminator", max_discriminator, 0)
        above("min_generator", min_generator, 0)
        at_least("window", window, 2)
        self.max_discriminator, self.min_generator = max_discriminator, min_generator
        self.window = window
        self._games: dict[str, deque[tuple[float, float]]] = {}

    def check(self, step: StepView) -> Findings:
        for worker in step.workers if step.trains else ():
            losses = _losses(step, worker)
            if losses is None:
                continue
            game = self._games.setdefault(worker, deque(maxlen=self.window))
            game.append(losses)
            if len(game) < self.window or step.mode_step % EVERY:
                continue
            seen = np.array(game)
            generator, others = np.median(seen, axis=0).tolist()
            before, now = (np.median(half[:, 0]) for half in np.array_split(seen, 2))
            won = others < self.max_discriminator and generator > self.min_generator
            if won and now >= before:
                yield self._finding(step, worker, generator, others)

    def unevaluated(self) -> str | None:
        if self._games:
            return None
        return NothingToJudge("no losses of a discriminator and a generator were seen in one step")

    def _finding(self, step: StepView, worker: str, generator: float, others: float) -> Finding:
        return Finding(
            self.name,
            step.number,
            "",
            f"the discriminator tells all samples apart, over {self.window} TRAIN steps up to step"
            f" {step.number}: its losses are {number(others)} together and that of the"
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


def _on_one_line(step: StepView, worker: str) -> Iterator[tuple[float, float]]:
    """Yield the same where one line computes all three: they are one tensor of three elements."""
    for loss in step.tensors("losses"):
        if loss.worker != worker or not _BINARY.search(loss.name):
            continue
        label = step.tensor(f"label/{loss.name.partition('/')[2]}", worker)
        if label is None or loss.statistics.count != _LOSSES:
            continue
        # No other labels have just this mean at step after step.
        if abs(label.statistics.mean - 2 / _LOSSES) < _EXACT:
            yield loss.statistics.max, loss.statistics.sum - loss.statistics.max


def _of_one_label(step: StepView, worker: str) -> Iterator[tuple[bool, float]]:
    """Yield the losses of two classes whose labels are all alike: whether these are 1, and it."""
    for loss in step.tensors("losses"):
        if loss.worker != worker or not _BINARY.search(loss.name):
            continue
        label = step.tensor(f"label/{loss.name.partition('/')[2]}", worker)
        if label is None:
            continue
        least, most = label.record.statistics[label.row, [MIN, MAX]].tolist()
        if least == most and 0 <= most <= 1:
            yield most > 0.5, loss.scalar
