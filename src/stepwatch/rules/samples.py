"""Which samples a training and its evaluations were given, told apart by their digests."""

from __future__ import annotations

import math

from ..judge.step_view import StepView
from ..model.steps import Mode
from ..numerics.measures import number
from .shared import prefixed

#: So many batches at least were cut out of the same samples as the one before.
LEAST_SHIFTED = 3
#: More different samples than this are not few.
MOST_DRAWN = 256
#: What to do where the training has few samples, and what it learns does not hold for others.
ALL_DATA = (
    "train on all of the data: look for a slice, a Subset or a count of samples that is left from"
    " trying things out, and for a split whose sides are turned round"
)


# Of how many samples that are evaluated the nearest one is evaluated, too, and of how many.
_NEAREST_OWN, _NEAREST_OF = "evaluation/nearest_own", "evaluation/nearest_of"
#: They are apart from those that are trained on by so many standard deviations more than by chance.
APART = 4.0


class DrawnSamples:
    """Remembers which samples of one input were seen, by their digests.

    Args:
        looks: At so many TRAIN steps in a row, at least, no sample may have been new.
    """

    #: Each sample was seen so often on average, and in most batches several times.
    REPEATED = 4
    #: So many times as many different samples, and so many at least, are evaluated.
    MORE, LEAST = 4, 20
    #: So many rows that are drawn are known all by chance only if there are hardly any others.
    KNOWN_ROWS = 64

    def __init__(self, looks: int = 10) -> None:
        self._needed = looks
        self._since_new = self._repeating = self._known_rows = 0
        # The last batch, at which step, how many were compared with the one before, and how many of
        # these were cut out of the same samples at another place.
        self._last: tuple[int, list[int]] = (-1, [])
        self.num_pairs = self.num_shifted = 0
        self._orders: set[int] = set()
        self.looks = self.num_rows = 0
        self.trained: set[int] = set()
        self.evaluated: set[int] = set()

    def add(self, mode: Mode, digests: list[int], mode_step: int, *, trains: bool) -> None:
        """Add the samples of a step.

        Args:
            mode_step: The number of the step within its mode.
            trains: Whether it belongs to the training.
        """
        if mode is Mode.EVAL and len(self.evaluated) <= self.MORE * MOST_DRAWN:
            self.evaluated.update(digests)
        if not trains or len(self.trained) > MOST_DRAWN:
            return  # these are not few
        found = set(digests)
        at, before = self._last
        self._last = mode_step, digests
        if at + 1 == mode_step and len(before) == len(digests):
            self.num_pairs += 1
            self.num_shifted += _are_shifted(before, digests) or _are_shifted(digests, before)
        self._since_new = 0 if found - self.trained else self._since_new + 1
        if not self._since_new:
            self._known_rows = 0
        if self._known_rows < self.KNOWN_ROWS:  # else the orders would grow with the training
            # The same batch in the same order is one of data that is not shuffled.
            order = hash(tuple(digests))
            if self._since_new and order not in self._orders:
                self._known_rows += len(digests)
            self._orders.add(order)
        self._repeating += 2 * len(found) <= len(digests)
        self.trained |= found
        self.looks += 1
        self.num_rows += len(digests)

    @property
    def are_shifted(self) -> bool:
        """Whether most batches share samples with the one before, at other places in one order.

        Data that are gone through again and again share some as well where they are fewer than two
        batches.
        """
        size = len(self._last[1])
        is_frequent = self.num_shifted > max(LEAST_SHIFTED, self.num_pairs / 2)
        return is_frequent and len(self.trained) > 2 * size

    @property
    def are_few(self) -> bool:
        """Whether batches repeat few samples, with no new one for long, and more are evaluated.

        Data of which there are few, as a table of logic or the states of a small world, are
        evaluated in the same few. Batches that hold each of few samples once are those of a trial
        to learn them by heart.
        """
        count = len(self.trained)
        if self._since_new < self._needed or count > MOST_DRAWN:
            return False
        is_repeated = self.num_rows >= self.REPEATED * count and self._repeating > 0.9 * self.looks
        return is_repeated and len(self.evaluated) >= max(self.LEAST, self.MORE * count)

    def fewer(self) -> str:
        """Return how many samples the training has, if more others are evaluated; else nothing."""
        count, others = len(self.trained), len(self.evaluated - self.trained)
        are_all = self._known_rows >= self.KNOWN_ROWS and count <= MOST_DRAWN
        if not are_all or others <= max(self.LEAST, count):
            return ""
        return (
            f"; the training has {count} different samples, again and again, while {others} others"
            " or more are evaluated"
        )


def _are_shifted(some: list[int], others: list[int]) -> bool:
    """Return whether some samples end with those that the others begin with, four or more."""
    if some == others or others[0] not in some:
        return False
    rest = some[some.index(others[0]) :]
    return len(rest) >= 4 and rest == others[: len(rest)]


class Samples:
    """What is known of the samples of a training and of its evaluations, of whichever input."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[str, str], DrawnSamples] = {}
        # Of how many the nearest one is evaluated, too, and of how many.
        self._nearest: dict[tuple[str, str], tuple[float, float]] = {}

    def add(self, step: StepView) -> None:
        """Add the samples of a step, where they were observed."""
        for tensor in step.tensors("samples"):
            if tensor.name in tensor.record.raw:
                known = self._drawn.setdefault((tensor.worker, tensor.name), DrawnSamples())
                digests = tensor.value().ravel().tolist()
                known.add(step.mode, digests, step.mode_step, trains=step.trains)
        for group in prefixed(step, "evaluations", _NEAREST_OWN):
            for tensor in group:
                of = step.scalar(tensor.name.replace(_NEAREST_OWN, _NEAREST_OF), tensor.worker)
                self._nearest[tensor.worker, tensor.name] = tensor.scalar, of

    def fewer(self) -> str:
        """Return what ``DrawnSamples.fewer`` does of the first input of which it says something."""
        return next(filter(None, (one.fewer() for one in self._drawn.values())), "")

    def apart(self) -> str:
        """Return that samples that are evaluated are unlike the others; empty if they are not."""
        for own, number_of in self._nearest.values():
            share = (number_of - 1) / (2 * number_of - 1)
            by_chance = number_of * share
            if own > by_chance + APART * math.sqrt(by_chance * (1 - share)):
                return (
                    "; samples that are evaluated are like each other, and not like those that are"
                    f" trained on (the nearest is an evaluated one for {number(own)} of"
                    f" {number(number_of)}, {number(by_chance)} by chance), as where ids are of"
                    " another vocabulary, or numbers of another scale or in another order"
                )
        return ""
