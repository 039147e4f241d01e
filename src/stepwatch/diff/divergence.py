"""The first step and tensor at which two runs part, and how far apart they may be all the same.

Training carries every difference on: once weights differ they go on to differ. So a tensor that
differs at the end is looked at halfway, and so on, and few parts are read. That is trusted only
for where to look. The step that is found, the one before it, and all between them at which the
tensor was not saved are compared in everything; where the step before differs in anything, the
search goes on below it with what differs there. Where no weight differs at the end, nothing is
carried on and every step is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..numerics.statistics import ABS_MIN, COUNT, MAX, MIN, SUM, SUM_ABS, SUM_SQ, ZEROS, Row
from .align import EVERYTHING, SUMMARY, Block, Blocks, Bools, Ints, TwoRuns, known_distance
from .comparison import MOST, field_scale

_CURVE_POINTS = 12
#: What is found at a pair of steps: which pair, its block and its rows there.
_DifferingRows = tuple[int, Block, Ints]


#: How many roundings of each element are taken for nothing.
ROUNDINGS = 8
#: How much farther than two equal runs two others may be apart.
MARGIN = 4.0


#: Which rows of two runs are farther apart than may be, shape ``[rows]``: called with the rows and
#: the pair of steps at which the runs part.
Bound = Callable[[Block, int], Bools]


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
        """Return the kind of each row, as its index in ``names``."""
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


def beyond_rounding(of_kind: OfKind) -> Bound:
    """Return the bound that rounding explains; see ``rounding_bound``."""
    return lambda block, _: of_kind.relative(block) > rounding_bound(block)


def beyond_tolerance(rtol: float, atol: float = 0.0) -> Bound:
    """Return the bound of statistics that may differ by so much.

    Args:
        rtol: As a fraction: sums of the sum of magnitudes, extremes of the largest magnitude.
        atol: And by so much for each element.
    """

    def bound(block: Block, _: int) -> Bools:
        scale = np.fmax(field_scale(block.here), field_scale(block.there))
        allowed = rtol * np.nan_to_num(scale) + atol * _change(block.here)
        allowed[:, ZEROS] = np.inf  # as for ``Block.relative``
        apart = (known_distance(block.here, block.there) > allowed).any(axis=1)
        return block.differs & (apart | block.elsewhere)

    return bound


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


def beyond_noise(of_kind: OfKind, band: Band) -> Bound:
    """Return the bound of runs that are equal but for noise, and of rounding.

    Args:
        of_kind: Measures the differences.
        band: How far equal runs are apart; others may be ``MARGIN`` times farther.
    """
    none = np.zeros(len(band.ages))
    largest = np.stack([band.largest.get(kind, none) for kind in of_kind.names])

    def bound(block: Block, start: int) -> Bools:
        age = np.minimum(np.searchsorted(band.ages, block.at - start), len(band.ages) - 1)
        allowed = MARGIN * largest[of_kind.kinds(block), age]
        return of_kind.relative(block) > np.maximum(allowed, rounding_bound(block))

    return bound


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs part, or where they are farther apart than may be.

    Args:
        index: The first pair of steps that is not the same. Where they part, the one before it is
            the same in everything that both have.
        block: What holds it.
        rows: The rows that differ there, or by more, in the order of execution, weights first.
        followed: The tensor by which it was found, and by which later steps are judged.
    """

    index: int
    block: Block
    rows: Ints
    followed: str


def _differs(block: Block) -> Bools:
    return block.differs


