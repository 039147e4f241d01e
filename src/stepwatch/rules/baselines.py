"""What can be told of samples without a model, which a model should do better than."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ..judge.step_view import StepNumber, StepView
from .shared import prefixed

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
    """

    at: StepNumber
    worker: str
    number: float
    off: float
    nearest: float
    guessing: float

    @property
    def are_classes(self) -> bool:
        """Whether labels are classes."""
        return math.isnan(self.guessing)

    def is_worse(self) -> bool:
        """Return whether the model is worse than the labels of the nearest samples."""
        if self.number < LEAST_COMPARED:
            return False
        if not self.are_classes:
            return self.off > max(TIMES_AS_LARGE * self.nearest, PART_OF_GUESSING * self.guessing)
        wrong, nearest = self.off / self.number, self.nearest / self.number
        variance = wrong * (1 - wrong) + nearest * (1 - nearest)
        return wrong - nearest > max(MORE_WRONG, ERRORS_APART * math.sqrt(variance / self.number))


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
                names = [f"evaluation/{one}{kind}/{loss}" for one in ("", "nearest_", "mean_")]
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
                sums = (
                    sum(getattr(one, name) for one in late)
                    for name in ("number", "off", "nearest", "guessing")
                )
                together = Compared(late[-1].at, late[-1].worker, *sums)
                if together.is_worse():
                    yield loss, together
