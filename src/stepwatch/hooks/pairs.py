"""Which pairs of samples a loss pulls together and which it pushes apart, by how alike they are.

A triplet of anchor, negative and positive, or a pair with the other label, makes a loss that falls
or stays, and a model that puts together what is unlike. What two samples are taken for nobody
knows, but samples of one kind are more alike than any two are. So where what is pushed apart is
clearly more alike than samples that are put together at random, while what is pulled together is
not, the two are the wrong way round, and a model hardly learns to tell them apart. Where negatives
are looked for among what is alike, positives are alike, too; and where numbers of the samples say
nothing of their kind, nothing is said.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from ..numerics.measures import Floats

#: At most so many steps are looked at, so many pairs of each, and so many elements of a sample.
MOST_LOOKS, MOST_PAIRS, _MOST_ELEMENTS = 200, 256, 512
#: So many pairs of each kind, and so many looks, must have been compared.
_LEAST_PAIRS, _LEAST_LOOKS = 300, 5
#: Standard errors that tell two means apart.
_APART = 6.0
#: Of how much more alike pairs are that are pushed apart, pulled ones may have this part.
_ALIKE = 0.25
#: And that must be this part of how far samples are apart at random.
_LEAST_EFFECT = 0.03
#: After so many steps a model that learns has brought what is pulled together nearer than this
#: part of how far apart it has what is pushed apart, in the mean of so many looks.
SETTLED, _NEARER, _LAST_LOOKS = 100, 0.7, 3
#: The steps that settle whether pairs that seem turned from the start are.
SETTLING = range(SETTLED, SETTLED + _LAST_LOOKS)


@dataclass(slots=True)
class _Distances:
    """The sum and the number of some distances."""

    number: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, distances: Floats) -> None:
        self.number += distances.size
        self.total += float(distances.sum())
        self.squares += float((distances**2).sum())

    @property
    def mean(self) -> float:
        return self.total / self.number if self.number else math.nan

    @property
    def variance(self) -> float:
        """Of the mean."""
        return max(self.squares / self.number - self.mean**2, 0.0) / self.number


class Pairs:
    """What is known of the pairs of one model, of all looks."""

    def __init__(self) -> None:
        self._pulled, self._pushed, self._random = (_Distances() for _ in range(3))
        self._num_looks = 0
        # How far apart the model has what is pulled together and what is pushed apart; of this
        # look, and the ratio of both in the last ones.
        self._made = _Distances(), _Distances()
        self._nearer: deque[float] = deque(maxlen=_LAST_LOOKS)

    def add(
        self,
        first: Floats,
        second: Floats,
        is_pulled: npt.NDArray[np.bool_],
        made: Floats,
    ) -> None:
        """Add pairs of samples.

        Args:
            first: Shape ``[pairs, elements]``.
            second: Of the same shape.
            is_pulled: Which pairs are pulled together, and not pushed apart; shape ``[pairs]``.
            made: How far apart the model has them, of the same shape.
        """
        distances = np.linalg.norm(first - second, axis=1)
        if len(first) < 2 or not (np.isfinite(distances) & np.isfinite(made)).all():
            return
        self._pulled.add(distances[is_pulled])
        self._pushed.add(distances[~is_pulled])
        for shift in {1, len(first) // 3, len(first) // 2} - {0}:
            self._random.add(np.linalg.norm(first - np.roll(second, shift, 0), axis=1))
        for one, chosen in zip(self._made, (is_pulled, ~is_pulled), strict=True):
            one.add(made[chosen])

    def step_ends(self) -> None:
        """All pairs of a step were added, if there were any."""
        pulled, pushed = self._made
        if pulled.number and pushed.number:
            self._num_looks += 1
            self._nearer.append(pulled.mean / pushed.mean if pushed.total else 1.0)
            self._made = _Distances(), _Distances()

    @property
    def are_turned(self) -> bool:
        """Whether what is pushed apart is alike, and what is pulled together is not."""
        pulled, pushed, random = self._pulled, self._pushed, self._random
        least = min(pulled.number, pushed.number)
        if self._num_looks < _LEAST_LOOKS or least < _LEAST_PAIRS:
            return False
        alike = random.mean - pushed.mean
        error = math.sqrt(pushed.variance + random.variance)
        are_alike = alike > max(_APART * error, _LEAST_EFFECT * random.mean)
        error = math.sqrt(pulled.variance + pushed.variance)
        are_apart = pulled.mean - pushed.mean > _APART * error
        is_nearer = float(np.mean(self._nearer)) < _NEARER
        is_random = random.mean - pulled.mean < _ALIKE * alike
        return are_alike and are_apart and is_random and not is_nearer


def elements(samples: npt.NDArray[np.generic]) -> Floats:
    """Return evenly spaced elements of each sample, shape ``[samples, elements]``."""
    flat = samples.reshape(len(samples), -1)
    return flat[:, :: -(-flat.shape[1] // _MOST_ELEMENTS)].astype(np.float64)


#: The powers of a distance that pulls, and of what is left of the margin that pushes; and by what
#: both are multiplied.
_POWERS, _FACTORS = ((2, 2), (1, 1), (2, 1), (1, 2)), (1.0, 0.5)
#: A margin is one if it is so nearly the same at so many looks; where next to nothing is pushed it
#: is not known.
_SAME, _LEAST_PUSH = 1e-3, 1e-3


class ContrastiveLoss:
    """Which label of pairs a loss pulls together, by its values (Hadsell et al., 2006).

    It is ``mean(y * d**2 + (1 - y) * max(0, margin - d)**2)`` for ``y`` or for ``1 - y``. Of each
    look the margin follows; of the right one it is the same at all.
    """

    def __init__(self) -> None:
        self._margins: dict[tuple[int, tuple[int, int], float], tuple[float, float]] = {}
        self._num_looks = 0

    def add(self, distances: Floats, labels: Floats, loss: float) -> None:
        """Add a look.

        Args:
            distances: That the model predicts, shape ``[pairs]``.
            labels: 0 or 1, of the same shape.
            loss: Of these.
        """
        if self._num_looks >= 2 * _LEAST_LOOKS or not (distances >= 0).all():
            return
        forms = list(self._margins) if self._num_looks else list(_forms())
        found = {form: _margin(distances, labels, loss, form) for form in forms}
        if any(one == math.inf for one in found.values()):
            return
        self._num_looks += 1
        self._margins = {
            form: (min(margin, least), max(margin, most))
            for form, margin in found.items()
            for least, most in [self._margins.get(form, (margin, margin))]
            if max(margin, most) - min(margin, least) <= _SAME * margin
        }

    @property
    def pulled(self) -> int | None:
        """The label of what is pulled together; ``None`` where it is not known."""
        labels = {label for label, _, _ in self._margins}
        return labels.pop() if self._num_looks >= _LEAST_LOOKS and len(labels) == 1 else None


def _forms() -> Iterator[tuple[int, tuple[int, int], float]]:
    yield from product((0, 1), _POWERS, _FACTORS)


def _margin(
    distances: Floats, labels: Floats, loss: float, form: tuple[int, tuple[int, int], float]
) -> float:
    """Return the margin of a loss; nan if it has another form, infinity if nothing is known."""
    label, (pull, push), factor = form
    pulled = np.where(labels == label, distances**pull, 0.0).mean()
    pushed = loss / factor - pulled
    if pushed < -_LEAST_PUSH * pulled:
        return math.nan
    if pushed <= _LEAST_PUSH * loss or not (labels != label).any():
        return math.inf
    others = distances[labels != label]
    least, most = 0.0, 1e4
    for _ in range(60):
        middle = (least + most) / 2
        is_less = (np.maximum(middle - others, 0) ** push).sum() < pushed * len(distances)
        least, most = (middle, most) if is_less else (least, middle)
    return least