class Search:
    """Finds where two runs part."""

    def __init__(self, runs: TwoRuns) -> None:
        self.runs = runs
        self.blocks = Blocks(runs)
        self.of_kind = OfKind(list(runs.tensors.values()))
        self._names = list(runs.tensors)

    def first_divergence(self) -> Divergence | None:
        """Return where they part; ``None`` if nothing that both have differs at any step."""
        followed, high = self._at_end()
        watched = followed
        while watched:
            _, equal, high = self._bisect(frozenset([watched]), -1, high, _differs)
            found = self._scan(max(equal, 0), high)
            if found is None or found.index > equal:
                return found and replace(found, followed=followed)
            watched, high = found.followed, found.index
        return self._scan(0, len(self.runs) - 1)

    def beyond(self, divergence: Divergence, bound: Bound) -> Divergence | None:
        """Return from where on they are farther apart than a bound; ``None`` if they never are.

        Everything is compared at the step at which they part. Of later steps, ever farther away,
        it is the tensor that is followed, and a loss; and everything again where these pass it.
        """

        def passed(block: Block) -> Bools:
            return bound(block, divergence.index)

        near, last, age = divergence.index, len(self.runs) - 1, 1
        found = self._scan(near, near, passed)
        followed = frozenset([divergence.followed, *sorted(self.runs.names_of("losses"))[:1]])
        while found is None and near < last:
            far = min(divergence.index + age, last)
            latest = self._latest(followed, far, divergence.index)
            if latest and passed(latest[1])[latest[2]].any():
                near, _, far = self._bisect(followed, near, latest[0], passed)
                found = self._scan(near, far, passed)
                break
            near, age = far, 2 * age
        return found and replace(found, followed=divergence.followed)

    def band(self, divergence: Divergence | None) -> Band:
        """Return how far these runs, which are equal but for noise, are apart after they part."""
        names = self.of_kind.names
        left = len(self.runs) - 1 - divergence.index if divergence else 0
        doubling = [2**power for power in range(left.bit_length()) if 2**power < left]
        ages = np.unique(np.array([0, *doubling, left], np.int64))
        largest = np.zeros((len(ages), len(names)))
        for index, at in enumerate((ages + divergence.index).tolist() if divergence else ()):
            block = self.blocks.around(at, None, EVERYTHING)
            rows = np.flatnonzero(block.at == at)
            relative = self.of_kind.relative(block)[rows]
            np.maximum.at(largest[index], self.of_kind.kinds(block)[rows], relative)
        running = np.maximum.accumulate(largest, axis=0)
        return Band(ages, dict(zip(names, running.T, strict=True)))

    def curve(self, divergence: Divergence) -> tuple[list[int], list[float]]:
        """Return how far the tensor that is followed is apart at some steps, from where they part.

        Returns:
            Places of pairs of steps, ascending, and relative differences there.
        """
        left = len(self.runs) - 1 - divergence.index
        followed = frozenset([divergence.followed])
        ages = {0, *np.geomspace(1, left, _CURVE_POINTS).astype(int).tolist()} if left else {0}
        ages |= set(np.linspace(0, left, _CURVE_POINTS).astype(int).tolist())
        found: dict[int, float] = {}
        for age in sorted(ages):
            latest = self._latest(followed, divergence.index + age, divergence.index - 1)
            if latest:
                at, block, rows = latest
                found[at] = float(block.relative()[rows].max())
        return list(found), list(found.values())

    def _at_end(self) -> tuple[str, int]:
        """Return a tensor that differs where it was seen last, and where; ``""`` for none."""
        weights = self.runs.names_of("weights") or None
        columns = SUMMARY if weights else EVERYTHING
        latest = self._latest(weights, len(self.runs) - 1, -1, columns)
        if latest is None:
            return "", -1
        at, block, rows = latest
        differing = rows[block.differs[rows]]
        if not len(differing):
            return "", -1
        magnitude = block.magnitude()[differing]
        return self._names[block.tensor[differing[int(np.argmax(magnitude))]]], at

    def _bisect(
        self, followed: frozenset[str], low: int, high: int, differs: Callable[[Block], Bools]
    ) -> tuple[int, int, int]:
        """Return where a difference that persists begins, between a pair of steps and a later one.

        Returns:
            Two neighbours, of which only the later one has it, the earlier of these first; between
            them, where the tensors were last there without it.
        """
        equal = low
        while high - low > 1:
            middle = (low + high) // 2
            latest = self._latest(followed, middle, low)
            if latest and differs(latest[1])[latest[2]].any():
                high = latest[0]
            else:
                low, equal = middle, latest[0] if latest else equal
        return low, equal, high

    def _scan(
        self, low: int, high: int, differs: Callable[[Block], Bools] = _differs
    ) -> Divergence | None:
        """Compare everything, from one pair of steps to another; return the first that differs."""
        index = low
        while index <= high:
            block = self.blocks.around(index, None, EVERYTHING)
            inside = (block.at >= index) & (block.at <= high)
            rows = np.flatnonzero(inside & differs(block))
            if len(rows):
                at = int(block.at[rows].min())
                rows = self._in_order(block, rows[block.at[rows] == at])
                return Divergence(at, block, rows, self._names[block.tensor[rows[0]]])
            index = block.high + 1
        return None

    def _in_order(self, block: Block, rows: Ints) -> Ints:
        """Return rows in the order of execution; the state comes first: the forward used it."""
        state = self.runs.names_of("weights") | self.runs.names_of("buffers")
        names = [self._names[index] for index in block.tensor[rows]]
        later = np.array([name not in state for name in names], bool)
        return rows[np.lexsort((block.worker[rows], block.order[rows], later))]

    def _latest(
        self,
        tensors: frozenset[str] | None,
        index: int,
        above: int,
        columns: tuple[str, ...] = SUMMARY,
    ) -> _DifferingRows | None:
        """Return the last pair of steps up to ``index`` at which one of some tensors is there.

        Args:
            tensors: Names; ``None`` for all.
            index: The last one to read.
            above: The last one not to read.
            columns: What to read.
        """
        while index > above:
            block = self.blocks.around(index, tensors, columns)
            rows = np.flatnonzero((block.at <= index) & (block.at > above))
            if len(rows):
                at = int(block.at[rows].max())
                return at, block, rows[block.at[rows] == at]
            index = block.low - 1
        return None
