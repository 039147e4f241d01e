"""How often each class was there, and what it was taken for: from summaries, or from full values.

A matrix of counts has a row for each true class and a column for each that was predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from .scope import Selection
from .step_view import StepView
from .units import raw_values

Counts = npt.NDArray[np.int64]
Array = npt.NDArray[np.generic]

CONFUSION, CLASS_COUNT = "confusion/", "class_count/"
#: More classes than this are tokens rather than classes, and their matrix fills the memory.
MOST_CLASSES = 1000


class NoClasses(ValueError):
    """What was saved are no classes; says what it is instead."""


def as_classes(value: Array, *, columns: bool) -> npt.NDArray[np.float64]:
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


def predicted_classes(
    predictions: Array, labels: Array, *, columns: bool
) -> npt.NDArray[np.float64]:
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
    labels: npt.NDArray[np.float64],
    predictions: npt.NDArray[np.float64],
    num_classes: int | None = None,
) -> Counts:
    """Return how often each class was taken for which, shape ``[classes, classes]``.

    Args:
        labels: Classes, shape ``[samples]``; pairs with a nan on either side are left out.
        predictions: Of the same shape.
        num_classes: How many there are; by default as many as are seen.

    Raises:
        ConfigError: A class that is not below ``num_classes``.
        NoClasses: More than ``MOST_CLASSES``, if ``num_classes`` does not say so.
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
    why_not: str = field(default="", init=False)

    def matrices(self, step: StepView) -> dict[str, Counts]:
        """Return the counts of pairs of each loss, all workers together."""
        found = dict(self._summed(step, CONFUSION))
        return found or self._of_values(step)

    def counts(self, step: StepView) -> dict[str, Counts]:
        """Return how many labels of each class a step has, shape ``[classes]``, by loss."""
        return dict(self._summed(step, CLASS_COUNT))

    def _summed(self, step: StepView, prefix: str) -> Iterator[tuple[str, Counts]]:
        parts: dict[str, list[Counts]] = {}
        for record in step.records:
            for name in record.raw or ():
                if name.startswith(prefix):
                    value = record.raw[name].astype(np.int64)
                    parts.setdefault(name.removeprefix(prefix), []).append(value)
        for name, counts in parts.items():
            yield name, added(counts)

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
                    self.why_not = f"{name}: labels {error}"
        return {name: added(counts) for name, counts in parts.items() if counts}

    def _count(self, labels: Array, predictions: Array) -> Counts:
        columns = self.columns and labels.ndim > 1 and labels.shape[1] > 1
        classes = as_classes(labels, columns=columns)
        if labels.ndim > 1 and labels.shape[-1] == 1:
            labels = labels[..., 0]
        guessed = predicted_classes(predictions, labels, columns=self.columns)
        return count_pairs(classes, guessed, self.num_classes)


def _by_worker(step: StepView, selection: Selection) -> Mapping[str, dict[str, Array]]:
    found: dict[str, dict[str, Array]] = {}
    for worker, name, value in raw_values(step, selection):
        found.setdefault(worker, {})[name] = value
    return found
