"""What ``ReduceLROnPlateau`` is told: a metric, and whether less or more of it is better."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..judge.step_view import StepView
from ..numerics.measures import Floats, number

#: So many values of the metric are judged, the last; at least so many.
MOST, LEAST = 50, 4
#: A metric is a loss if it is the loss times one factor, within this, and the loss fell so far.
SAME, FELL = 0.02, 0.8
#: An accuracy rises by so much, at so many of the steps from one value to the next.
ROSE, STEADY = 0.1, 0.6
#: It is a count out of so many samples at most; numbers in 32 bits are exact to this.
MOST_SAMPLES, EXACT = 10_000, 5e-7

_PREFIX = "metric/ReduceLROnPlateau/"


class _Told(NamedTuple):
    """One value of the metric, and the losses since the one before; nan for none.

    Args:
        value: The metric.
        trained: The mean of the losses of TRAIN steps,
        last: the last of them,
        evaluated: the mean of those of EVAL steps,
        last_evaluated: and the last of those.
    """

    value: float
    trained: float
    last: float
    evaluated: float
    last_evaluated: float


@dataclass(slots=True)
class _Sum:
    total: float = 0.0
    count: int = 0
    last: float = math.nan

    def add(self, value: float) -> None:
        self.total, self.count, self.last = self.total + value, self.count + 1, value

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else math.nan


class PlateauFound(NamedTuple):
    """A direction that is wrong.

    Args:
        tensor: The metric.
        mode: As the schedule was told.
        text: What was measured.
        first: The metric at first,
        last: and now.
    """

    tensor: str
    mode: str
    text: str
    first: float
    last: float


@dataclass(slots=True)
class Plateau:
    """Compares the metric of one worker with its losses, and with the learning rate."""

    _told: deque[_Told] = field(default_factory=lambda: deque(maxlen=MOST))
    _mode: str = ""
    _train: _Sum = field(default_factory=_Sum)
    _eval: _Sum = field(default_factory=_Sum)
    _rate: float = math.nan
    _first_rate: float = math.nan
    _num_cuts: int = 0

    def add_evaluation(self, loss: float) -> None:
        """Add the loss of an EVAL step."""
        self._eval.add(loss)

    def add(self, step: StepView, worker: str, loss: float, rate: float) -> Iterator[PlateauFound]:
        """Add a TRAIN step; yield what is wrong.

        Args:
            loss: Its loss, nan for none, or several.
            rate: Its largest learning rate.
        """
        has_metrics = any("metrics" in record.layout.rows_of for record in step.records)
        for mode in ("min", "max") if has_metrics else ():
            value = step.scalar(f"{_PREFIX}{mode}", worker)
            if math.isfinite(value):
                yield from self._add_metric(mode, value, rate)
        self._rate = rate
        self._train.add(loss)

    def _add_metric(self, mode: str, value: float, rate: float) -> Iterator[PlateauFound]:
        if mode != self._mode:
            self._told.clear()
            self._mode, self._num_cuts, self._first_rate = mode, 0, self._rate
        # What was told of before this step had effect on its rate.
        self._num_cuts += rate < self._rate
        train, evaluated = self._train, self._eval
        one = _Told(value, train.mean, train.last, evaluated.mean, evaluated.last)
        self._told.append(one)
        self._train, self._eval = _Sum(), _Sum()
        if self._num_cuts and len(self._told) >= LEAST and self._is_wrong():
            first = self._told[0].value
            rises = mode == "min"
            text = (
                f"{'rose' if rises else 'fell'} from {number(first)} to {number(value)} in"
                f" {len(self._told)} values while the loss fell"
                f", and is {'an accuracy' if rises else 'a loss'}: mode={mode!r} counts that as no"
                f" improvement, and lowered the learning rate {self._num_cuts} times, from"
                f" {number(self._first_rate)} to {number(rate)}"
            )
            yield PlateauFound(f"{_PREFIX}{mode}", mode, text, first, value)

    def _is_wrong(self) -> bool:
        columns = np.array(self._told, np.float64).T
        values, losses = columns[0], columns[1:]
        if self._mode == "max":
            falls = values[-1] < FELL * values[0] and bool((values > 0).all())
            return falls and any(_is_multiple(values, loss) for loss in losses)
        return _is_accuracy(values) and _falls(losses[0]) and not _rises(losses[2])


def _is_multiple(values: Floats, loss: Floats) -> bool:
    if not (np.isfinite(loss).all() and (loss > 0).all()):
        return False
    ratios = values / loss
    return bool((abs(ratios / np.median(ratios) - 1) <= SAME).all())


def _falls(loss: Floats) -> bool:
    return bool(np.isfinite(loss).all() and loss[-1] < loss[0])


def _rises(loss: Floats) -> bool:
    """Return whether an evaluation says that the model gets worse."""
    known = loss[np.isfinite(loss)]
    return len(known) > 1 and bool(known[-1] > known[0])


def _is_accuracy(values: Floats) -> bool:
    """Return whether values rise as an accuracy does, and are counts out of some samples.

    Args:
        values: Shape ``[values]``; fractions, or percent.
    """
    shares = values / 100 if values.max() > 1 else values
    if shares.min() < 0 or shares.max() > 1 or len(np.unique(shares)) < LEAST:
        return False
    if shares[-1] < shares[0] + ROSE or (np.diff(shares) >= 0).mean() < STEADY:
        return False
    samples = np.arange(2, MOST_SAMPLES + 1)[:, None]
    counts = shares * samples
    off = abs(counts - np.round(counts))
    return bool((off <= 2 * EXACT * np.maximum(counts, 1)).all(axis=1).any())
