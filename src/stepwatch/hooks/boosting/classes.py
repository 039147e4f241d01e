"""How often each class was there, and what it was taken for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Counts = npt.NDArray[np.int64]

#: Of more classes nothing is counted; of more than the second only the labels are.
MOST_CLASSES, MOST_CONFUSED = 1000, 100


def guesses(predictions: Array, num_classes: int) -> npt.NDArray[np.int64]:
    """Return the class that is predicted for each row, shape ``[rows]``.

    Args:
        predictions: The score of each class, shape ``[rows, classes]``; or, shape ``[rows]``, the
            probability of the second of two classes, or the class itself of more.
        num_classes: How many there are.
    """
    if predictions.ndim == 2:
        return np.asarray(predictions.argmax(axis=1), np.int64)
    if num_classes > 2:
        return np.asarray(predictions, np.int64)
    return np.asarray(predictions.astype(np.float64) > 0.5, np.int64)


def confusion(labels: Array, predictions: Array, num_classes: int) -> Counts | None:
    """Return how often each class was taken for which.

    Args:
        labels: Shape ``[rows]``, any dtype; what is no class is left out.
        predictions: As for ``guesses``.
        num_classes: How many there are.

    Returns:
        Shape ``[classes, classes]``, a row for each true class; ``None`` of too many or too few
        classes, and of labels that are none.
    """
    if not 2 <= num_classes <= MOST_CONFUSED or labels.shape != predictions.shape[:1]:
        return None
    known, meant = _classes(labels, num_classes)
    place = meant * num_classes + guesses(predictions, num_classes)[known]
    return np.bincount(place, minlength=num_classes**2).reshape(num_classes, num_classes)


def class_counts(labels: Array, num_classes: int) -> Counts | None:
    """Return how many rows each class has, shape ``[classes]``; ``None`` as ``confusion``."""
    if not 2 <= num_classes <= MOST_CLASSES or labels.ndim != 1 or not labels.size:
        return None
    return np.bincount(_classes(labels, num_classes)[1], minlength=num_classes)


def _classes(labels: Array, num_classes: int) -> tuple[npt.NDArray[np.bool_], Counts]:
    """Return which labels are classes, shape ``[rows]``, and these as whole numbers."""
    values = labels.astype(np.float64)
    known = (values == np.floor(values)) & (values >= 0) & (values < num_classes)
    return known, values[known].astype(np.int64)
