"""The first step, and the first tensor, at which two runs part.

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

from .blocks import EVERYTHING, GLANCE, Block, Blocks, Bools, Ints
from .bounds import Band, Bound, OfKind
from .two_runs import TwoRuns

_CURVE_POINTS = 12
#: What is found at a pair of steps: which pair, its block and its rows there.
_Seen = tuple[int, Block, Ints]


@dataclass(frozen=True, slots=True)
class Parted:
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


class Search:
    """Finds where two runs part.

    Args:
        runs: The two.
    """

    def __init__(self, runs: TwoRuns) -> None:
        self.runs = runs
        self.blocks = Blocks(runs)
        self.of_kind = OfKind(list(runs.tensors.values()))
        self._names = list(runs.tensors)

    def parted(self) -> Parted | None:
        """Return where they part; ``None`` if nothing that both have differs at any step."""
        followed, high = self._at_end()
        watched = followed
        while watched:
            equal, high = self._bisect(watched, high)
            found = self._scan(max(equal, 0), high)
            if found is None or found.index > equal:
                return found and replace(found, followed=followed)
            watched, high = found.followed, found.index
        return self._scan(0, len(self.runs) - 1)

    def beyond(self, parted: Parted, bound: Bound) -> Parted | None:
        """Return from where on they are farther apart than a bound; ``None`` if they never are.

        Everything is compared at the step at which they part. Of later steps, ever farther away,
        it is the tensor that is followed, and a loss; and everything again where these pass it.
        """

        def passed(block: Block) -> Bools:
            return bound.beyond(block, parted.index)

        near, last, age = parted.index, len(self.runs) - 1, 1
        found = self._scan(near, near, passed)
        followed = self._judged(parted)
        while found is None and near < last:
            far = min(parted.index + age, last)
            seen = self._last_seen(followed, far, parted.index)
            if seen and passed(seen[1])[seen[2]].any():
                near, far = self._narrow(followed, (near, seen[0]), passed)
                found = self._scan(near, far, passed)
                break
            near, age = far, 2 * age
        return found and replace(found, followed=parted.followed)

    def band(self, parted: Parted | None) -> Band:
        """Return how far these runs, which are equal but for noise, are apart after they part."""
        names = self.of_kind.names
        left = len(self.runs) - 1 - parted.index if parted else 0
        doubling = [2**power for power in range(left.bit_length()) if 2**power < left]
        ages = np.unique(np.array([0, *doubling, left], np.int64))
        largest = np.zeros((len(ages), len(names)))
        for place, at in enumerate((ages + parted.index).tolist() if parted else ()):
            block = self.blocks.around(at, None, EVERYTHING)
            rows = np.flatnonzero(block.at == at)
            relative = self.of_kind.relative(block)[rows]
            np.maximum.at(largest[place], self.of_kind.kinds(block)[rows], relative)
        running = np.maximum.accumulate(largest, axis=0)
        return Band(ages, dict(zip(names, running.T, strict=True)))

    def curve(self, parted: Parted) -> tuple[list[int], list[float]]:
        """Return how far the tensor that is followed is apart at some steps, from where they part.

        Returns:
            Places of pairs of steps, ascending, and relative differences there.
        """
        left = len(self.runs) - 1 - parted.index
        followed = frozenset([parted.followed])
        ages = {0, *np.geomspace(1, left, _CURVE_POINTS).astype(int).tolist()} if left else {0}
        ages |= set(np.linspace(0, left, _CURVE_POINTS).astype(int).tolist())
        found: dict[int, float] = {}
        for age in sorted(ages):
            seen = self._last_seen(followed, parted.index + age, parted.index - 1)
            if seen:
                at, block, rows = seen
                found[at] = float(block.relative()[rows].max())
        return list(found), list(found.values())

    def _at_end(self) -> tuple[str, int]:
        """Return a tensor that differs where it was seen last, and where; ``""`` for none."""
        weights = self.runs.names_of("weights") or None
        columns = GLANCE if weights else EVERYTHING
        seen = self._last_seen(weights, len(self.runs) - 1, -1, columns)
        if seen is None:
            return "", -1
        at, block, rows = seen
        differing = rows[block.differs[rows]]
        if not len(differing):
            return "", -1
        magnitude = block.magnitude()[differing]
        return self._names[block.tensor[differing[int(np.argmax(magnitude))]]], at

    def _bisect(self, watched: str, high: int) -> tuple[int, int]:
        """Return where a tensor was last the same, and where it first differs, if it persists.

        Args:
            watched: Its name.
            high: Where it differs.
        """
        low = equal = -1
        while high - low > 1:
            middle = (low + high) // 2
            seen = self._last_seen(frozenset([watched]), middle, low)
            if seen and seen[1].differs[seen[2]].any():
                high = seen[0]
            else:
                low, equal = middle, seen[0] if seen else equal
        return equal, high

    def _scan(
        self, low: int, high: int, differs: Callable[[Block], Bools] = lambda block: block.differs
    ) -> Parted | None:
        """Compare everything, from one pair of steps to another; return the first that differs."""
        index = low
        while index <= high:
            block = self.blocks.around(index, None, EVERYTHING)
            inside = (block.at >= index) & (block.at <= high)
            rows = np.flatnonzero(inside & differs(block))
            if len(rows):
                at = int(block.at[rows].min())
                rows = self._in_order(block, rows[block.at[rows] == at])
                return Parted(at, block, rows, self._names[block.tensor[rows[0]]])
            index = block.high + 1
        return None

    def _in_order(self, block: Block, rows: Ints) -> Ints:
        """Return rows in the order of execution; the state comes first: the forward used it."""
        state = self.runs.names_of("weights") | self.runs.names_of("buffers")
        names = [self._names[place] for place in block.tensor[rows]]
        later = np.array([name not in state for name in names], bool)
        return rows[np.lexsort((block.worker[rows], block.order[rows], later))]

    def _judged(self, parted: Parted) -> frozenset[str]:
        """Return the names by which later steps are judged."""
        losses = sorted(self.runs.names_of("losses"))[:1]
        return frozenset([parted.followed, *losses])

    def _last_seen(
        self,
        tensors: frozenset[str] | None,
        index: int,
        above: int,
        columns: tuple[str, ...] = GLANCE,
    ) -> _Seen | None:
        """Return the last pair of steps up to ``index`` at which one of some tensors is there.

        Args:
            tensors: Names; ``None`` for all.
            index: The last one to look at.
            above: The last one not to look at.
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

    def _narrow(
        self, followed: frozenset[str], between: tuple[int, int], passed: Callable[[Block], Bools]
    ) -> tuple[int, int]:
        """Return neighbours of which only the later one passes a bound, within two such."""
        low, high = between
        while high - low > 1:
            middle = (low + high) // 2
            seen = self._last_seen(followed, middle, low)
            if seen and passed(seen[1])[seen[2]].any():
                high = seen[0]
            else:
                low = middle
        return low, high
