"""How far apart logits are, and the least cross-entropy that this allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..judge.step_view import StepNumber

#: Logits that are farther apart than cosines tell classes, as do those of fewer classes.
MOST_APART, LEAST_CLASSES = 2.1, 11
#: Looks before they are judged, and TRAIN steps from the first to the last of these.
_LOOKS, _STEPS = 8, 200
#: A range that grew by less since half of the steps is full, and so is what it gained of the loss.
_GROWS, _GAINS = 1.05, 1.15
#: The loss has fallen by this part of what the range allows, and by so many times what right
#: probabilities within the range could.
_USED, _SURE = 0.25, 1.5


def least_cross_entropy(apart: float, num_classes: int) -> float:
    """Return the least cross-entropy of logits that are at most so far apart.

    Example:
        >>> f"{least_cross_entropy(0.2, 100):.3f}", f"{least_cross_entropy(20, 100):.3f}"
        ('4.407', '0.000')
    """
    return math.log1p((num_classes - 1) * math.exp(-apart))


def most_by_right_probabilities(apart: float) -> float:
    """Return what probabilities that are right can take from the loss of a guess, in nats.

    Where labels are as likely as logits say, the cross-entropy is the entropy, and that of logits
    within a range is near that of a guess. It is below only where a model would say more.

    Example:
        >>> f"{most_by_right_probabilities(0.2):.4f}"
        '0.0050'
    """
    if not apart > 0:
        return 0.0
    ratio = apart / -math.expm1(-apart)
    return ratio - 1 - math.log(ratio)


@dataclass(frozen=True, slots=True)
class _Look:
    mode_step: int
    least: float
    largest: float
    loss: float
    num_classes: int

    @property
    def apart(self) -> float:
        return self.largest - self.least

    @property
    def gain(self) -> float:
        return math.log(self.num_classes) - self.loss


class LogitRange:
    """The range of the logits of a cross-entropy over many looks.

    Args:
        began: The first look.
        is_known: Whether the loss is a cross-entropy of logits; else its value must show it.
    """

    def __init__(self, began: StepNumber, *, is_known: bool) -> None:
        self.began = began
        self.least = self.largest = 0.0
        self.num_classes = 0
        self._is_known = is_known
        self._looks: list[_Look] = []
        self._is_wide = False

    @property
    def least_loss(self) -> float:
        """The least cross-entropy that the range allows."""
        return least_cross_entropy(self.largest - self.least, self.num_classes)

    def add(
        self, mode_step: int, least: float, largest: float, num_classes: int, loss: float
    ) -> bool:
        """Add a look; return whether the logits fill a range that is too small for the classes.

        Args:
            mode_step: The TRAIN step.
            least: The least logit of all samples,
            largest: and the largest.
            num_classes: How many each sample has.
            loss: The loss of that step.
        """
        if self._is_wide or num_classes < LEAST_CLASSES:
            return False
        guess, apart = math.log(num_classes), largest - least
        is_near = abs(loss - guess) <= 1.02 * apart + 0.01
        if not apart <= MOST_APART or not (self._is_known or (is_near and apart <= 1)):
            self._is_wide = True
            return False
        if 2 * least_cross_entropy(apart, num_classes) < guess:
            return False
        self._looks.append(_Look(mode_step, least, largest, loss, num_classes))
        return self._is_full()

    def _is_full(self) -> bool:
        first, last = self._looks[0], self._looks[-1]
        steps = last.mode_step - first.mode_step
        if len(self._looks) < _LOOKS or steps < _STEPS:
            return False
        before = [one for one in self._looks if one.mode_step <= first.mode_step + steps / 2]
        apart = max(one.apart for one in self._looks)
        grows = apart > _GROWS * max(one.apart for one in before)
        if grows or last.gain > _GAINS * before[-1].gain:
            return False
        self.least = min(one.least for one in self._looks)
        self.largest = max(one.largest for one in self._looks)
        self.num_classes = last.num_classes
        possible = math.log(self.num_classes) - self.least_loss
        needed = max(_USED * possible, _SURE * most_by_right_probabilities(apart))
        return last.gain >= needed
