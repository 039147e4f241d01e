"""What a training begins with: units that are all alike, and units that cannot learn."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..finding import Finding
from ..statistics import COUNT, MAX, MIN, SUM, SUM_SQ
from .checks import Floats, non_finite, number
from .rule import Findings, NothingToJudge, Rule
from .scalars import InARow
from .scope import above, at_least
from .step_view import StepView, TensorGroup, TensorView

_OF_CLASSES = re.compile("^prediction/(cross_entropy|CrossEntropyLoss)")

#: Fewer elements may lie at the ends by chance.
LEAST = 64


def slopes(rows: Floats) -> Floats:
    """Return the mean slope of what may be a tanh or a sigmoid, as a share of the largest slope.

    The slope of tanh is 1 - y**2, and that of a sigmoid y - y**2, which is 1/4 at most; so the
    means of y and of y**2 tell it. A sigmoid whose outputs are nearly all at one end is not told
    from other small numbers.

    Args:
        rows: Statistics of outputs, shape ``[tensors, NUM_FIELDS]``.

    Returns:
        From 0 to 1, shape ``[tensors]``; nan for what leaves -1 to 1, does not come near an end of
        both signs or of 0 and 1, or holds nothing but the ends themselves, as masks do.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = rows[:, COUNT] - non_finite(rows)
        mean, square = rows[:, SUM] / finite, rows[:, SUM_SQ] / finite
    low, high = rows[:, MIN], rows[:, MAX]
    tanh = (low >= -1) & (low < -0.9) & (high <= 1) & (high > 0.9) & (square < 1)
    sigmoid = (low >= 0) & (low < 0.1) & (high <= 1) & (high > 0.9) & (square < mean)
    sigmoid &= (mean > 0.05) & (mean < 0.95)
    found = np.where(tanh, 1 - square, np.where(sigmoid, 4 * (mean - square), np.nan))
    result: Floats = np.where(finite >= LEAST, found, np.nan)
    return result


