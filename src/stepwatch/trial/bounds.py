"""How far apart two runs may be and still be taken for the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..statistics import ABS_MIN, COUNT, MAX, MIN, SUM, SUM_ABS, SUM_SQ, ZEROS, Row
from .blocks import Block, Bools, Ints, known_distance
from .comparison import MOST, field_scale

#: How many roundings of each element are taken for nothing.
ROUNDINGS = 8
#: How much farther than two equal runs two others may be apart.
MARGIN = 4.0


class Bound(Protocol):
    """Says which rows are farther apart than may be."""

    def beyond(self, block: Block, start: int) -> Bools:
        """Return which rows are beyond it, shape ``[rows]``.

        Args:
            block: What two runs saw.
            start: The pair of steps at which they part.
        """


def rounding_bound(block: Block) -> Row:
    """Return the relative difference of each row that rounding explains, shape ``[rows]``.

    The errors of n operations that round grow as the square root of n (Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd edition 2002, section 2.8): ``ROUNDINGS · ε · √n``, n
    the number of elements; never more than a hundredth. 0 for integers.
    """
    count = np.maximum(np.nan_to_num(block.here[:, COUNT]), 1)
    bound: Row = np.minimum(ROUNDINGS * block.epsilon * np.sqrt(count), MOST)
    return bound


class OfKind:
    """Differences as fractions of the largest tensor of the same kind in the step.

    A gradient that is nothing but rounding, such as that of a bias before a batch normalization,
    differs from run to run by all that it is. Beside the other gradients that is nothing.

    Args:
        kinds: The collection of each tensor, in the order of ``TwoRuns.tensors``.
    """

    def __init__(self, kinds: list[str]) -> None:
        self.names = sorted(set(kinds))
        self._kinds = np.array([self.names.index(kind) for kind in kinds], np.int64)

    def kinds(self, block: Block) -> Ints:
        """Return the kind of each row, as its place in ``names``."""
        return self._kinds[block.tensor]

    def relative(self, block: Block) -> Row:
        """Return the difference of each row, shape ``[rows]``; at most ``block.relative()``."""
        relative, magnitude = block.relative(), block.magnitude()
        group = (block.at - block.low) * len(self.names) + self.kinds(block)
        largest = np.zeros(int(group.max(initial=-1)) + 1)
        np.maximum.at(largest, group, magnitude)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(largest[group] > 0, magnitude / largest[group], 1.0)
            return np.where(np.isinf(relative), np.inf, relative * share)


@dataclass(frozen=True, slots=True)
class Rounding:
    """What rounding explains; see ``rounding_bound``.

    Args:
        of_kind: Measures the differences.
    """

    of_kind: OfKind

    def beyond(self, block: Block, start: int) -> Bools:
        """Return which rows rounding does not explain."""
        del start
        return self.of_kind.relative(block) > rounding_bound(block)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Statistics that may differ by so much.

    Args:
        rtol: As a fraction: sums of the sum of magnitudes, extremes of the largest magnitude.
        atol: And by so much for each element.
    """

    rtol: float
    atol: float = 0.0

    def beyond(self, block: Block, start: int) -> Bools:
        """Return which rows differ by more."""
        del start
        scale = np.fmax(field_scale(block.here), field_scale(block.there))
        allowed = self.rtol * np.nan_to_num(scale) + self.atol * _change(block.here)
        allowed[:, ZEROS] = np.inf  # as for ``Block.relative``
        apart = (known_distance(block.here, block.there) > allowed).any(axis=1)
        return block.differs & (apart | block.elsewhere)


def _change(rows: Row) -> Row:
    """Return by how much each field changes if every element does by one, to first order."""
    change = np.zeros_like(rows)
    change[:, [MIN, MAX, ABS_MIN]] = 1.0
    change[:, [SUM, SUM_ABS]] = np.nan_to_num(rows[:, [COUNT]])
    change[:, SUM_SQ] = 2 * np.nan_to_num(rows[:, SUM_ABS])
    return change


@dataclass(frozen=True, slots=True)
class Band:
    """How far two equal runs are apart, by the number of steps since they parted.

    Args:
        ages: Numbers of steps since, ascending from 0, shape ``[n]``, int64.
        largest: The largest difference so far of each collection, shape ``[n]``, float64.
    """

    ages: Ints
    largest: dict[str, Row]


@dataclass(frozen=True, slots=True)
class Noise:
    """What runs that are equal but for noise differ by.

    Args:
        of_kind: Measures the differences.
        band: How far such runs are apart.
    """

    of_kind: OfKind
    band: Band

    def beyond(self, block: Block, start: int) -> Bools:
        """Return which rows are much farther apart than those of equal runs, and than rounding."""
        ages = self.band.ages
        none = np.zeros(len(ages))
        largest = np.stack([self.band.largest.get(kind, none) for kind in self.of_kind.names])
        age = np.minimum(np.searchsorted(ages, block.at - start), len(ages) - 1)
        allowed = MARGIN * largest[self.of_kind.kinds(block), age]
        return self.of_kind.relative(block) > np.maximum(allowed, rounding_bound(block))
