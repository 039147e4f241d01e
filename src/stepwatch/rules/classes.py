"""Rules on classes: rare, or taken for one another.

A matrix of counts has a row for each true class and a column for each that was predicted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..judge.declaration import parameter
from ..judge.rule import Findings, Rule, Selection
from ..judge.step_view import StepView
from ..model.steps import Mode
from ..numerics.measures import Floats, number
from .shared import Array, raw_values, summaries

Counts = npt.NDArray[np.int64]

#: More classes than this are tokens rather than classes, and their matrix fills the memory.
MOST_CLASSES = 1000


class NoClasses(ValueError):
    """What was saved are no classes; says what it is instead."""


def as_classes(value: Array, *, columns: bool) -> Floats:
    """Return whole numbers, shape ``[samples]``, nan where there is no class.

    Args:
        value: Classes of any shape; or, with ``columns``, scores of shape ``[n, classes, ...]``.
            Negative ones, as those that a loss ignores, are none.
        columns: Take the class of the largest score.

    Raises:
        NoClasses: Not whole numbers.
    """
    if columns:
        scores = value.astype(np.float64)
        found = np.where(np.isnan(scores).any(axis=1), np.nan, scores.argmax(axis=1)).ravel()
    else:
        found = value.astype(np.float64).ravel()
    known = found[np.isfinite(found)]
    if (known != np.floor(known)).any():
        raise NoClasses("are not whole numbers, as in a regression")
    return np.where(np.isfinite(found) & (found >= 0), found, np.nan)


def predicted_classes(predictions: Array, labels: Array, *, columns: bool) -> Floats:
    """Return the classes that were predicted, as ``as_classes``.

    With one axis more than the labels they are scores of the classes. Others that are not whole
    are scores of the second of two classes: probabilities above 0.5, or, where they leave the
    range of probabilities, logits above 0.
    """
    more = predictions.ndim == labels.ndim + 1 and predictions.shape[1] > 1
    if columns or more:
        return as_classes(predictions, columns=True)
    scores = predictions.astype(np.float64).ravel()
    known = scores[np.isfinite(scores)]
    if (known == np.floor(known)).all():
        return as_classes(predictions, columns=False)
    limit = 0.5 if known.min() >= 0 and known.max() <= 1 else 0.0
    return np.where(np.isnan(scores), np.nan, scores > limit)


def count_pairs(
    labels: Floats,
    predictions: Floats,
    num_classes: int | None = None,
) -> Counts:
    """Return how often each class was taken for which, shape ``[classes, classes]``.

    Args:
        labels: Classes, shape ``[samples]``; pairs with a nan on either side are left out.
        predictions: Of the same shape.
        num_classes: How many there are; by default as many as occur.

    Raises:
        ConfigError: A class that is not below ``num_classes``.
        NoClasses: More than ``MOST_CLASSES``, if ``num_classes`` is not given.
    """
    if len(labels) != len(predictions):
        raise NoClasses(f"are {len(labels)}, and predictions {len(predictions)}")
    known = ~(np.isnan(labels) | np.isnan(predictions))
    rows, columns = labels[known].astype(np.int64), predictions[known].astype(np.int64)
    size = int(max(rows.max(initial=-1), columns.max(initial=-1))) + 1
    if num_classes is not None:
        if size > num_classes:
            raise ConfigError(f"class {size - 1} was seen, and there are {num_classes} classes")
        size = num_classes
    elif size > MOST_CLASSES:
        raise NoClasses(f"have {size} classes, more than {MOST_CLASSES}; say how many there are")
    return np.bincount(rows * size + columns, minlength=size * size).reshape(size, size)


def added(counts: Sequence[Counts]) -> Counts:
    """Return the sum of counts, all of one axis or all of two; the smaller ones filled by 0."""
    size = max(len(one) for one in counts)
    total = np.zeros((size,) * counts[0].ndim, np.int64)
    for one in counts:
        total[tuple(slice(length) for length in one.shape)] += one
    return total


@dataclass(slots=True)
class Sources:
    """Where classes are found: in summaries, else in full values of labels and predictions.

    Args:
        labels: Where the labels are.
        predictions: Where the predictions are.
        columns: Whether both have a score for each class.
        num_classes: As for ``count_pairs``.
    """

    labels: Selection
    predictions: Selection
    columns: bool = False
    num_classes: int | None = None
    _why_not: str = field(default="", init=False)

    def missing(self) -> str:
        """Return why there are none."""
        none = "no classes were counted, and no labels and predictions saved in full"
        return self._why_not or none

    def matrices(self, step: StepView) -> dict[str, Counts]:
        """Return the counts of pairs of each loss, all workers together."""
        return _summed(step, "confusion/") or self._of_values(step)

    def counts(self, step: StepView) -> dict[str, Counts]:
        """Return how many labels of each class a step has, shape ``[classes]``, by loss."""
        return _summed(step, "class_count/")

    def _of_values(self, step: StepView) -> dict[str, Counts]:
        labels, predictions = _by_worker(step, self.labels), _by_worker(step, self.predictions)
        parts: dict[str, list[Counts]] = {}
        for worker, held in labels.items():
            for (name, label), prediction in zip(
                held.items(), predictions.get(worker, {}).values(), strict=False
            ):
                try:
                    parts.setdefault(name, []).append(self._count(label, prediction))
                except NoClasses as error:
                    self._why_not = f"{name}: labels {error}"
        return {name: added(counts) for name, counts in parts.items() if counts}

    def _count(self, labels: Array, predictions: Array) -> Counts:
        columns = self.columns and labels.ndim > 1 and labels.shape[1] > 1
        classes = as_classes(labels, columns=columns)
        if labels.ndim > 1 and labels.shape[-1] == 1:
            labels = labels[..., 0]
        guessed = predicted_classes(predictions, labels, columns=self.columns)
        return count_pairs(classes, guessed, self.num_classes)


def _summed(step: StepView, prefix: str) -> dict[str, Counts]:
    """Return the sum over all workers of the counts whose name begins so, by what follows."""
    parts: dict[str, list[Counts]] = {}
    for record, name in summaries(step, prefix):
        parts.setdefault(name, []).append(record.raw[prefix + name].astype(np.int64))
    return {name: added(counts) for name, counts in parts.items()}


def _by_worker(step: StepView, selection: Selection) -> Mapping[str, dict[str, Array]]:
    found: dict[str, dict[str, Array]] = {}
    for worker, name, value in raw_values(step, selection):
        found.setdefault(worker, {})[name] = value
    return found


# labels of each class, and how many of them were mispredicted; shape [classes] each
Tally = tuple[Counts, Counts]


class ClassImbalance(Rule):
    """Classes of which there are far fewer labels, or whose labels are mostly mispredicted.

    Labels are counted over all steps at which they were saved, and judged once there are enough.
    The hook measures both for losses on whole classes; labels and predictions that are saved in
    full are taken where it did not, in the order in which they come.
    """

    name = "class_imbalance"
    sign = "data"
    compat: ClassVar[Mapping[str, object]] = {
        "labels_regex": ".*labels",
        "predictions_regex": ".*predictions",
        "min_class_samples": 1,
    }

    threshold_imbalance: float = parameter(
        10.0, "The most frequent class over the rarest that was seen.", at_least=1
    )
    threshold_misprediction: float = parameter(
        0.7, "The share of labels of a class that may be mispredicted.", between=(0, 1)
    )
    samples: int = parameter(500, "Judge when so many labels were seen.", at_least=1)
    argmax: bool = parameter(False, "Labels and predictions hold a score for each class.")
    labels_regex: str = parameter(
        "labels|^label/", "Labels that are saved in full; `.*labels` in compat."
    )
    predictions_regex: str = parameter(
        "predictions|^prediction/", "Predictions that are saved in full; `.*predictions` in compat."
    )
    num_classes: int | None = parameter(
        None, "How many there are; one that was never seen then counts as well.", at_least=2
    )
    window_samples: int | None = parameter(
        None, "Count only about so many last labels.", at_least="samples"
    )
    misprediction_start_step: int = parameter(
        0, "Count mispredictions from this global step on.", at_least=0
    )
    min_class_samples: int = parameter(
        20, "Classes with fewer labels are not mispredicted; 1 in compat.", at_least=1
    )
    mode: Literal["TRAIN", "EVAL", "PREDICT", "GLOBAL"] | None = parameter(
        None, "Count at steps of this mode; by default at those that train."
    )

    def begin(self) -> None:
        self.mode = self.mode or Mode.TRAIN.value
        self._sources = Sources(
            Selection((), (self.labels_regex,)),
            Selection((), (self.predictions_regex,)),
            columns=self.argmax,
            num_classes=self.num_classes,
        )
        self._tallies: dict[str, deque[Tally]] = {}
        self._most = 0

    def check(self, step: StepView) -> Findings:
        if not step.is_of(self.mode):
            return
        for name, tally in self._tally(step).items():
            past = self._tallies.setdefault(name, deque())
            labels, wrong = _total(past, tally, self.window_samples)
            count = int(labels.sum())
            self._most = max(self._most, count)
            if count >= self.samples:
                yield from self._imbalance(step, name, labels)
                yield from self._misprediction(step, name, labels, wrong)

    def unevaluated(self) -> str | None:
        if self._most >= self.samples:
            return None
        if self._most:
            return f"{self._most} labels were seen, {self.samples} are needed"
        return self._sources.missing()

    def _tally(self, step: StepView) -> dict[str, Tally]:
        """Return what one step adds."""
        matrices = self._sources.matrices(step)
        tallies = {name: _of_matrix(matrix) for name, matrix in matrices.items()}
        if step.number < self.misprediction_start_step:
            tallies = {name: (labels, labels * 0) for name, (labels, _) in tallies.items()}
        for name, labels in self._sources.counts(step).items():
            tallies.setdefault(name, (labels, labels * 0))
        return tallies

    def _imbalance(self, step: StepView, name: str, labels: Counts) -> Findings:
        most = int(labels.argmax())
        judged = labels if self.num_classes else np.where(labels > 0, labels, labels[most])
        least = int(judged.argmin())
        ratio = float(labels[most]) / float(labels[least]) if labels[least] else np.inf
        if ratio > self.threshold_imbalance:
            yield self.finding(
                step,
                name,
                f"{name}: class {most} has {labels[most]} labels, class {least} has"
                f" {labels[least]}: {number(ratio)} times as many"
                f" (> {number(self.threshold_imbalance)}) up to step {step.train_step}",
                value=ratio,
                threshold=self.threshold_imbalance,
                condition=f"{name} imbalance",
                remedy="sample rare classes more often, or weight the loss by class",
                evidence={"most": most, "least": least, "labels": int(labels.sum())},
            )

    def _misprediction(self, step: StepView, name: str, labels: Counts, wrong: Counts) -> Findings:
        share = np.where(labels >= self.min_class_samples, wrong / np.maximum(labels, 1), 0.0)
        worst = int(share.argmax())
        if share[worst] > self.threshold_misprediction:
            over = int((share > self.threshold_misprediction).sum())
            yield self.finding(
                step,
                name,
                f"{name}: class {worst}: {share[worst]:.0%} of {labels[worst]} labels are"
                f" mispredicted (> {self.threshold_misprediction:.0%}) up to step {step.train_step}"
                + (f"; so are those of {over - 1} other classes" if over > 1 else ""),
                value=float(share[worst]),
                threshold=self.threshold_misprediction,
                condition=f"{name} misprediction",
                remedy="look at labels of this class; sample it more often, or weight the loss",
                evidence={"class": worst, "classes": over},
            )


def _of_matrix(matrix: Counts) -> Tally:
    labels = matrix.sum(axis=1)
    return labels, labels - np.diagonal(matrix)


def _total(past: deque[Tally], tally: Tally, window: int | None) -> Tally:
    """Add a tally to those before it, forget what leaves the window, and return the sum."""
    past.append(tally)
    labels = added([one for one, _ in past])
    while window is not None and int(labels.sum() - past[0][0].sum()) >= window:
        past.popleft()
        labels = added([one for one, _ in past])
    total = labels, added([wrong for _, wrong in past])
    if window is None:  # nothing leaves: keep the sum alone
        past.clear()
        past.append(total)
    return total


class Confusion(Rule):
    """Classes of which too few predictions are right, or too many are another class.

    The hook measures the matrix for losses on whole classes; labels and predictions that are saved
    in full are taken where it did not. Once there are steps of EVAL with classes only they are
    judged.
    """

    name = "confusion"
    sign = "outcome"

    category_no: int | None = parameter(
        None, "How many classes there are; by default as many as are seen.", at_least=2
    )
    labels: str = parameter("labels", "Name of the labels, where they are saved in full.")
    predictions: str = parameter(
        "predictions", "Name of the predictions, where they are saved in full."
    )
    labels_collection: str = parameter("labels", "Or labels are what is in this collection.")
    predictions_collection: str = parameter(
        "predictions", "Or predictions are what is in this collection."
    )
    min_diag: float = parameter(
        0.9, "The least share of predictions of a class that are right.", between=(0, 1)
    )
    max_off_diag: float = parameter(
        0.1, "The largest share of them that are of one other class.", between=(0, 1)
    )
    normalize: Literal["column", "row"] = parameter(
        "column", "`column`: shares of the predictions of a class; `row`: of its labels."
    )
    cumulative: bool = parameter(False, "Add up the steps of a mode instead of judging each.")
    min_samples: int = parameter(0, "Judge when a matrix has so many pairs.", at_least=0)

    def begin(self) -> None:
        self._sources = Sources(
            Selection((self.labels_collection,), (f"^{self.labels}$",)),
            Selection((self.predictions_collection,), (f"^{self.predictions}$",)),
            num_classes=self.category_no,
        )
        self._sums: dict[tuple[str, Mode], list[Counts]] = {}
        self._has_eval = False

    def check(self, step: StepView) -> Findings:
        if self._has_eval and step.mode is not Mode.EVAL:
            return
        matrices = self._sources.matrices(step)
        self._has_eval |= bool(matrices) and step.mode is Mode.EVAL
        for name, matrix in matrices.items():
            if self.cumulative:
                key = name, step.mode
                matrix = added([*self._sums.get(key, ()), matrix])
                self._sums[key] = [matrix]
            if matrix.size and int(matrix.sum()) >= max(self.min_samples, 1):
                self._evaluated = True
                yield from self._evaluate(step, name, matrix)

    def unevaluated(self) -> str | None:
        return None if self._evaluated else self._sources.missing()

    def _evaluate(self, step: StepView, name: str, matrix: Counts) -> Findings:
        shares = normalized(matrix, self.normalize)
        occurs = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
        right = np.where(occurs, np.diagonal(shares), 1.0)
        others = shares - np.diag(np.diagonal(shares))
        wrong = others.max(axis=0 if self.normalize == "column" else 1)
        is_bad = occurs & ((right < self.min_diag) | (wrong > self.max_off_diag))
        if is_bad.any():
            worst = int(np.argmin(np.where(is_bad, right - wrong, np.inf)))
            row = others[:, worst] if self.normalize == "column" else others[worst]
            other, share, num_classes = int(row.argmax()), float(wrong[worst]), int(is_bad.sum())
            low = right[worst] < self.min_diag
            of = "predictions" if self.normalize == "column" else "labels"
            more = f"; {num_classes} classes are like that" if num_classes > 1 else ""
            taken = f", and {number(share)} are class {other}" if share else ""
            yield self.finding(
                step,
                name,
                f"{name}: of the {of} of class {worst}, {number(float(right[worst]))} are right"
                f"{taken} (min_diag {number(self.min_diag)}, max_off_diag"
                f" {number(self.max_off_diag)}) at step {step.train_step}{more}",
                value=float(right[worst]) if low else share,
                threshold=self.min_diag if low else self.max_off_diag,
                condition=name,
                remedy="look at samples of the two classes, their features and their labels",
                evidence={"class": worst, "other": other, "classes": num_classes},
            )


def normalized(matrix: Counts, by: Literal["column", "row"]) -> Floats:
    """Return fractions of the sum of each column, or row; 0 where that is 0.

    Args:
        matrix: Counts, shape ``[classes, classes]``.
        by: What sums to 1.

    Example:
        >>> normalized(np.array([[1, 1], [0, 2]]), "row").tolist()
        [[0.5, 0.5], [0.0, 1.0]]
    """
    sums = matrix.sum(axis=0 if by == "column" else 1, keepdims=True)
    return np.where(sums > 0, matrix / np.maximum(sums, 1), 0.0)
