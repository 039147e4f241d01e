"""What a model should do better than: its neighbours, itself untrained, itself on other data."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..judge.step_view import StepNumber, StepView
from .shared import of_same_loss, prefixed

_COMPARED = "evaluation/compared/"
#: Of fewer evaluated samples nothing is said.
LEAST_COMPARED = 32
#: A model is worse than the labels of the nearest samples if it is wrong for this share of samples
#: more, and so many standard errors more; or if its mean square is so many times as large, and more
#: than this part of what guessing the mean costs.
MORE_WRONG, ERRORS_APART, TIMES_AS_LARGE, PART_OF_GUESSING = 0.1, 3.0, 2.0, 0.2


@dataclass(slots=True)
class Compared:
    """Evaluated samples: how far predictions are off, and the labels of the nearest trained ones.

    Args:
        at: The last step that they are of,
        worker: and who evaluated them.
        number: How many.
        off: So many predictions are wrong; or the sum of squares of what they are off by.
        nearest: The same of the labels of the nearest samples of the training.
        guessing: And of the mean of these labels; nan where the first is counted.
        balanced: Of classes, how many are wrong if each had as many samples of the training,
        nearest_balanced: and of the labels of the nearest samples.
    """

    at: StepNumber
    worker: str
    number: float
    off: float
    nearest: float
    guessing: float
    balanced: float = math.nan
    nearest_balanced: float = math.nan

    @property
    def are_classes(self) -> bool:
        """Whether labels are classes."""
        return math.isnan(self.guessing)

    def is_worse(self) -> bool:
        """Return whether the model is worse than the labels of the nearest samples.

        One that is trained to find rare classes is wrong more often, and of these less.
        """
        if self.number < LEAST_COMPARED:
            return False
        if not self.are_classes:
            return self.off > max(TIMES_AS_LARGE * self.nearest, PART_OF_GUESSING * self.guessing)
        if self.balanced <= self.nearest_balanced:
            return False
        wrong, nearest = self.off / self.number, self.nearest / self.number
        variance = wrong * (1 - wrong) + nearest * (1 - nearest)
        return wrong - nearest > max(MORE_WRONG, ERRORS_APART * math.sqrt(variance / self.number))


_SUMMED = ("number", "off", "nearest", "guessing", "balanced", "nearest_balanced")


class NearestLabels:
    """Collects such samples, of the evaluations in the second half of a training."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[Compared]] = defaultdict(list)

    def add(self, step: StepView) -> None:
        """Add what was compared in a step of an evaluation."""
        for group in prefixed(step, "evaluations", _COMPARED):
            for tensor in group:
                loss, worker = tensor.name.removeprefix(_COMPARED), tensor.worker
                are_classes = step.tensor(f"evaluation/wrong/{loss}", worker) is not None
                kind = "wrong" if are_classes else "squares"
                kinds = [f"{one}{kind}" for one in ("", "nearest_", "mean_")]
                kinds += ["balanced_wrong", "nearest_balanced_wrong"]
                names = [f"evaluation/{one}/{loss}" for one in kinds]
                known = step.scalars(names, worker)
                self._found[loss].append(Compared(step.at, worker, tensor.scalar, *known))

    def worse(self, last: int) -> Iterator[tuple[str, Compared]]:
        """Yield the losses of which a model is worse than that.

        Args:
            last: The last TRAIN step.
        """
        for loss, found in self._found.items():
            late = [one for one in found if 2 * one.at.train_step >= last]
            if late:
                sums = (sum(getattr(one, name) for one in late) for name in _SUMMED)
                together = Compared(late[-1].at, late[-1].worker, *sums)
                if together.is_worse():
                    yield loss, together


#: So many TRAIN steps tell what is lost by an untrained model. What is above this many times it was
#: never learned, and what is below this part of it was.
_FIRST_STEPS, UNLEARNED, LEARNED_OF_FIRST = 5, 1.2, 0.5


@dataclass(slots=True)
class Pass:
    """An evaluation.

    Args:
        at: Its last step,
        worker: and who evaluated.
        number: Which it is since the last TRAIN step, from 1 on.
        losses: The loss of each step.
        num_labels: So many labels its steps had that were observed in full.
    """

    at: StepNumber
    worker: str
    number: int
    losses: list[float] = field(default_factory=list)
    num_labels: int = 0

    @property
    def loss(self) -> float:
        """The mean loss."""
        return statistics.fmean(self.losses)


class OtherData:
    """Evaluations of several data by the same weights, of which one is well and another is not."""

    def __init__(self) -> None:
        self._first: defaultdict[str, list[float]] = defaultdict(list)
        self._passes: defaultdict[str, list[Pass]] = defaultdict(list)

    def train(self, step: StepView) -> None:
        """Note what is lost at first."""
        for loss in step.tensors("losses"):
            first = self._first[loss.name]
            if len(first) < _FIRST_STEPS:
                first.append(loss.scalar)

    def add(self, step: StepView) -> None:
        """Add a step of an evaluation."""
        for loss in step.tensors("losses"):
            number = step.scalar("evaluation/number", loss.worker)
            if not math.isnan(number):
                self._passes[loss.name].append(Pass(step.at, loss.worker, int(number)))
            passes = self._passes.get(loss.name)
            if passes is None or passes[-1].worker != loss.worker:
                continue
            last = passes[-1]
            last.at = step.at
            last.losses.append(loss.scalar)
            label = of_same_loss(step, loss, "label")
            if label is not None and label.info.shape:
                last.num_labels += label.info.shape[0]

    def apart(self) -> Iterator[tuple[str, Pass, Pass, float]]:
        """Yield losses of which the last weights do well on some data, and never did on others.

        Returns:
            Of each its name, the evaluation that went well, the other, and the loss at first.
        """
        for name, passes in self._passes.items():
            first = statistics.median(self._first[name] or [math.nan])
            by_number: defaultdict[int, list[Pass]] = defaultdict(list)
            for one in passes:
                by_number[one.number].append(one)
            last = [one for one in passes if one.at.train_step == passes[-1].at.train_step]
            best = min(last, key=lambda one: one.loss)
            worst = max(last, key=lambda one: one.loss)
            least = min(one.loss for one in by_number[worst.number])
            is_learned = best.loss < LEARNED_OF_FIRST * first
            if is_learned and least > UNLEARNED * first and worst.num_labels >= LEAST_COMPARED:
                yield name, best, worst, first