class InitialState(Rule):
    """A model that begins in a state in which it cannot learn, or not all of it.

    ``alike``: matrices of weights that begin with all elements the same, so that all units of a
    layer compute the same and get the same gradient, for good. ``saturated``: outputs of a tanh
    or a sigmoid that lie at its ends from the first step on, where its slope, which each gradient
    is multiplied by, is next to nothing (Glorot and Bengio: Understanding the difficulty of
    training deep feedforward neural networks, 2010).

    ``loud``: logits of classes with a root mean square above ``loud``, so that the loss is about as
    many nats. ``copied``, of severity info: an embedding's table of which another
    parameter begins as a copy, where sharing it may have been meant.

    Args:
        min_slope: Mean slope of an activation, as a share of the largest. Above 0, below 1.
        consecutive: TRAIN steps in a row, from the first.
        loud: A root mean square of logits, in nats. Above 1.
    """

    name = "initial_state"
    needs = ("weights", "outputs", "predictions")
    per_model = True

    def __init__(self, min_slope: float = 0.05, consecutive: int = 5, loud: float = 100.0) -> None:
        above("min_slope", min_slope, 0, up_to=0.5)
        at_least("consecutive", consecutive, 1)
        above("loud", loud, 1)
        self.loud = loud
        self.min_slope, self.consecutive = min_slope, consecutive
        self._in_a_row = InARow()
        self._steps = 0

    def check(self, step: StepView) -> Findings:
        if not step.trains or self._steps >= self.consecutive:
            return
        self._steps += 1
        if self._steps == 1:
            yield from self._judge_weights(step)
            yield from self._judge_copies(step)
            yield from self._judge_logits(step)
        for group in step.groups("outputs"):
            yield from self._judge_outputs(step, group)

    def unevaluated(self) -> str | None:
        return None if self._steps else NothingToJudge("no TRAIN step was seen")

    def _judge_weights(self, step: StepView) -> Findings:
        for group in step.groups("weights"):
            alike = list(_alike(group))
            # One may be meant, as a table of gates is that begins open.
            if len(alike) < 2:
                continue
            yield Finding(
                self.name,
                step.number,
                alike[0],
                f"{alike[0]} and {len(alike) - 1} more begin with all elements the same: all units"
                " of a layer compute the same, and get the same gradient",
                worker=group.record.worker,
                condition="alike",
                remedy="draw weights at random, as the layers of torch do by themselves",
                evidence={"tensors": alike},
            )

    def _judge_copies(self, step: StepView) -> Findings:
        """Judge whether the table of an embedding was copied instead of being shared."""
        for table in step.tensors("embeddings"):
            name = table.name.removeprefix("row_norms/")
            weight = step.tensor(name, table.worker)
            for other in step.tensors("weights") if weight is not None else ():
                if weight is None or other.name == name or not _is_copy(weight, other):
                    continue
                yield Finding(
                    self.name,
                    step.number,
                    other.name,
                    f"{other.name} begins as a copy of {name}, and is a parameter of its own: if"
                    " the two are meant to be tied, they are not",
                    severity="info",
                    worker=table.worker,
                    condition=f"copied {other.name}",
                    remedy="assign the parameter itself: head.weight = embedding.weight",
                )

    def _judge_logits(self, step: StepView) -> Findings:
        """Judge whether the logits of classes begin far from zero."""
        for logits in step.tensors("predictions"):
            size = logits.statistics.rms
            if _OF_CLASSES.search(logits.name) and size > self.loud:
                yield Finding(
                    self.name,
                    step.number,
                    logits.name,
                    f"{logits.name}: the root mean square of the logits is {number(size)} at the"
                    f" first step (> {number(self.loud)}): it is sure of what it does not know",
                    worker=logits.worker,
                    value=size,
                    threshold=self.loud,
                    condition=f"loud {logits.name}",
                    remedy="smaller first weights, above all of the last layer, or a normalization"
                    " before it",
                )

    def _judge_outputs(self, step: StepView, group: TensorGroup) -> Findings:
        worker = group.record.worker
        found = slopes(group.record.statistics[group.rows])
        # Data may lie at its ends, and what only passes it on.
        given = _squares(step, worker)
        squares = group.record.statistics[group.rows][:, SUM_SQ]
        # What comes last may be sure of itself.
        for place, info in enumerate(group.infos[:-1]):
            met = bool(found[place] < self.min_slope) and squares[place] not in given
            if self._in_a_row.count((worker, info.name), met) >= self.consecutive:
                yield Finding(
                    self.name,
                    step.number,
                    info.name,
                    f"{info.name}: its elements lie at the ends of a tanh or sigmoid from the first"
                    f" step on, where the mean slope is {number(found[place])} of the largest"
                    f" (< {number(self.min_slope)}): next to no gradient passes",
                    worker=worker,
                    value=float(found[place]),
                    threshold=self.min_slope,
                    condition=f"saturated {info.name}",
                    remedy="smaller first weights or inputs, or a normalization before it",
                )


def _is_copy(one: TensorView, other: TensorView) -> bool:
    """Return whether two parameters are the same by all that is known of them, and vary."""
    if one.worker != other.worker or one.info.shape != other.info.shape:
        return False
    ours, theirs = (each.record.statistics[each.row] for each in (one, other))
    return bool((ours == theirs).all() and ours[MIN] < ours[MAX])


def _alike(group: TensorGroup) -> Iterator[str]:
    """Yield the matrices that are to be trained and hold one number only, which is not zero."""
    rows = group.record.statistics[group.rows]
    same = (rows[:, MIN] == rows[:, MAX]) & (rows[:, MIN] != 0)
    for place in np.flatnonzero(same).tolist():
        info = group.infos[place]
        if info.trainable is not False and sum(size > 1 for size in info.shape) >= 2:
            yield info.name


def _squares(step: StepView, worker: str) -> set[float]:
    """Return the sums of squares of what the models of a worker were given."""
    return {
        float(tensor.record.statistics[tensor.row, SUM_SQ])
        for tensor in step.tensors("batches")
        if tensor.worker == worker
    }
