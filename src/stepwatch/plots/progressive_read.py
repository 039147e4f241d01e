"""Reads one statistic of a run step by step, in any order, and goes on as the run does.

All steps of a large run take many seconds to read. So reading can be interrupted, and what was
read by then lies evenly over the run: next is always the middle of the longest stretch that was
not read yet. No row counts twice: of what was read only the rows within that stretch are taken,
whatever parts were merged meanwhile.

``Lines`` keeps one tensor as lines of bounded size, ``LayerRows`` many tensors as rows of a heat
map, one for each or for each part of the model.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..formats.native.observations import text_codes, texts_where
from ..model.steps import Mode
from ..numerics.columns import numbers, rows_where
from ..trial import Series, Trial
from ..trial.chunks import Chunks
from ..trial.tensor import fields_of
from .downsample import Envelope, Envelopes

# What tells whether elements are finite, and statistics that are numbers of such elements.
_FITNESS = fields_of("finite")
_LATEST = 2**62
#: The first and the last step to read; ``None`` for all.
Window = tuple[int, int] | None


class Placed(NamedTuple):
    """Where steps lie on an axis.

    Args:
        x: Their places, shape ``[steps]``.
        weights: What each weighs in a mean, shape ``[steps]``; ``None`` where that is the same.
        passes: Of which line of its mode each is, shape ``[steps]``, from 1 on; ``None`` where
            all are of one.
    """

    x: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None = None
    passes: npt.NDArray[np.int64] | None = None


class LineOf(NamedTuple):
    """What a line is of; ``number`` tells apart evaluations with no training between them."""

    worker: str
    mode: str
    number: int

    @property
    def label(self) -> str:
        """How it is called among those of its worker, such as ``EVAL 2``."""
        return self.mode if self.number == 1 else f"{self.mode} {self.number}"


#: Places global steps of a mode on an axis.
Axis = Callable[[npt.NDArray[np.int64], str], Placed]
_COUNTS = ("count", "nan", "posinf", "neginf", "zeros", "finite", "non_finite")


class Rows(NamedTuple):
    """Rows of one worker.

    Args:
        worker: The worker.
        table: Columns ``tensor``, ``mode`` and ``step``, and those of the statistic.
        values: The statistic, shape ``[rows]``, float64; nan where it is not known.
        unfit: Where a nan was among the elements, or none of them was finite; shape ``[rows]``.
    """

    worker: str
    table: pa.Table
    values: npt.NDArray[np.float64]
    unfit: npt.NDArray[np.bool_]


class ProgressiveRead:
    """What was read of some tensors so far.

    Args:
        trial: The run.
        names: The tensors.
        statistic: The statistic.
        take: Called with rows as they are read; with several tensors, rows of others among them.
        mode: Only steps of this mode.
        within: Only steps from the first of these to the last; of all by default.
    """

    def __init__(
        self,
        trial: Trial,
        names: frozenset[str],
        statistic: str,
        take: Callable[[Rows], None],
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
            of_worker = rows_where(table, texts_where(table.column("worker"), worker.__eq__))
            for gap in self._gaps:
                self._give(worker, of_worker, gap)
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
        steps = numbers(table.column("step"))
        chosen = (steps >= within[0]) & (steps <= within[1])
        if self._mode is not Mode.GLOBAL:
            chosen &= texts_where(table.column("mode"), self._mode.value.__eq__)
        table = table if chosen.all() else rows_where(table, chosen)
        if len(table):
            self._take(_rows(worker, table, self._statistic))


def _rows(worker: str, table: pa.Table, statistic: str) -> Rows:
    series = Series(table)
    values = series[statistic]
    if statistic in _COUNTS:
        return Rows(worker, table, values, np.zeros(len(values), np.bool_))
    # Sums over the finite elements are zero where there are none.
    nothing = (series["finite"] == 0) & (series["count"] > 0)
    return Rows(worker, table, np.where(nothing, np.nan, values), nothing | (series["nan"] > 0))


def _between(steps: npt.NDArray[np.int64], gap: tuple[int, int]) -> int:
    return int(np.searchsorted(steps, gap[1], "right") - np.searchsorted(steps, gap[0]))


_LEVEL = re.compile(r"[^/.]*[/.]?")


class LayerRows:
    """One statistic of some tensors over the steps of a mode, kept up as the run goes on.

    Args:
        trial: The run.
        names: The tensors, in the order of execution.
        statistic: The statistic.
        mode: The mode of the steps.
        points: How many columns there may be.
        rows: How many rows there may be; of more tensors those of one module share a row.
        axis: What columns stand for; global steps by default.
        worker: Only what this worker saw.
        within: Only steps from the first of these to the last.
    """

    def __init__(
        self,
        trial: Trial,
        names: Sequence[str],
        statistic: str,
        mode: Mode,
        *,
        points: int,
        rows: int,
        axis: Axis | None = None,
        worker: str = "",
        within: Window = None,
    ) -> None:
        self._axis, self._mode, self._worker = axis, mode, worker
        #: The root of the sum of squares over all rows at each step, of one worker.
        self.total = Envelopes(1, points)
        self._first_worker = worker
        #: At how many steps it was measured, as far as they were read; by the first worker.
        self.num_measured = 0
        labels = row_labels(names, rows)
        #: What the rows are called: tensors, or what the names of several begin with.
        self.rows = list(dict.fromkeys(labels))
        number = {label: row for row, label in enumerate(self.rows)}
        #: The row of each tensor.
        self.row_of = {name: number[label] for name, label in zip(names, labels, strict=True)}
        self.envelopes = Envelopes(len(self.rows), points)
        self._reading = ProgressiveRead(
            trial, frozenset(names), statistic, self._take, mode, within
        )

    @property
    def are_tensors(self) -> list[bool]:
        """Which rows are one tensor, and no more."""
        return [row in self.row_of for row in self.rows]

    def is_of(self, trial: Trial) -> bool:
        """Return whether the run is still the one that was read: it may be resumed."""
        return self._reading.reader is trial.reader

    def read(self, until: float | None = None) -> float:
        """Read on, and return which share of the steps was read; see ``ProgressiveRead.go_on``."""
        return self._reading.go_on(until)

    def cells(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the first step of each column, and the cells, shape ``[rows, columns]``."""
        return self.envelopes.farthest()

    def about(self, num_steps: int, read: float) -> str:
        """Return small print: of how many steps it is, what rows are, how much was read."""
        parts = [f"{num_steps:,} steps"]
        if len(self.row_of) > len(self.rows):
            parts.append(f"in {len(self.rows):,} rows, each the value that is farthest out")
        if read < 1:
            parts.append(f"{read:.0%} read so far")
        return " · ".join(parts)

    def unfit(self) -> npt.NDArray[np.bool_]:
        """Return which cells hold what is not finite."""
        return self.envelopes.unfit()

    def _take(self, rows: Rows) -> None:
        tensors = text_codes(rows.table.column("tensor"))
        row_of = np.array([self.row_of.get(name, -1) for name in tensors.values], np.int64)
        row = row_of[tensors.codes]
        known = row >= 0  # a row group may hold neighbours that were not asked for
        if self._worker not in ("", rows.worker):
            return
        steps = numbers(rows.table.column("step"))
        if self._axis is not None:
            steps = self._axis(steps, self._mode.value).x
        values, unfit = rows.values[known], rows.unfit[known]
        self.envelopes.add(row[known], steps[known], values, unfit)
        self._first_worker = self._first_worker or rows.worker
        if rows.worker == self._first_worker:
            self._add_total(steps[known], values, unfit)

    def _add_total(
        self,
        steps: npt.NDArray[np.int64],
        values: npt.NDArray[np.float64],
        unfit: npt.NDArray[np.bool_],
    ) -> None:
        at, number = np.unique(steps, return_inverse=True)
        self.num_measured += len(at)
        squares = np.bincount(number, np.where(np.isfinite(values), values, 0.0) ** 2)
        is_unfit = np.bincount(number, unfit) > 0
        total = np.where(is_unfit, np.nan, np.sqrt(squares))
        self.total.add(np.zeros(len(at), np.int64), at, total, is_unfit)


