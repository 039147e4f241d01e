"""Reads one statistic of a run step by step, in any order, and goes on as the run does.

Of a large run all steps are many seconds of reading. So reading can be interrupted, and what was
read by then lies evenly over the run: next is always the middle of the longest stretch that was not
read yet. No row is taken twice: of what was read only the rows within that stretch count, whatever
parts were merged meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..steps import Mode
from ..trial import Series, Trial
from ..trial.chunks import Chunks
from ..trial.series import fields_of

# What tells whether elements are finite, and statistics that are numbers of such elements.
_FITNESS = fields_of("finite")
_LATEST = 2**62
#: The first and the last step to look at; ``None`` for all.
Window = tuple[int, int] | None
_COUNTS = ("count", "nan", "posinf", "neginf", "zeros", "finite", "non_finite")


class Rows(NamedTuple):
    """Rows of one worker.

    Args:
        worker: Whose.
        table: Columns ``tensor``, ``mode`` and ``step``, and those of the statistic.
        values: The statistic, shape ``[rows]``, float64; nan where it is not known.
        unfit: Where a nan was among the elements, or none of them was finite; shape ``[rows]``.
    """

    worker: str
    table: pa.Table
    values: npt.NDArray[np.float64]
    unfit: npt.NDArray[np.bool_]


class _Takes(Protocol):
    def __call__(self, rows: Rows, /) -> None: ...


class Reading:
    """What was read of some tensors so far.

    Args:
        trial: The run.
        names: The tensors.
        statistic: Which one.
        take: What is called with rows as they are read; beside several tensors, of others too.
        mode: Only steps of this mode.
        within: Only steps from the first of these to the last; of all by default.
    """

    def __init__(
        self,
        trial: Trial,
        names: frozenset[str],
        statistic: str,
        take: _Takes,
        mode: Mode = Mode.GLOBAL,
        within: Window = None,
    ) -> None:
        self._trial, self._mode = trial, mode
        self._first, self._last = within or (0, _LATEST)
        self.reader = trial.reader
        self._names, self._statistic, self._take = names, statistic, take
        # Many tensors of a part are read sooner as all of them.
        few = len(names) == 1 or 2 * len(names) < len(trial.reader.tensors())
        self._wanted = names if few else None
        fields = dict.fromkeys((*fields_of(statistic), *_FITNESS))
        self._columns = ("step", "mode", "tensor", *fields)
        self._gaps: list[tuple[int, int]] = []  # first and last step of what was not read
        self._reached = self._first - 1

    def go_on(self, until: float | None = None) -> float:
        """Read what was not read yet.

        Args:
            until: When to stop, as ``time.monotonic`` counts; at least a little is read.

        Returns:
            Which share of the steps was read, 1.0 for all.
        """
        steps = self._trial.step_numbers(self._mode)
        last = min(int(steps[-1]), self._last) if len(steps) else -1
        if last > self._reached:
            self._gaps.append((self._reached + 1, last))
            self._reached = last
        if len(self._names) == 1 and 2 * self._num_missing(steps) > len(steps):
            self._read_all()  # of one tensor that is one request for each part, all at once
        chunks = Chunks(self._trial)
        while self._gaps:
            self._read_one(steps, chunks)
            if until is not None and time.monotonic() > until:
                break
        left = self._num_missing(steps)
        return 1.0 - left / _between(steps, (self._first, last)) if left else 1.0

    def _num_missing(self, steps: npt.NDArray[np.int64]) -> int:
        return sum(_between(steps, gap) for gap in self._gaps)

    def _read_all(self) -> None:
        table = self._trial.rows(self._names, self._columns[1:], self._mode)
        for worker in self._trial.workers:
            of_worker = table.column("worker").to_numpy() == worker
            for gap in self._gaps:
                self._give(worker, table.filter(pa.array(of_worker)), gap)
        self._gaps = []

    def _read_one(self, steps: npt.NDArray[np.int64], chunks: Chunks) -> None:
        """Read around the middle of the longest gap."""
        gap = max(self._gaps, key=lambda one: _between(steps, one))
        self._gaps.remove(gap)
        count = _between(steps, gap)
        if not count:
            return
        middle = int(steps[np.searchsorted(steps, gap[0]) + count // 2])
        chunk = chunks.around(middle, self._wanted, self._columns)
        read = max(chunk.low, gap[0]), min(chunk.high, gap[1])
        for worker, table in chunk.tables:
            self._give(worker, table, read)
        rest = ((gap[0], read[0] - 1), (read[1] + 1, gap[1]))
        self._gaps += [one for one in rest if one[0] <= one[1]]

    def _give(self, worker: str, table: pa.Table, within: tuple[int, int]) -> None:
        steps = table.column("step").to_numpy()
        inside = (steps >= within[0]) & (steps <= within[1])
        table = table if inside.all() else table.filter(pa.array(inside))
        for one in _of_mode(table, self._mode):
            self._take(_rows(worker, one, self._statistic))


def _rows(worker: str, table: pa.Table, statistic: str) -> Rows:
    series = Series(table)
    values = series[statistic]
    if statistic in _COUNTS:
        return Rows(worker, table, values, np.zeros(len(values), np.bool_))
    # Sums over the finite elements are zero where there are none.
    nothing = (series["finite"] == 0) & (series["count"] > 0)
    return Rows(worker, table, np.where(nothing, np.nan, values), nothing | (series["nan"] > 0))


def _between(steps: npt.NDArray[np.int64], gap: tuple[int, int]) -> int:
    """Return how many steps lie in a gap."""
    return int(np.searchsorted(steps, gap[1], "right") - np.searchsorted(steps, gap[0]))


def _of_mode(table: pa.Table, mode: Mode) -> Iterator[pa.Table]:
    """Yield the rows of a mode, if there are any."""
    if mode is not Mode.GLOBAL:
        table = table.filter(pc.equal(table.column("mode").cast(pa.string()), mode.value))
    if len(table):
        yield table