def row_labels(names: Sequence[str], most: int) -> list[str]:
    """Return the row of each tensor: itself, or as much of its name as makes few enough rows.

    Args:
        names: The names of the tensors.
        most: How many rows there may be, at least 1.

    Example:
        >>> row_labels(["a.0.w", "a.0.b", "a.1.w"], 2)
        ['a.0.', 'a.0.', 'a.1.']
    """
    if len(names) <= most:
        return list(names)
    levels = [_LEVEL.findall(name) for name in names]
    for depth in range(max(map(len, levels)) - 1, 0, -1):
        labels = ["".join(one[:depth]) for one in levels]
        if len(set(labels)) <= most:
            break
    else:
        labels = list(names)
    # Where one level alone would be too many, or nearly all would be one row: neighbours.
    if not most / 8 <= len(set(labels)) <= most:
        groups = np.array_split(np.arange(len(names)), most)
        labels = [
            f"{names[group[0]]} … {names[group[-1]]}" for group in groups for _ in range(len(group))
        ]
    return labels


#: Of more workers than this only the first ones are drawn.
MOST_WORKERS = 8


class Lines:
    """One statistic of one tensor over the steps.

    Args:
        trial: The run.
        name: The tensor.
        statistic: The statistic.
        points: How many points a line may have.
        within: Only steps from the first of these to the last.
        axis: What points stand for; global steps by default.

    Each worker and mode is a line, as is each further of several evaluations with no training
    between them. An evaluation pass is one point: of a loss, the mean over its batches; of a
    metric, which says what came of the pass so far, the last of its values.
    """

    def __init__(
        self,
        trial: Trial,
        name: str,
        statistic: str,
        points: int,
        within: Window = None,
        axis: Axis | None = None,
    ) -> None:
        self._trial = trial
        self._points = points
        self._axis = axis
        self._found: dict[LineOf, Envelopes] = {}
        self._is_so_far = trial.reader.tensors().get(name) == "metrics"
        self._reading = ProgressiveRead(
            trial, frozenset([name]), statistic, self._take, within=within
        )

    def is_of(self, trial: Trial) -> bool:
        """Return whether the run is still the one that was read: it may be resumed."""
        return self._reading.reader is trial.reader

    def read(self) -> dict[str, Envelope]:
        """Return the lines by what they are called, with the worker where there are several."""
        several = len(self._trial.workers) > 1
        return {
            f"{line.label} {line.worker}" if several else line.label: envelopes.of_row(0)
            for line, envelopes in self.envelopes().items()
        }

    def envelopes(self) -> dict[LineOf, Envelopes]:
        """Return the lines."""
        self._reading.go_on()
        return dict(sorted(self._found.items(), key=self._in_order))

    def _in_order(self, item: tuple[LineOf, Envelopes]) -> tuple[int, int, int]:
        line = item[0]
        return self._trial.workers.index(line.worker), _MODES.index(line.mode), line.number

    def _take(self, rows: Rows) -> None:
        if rows.worker not in self._trial.workers[:MOST_WORKERS]:
            return
        modes = text_codes(rows.table.column("mode"))
        steps = numbers(rows.table.column("step"))
        for code, mode in enumerate(modes.values):
            of_mode = np.flatnonzero(modes.codes == code)
            if not len(of_mode):
                continue
            placed = Placed(steps[of_mode])
            if self._axis is not None:
                placed = self._axis(placed.x, mode)
            if placed.passes is None:
                self._add(LineOf(rows.worker, mode, 1), rows, of_mode, placed)
                continue
            for number in np.unique(placed.passes).tolist():
                is_of = placed.passes == number
                weights = None if placed.weights is None else placed.weights[is_of]
                line = LineOf(rows.worker, mode, number)
                self._add(line, rows, of_mode[is_of], Placed(placed.x[is_of], weights))

    def _add(self, line: LineOf, rows: Rows, chosen: npt.NDArray[np.int64], at: Placed) -> None:
        """Take the chosen rows into a line."""
        found = self._found.setdefault(line, Envelopes(1, self._points))
        x, weights, values, unfit = at.x, at.weights, rows.values[chosen], rows.unfit[chosen]
        if self._is_so_far and line.mode != Mode.TRAIN.value:
            ends = np.diff(x, append=-1) != 0
            x, values, unfit, weights = x[ends], values[ends], unfit[ends], None
        found.add(np.zeros(len(x), np.int64), x, values, unfit, weights)


_MODES: Sequence[str] = ("TRAIN", "EVAL", "PREDICT", "GLOBAL")
