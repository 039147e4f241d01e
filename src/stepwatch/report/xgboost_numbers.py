"""How good predictions are, as plain arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and F1; 0 where nothing was predicted, or nothing was there.

    Args:
        precision: Which share of what was predicted is true.
        recall: Which share of what is true was predicted.
        f1: Their harmonic mean.
    """

    precision: float
    recall: float
    f1: float


def accuracy(counts: Counts) -> float:
    """Return which share of a confusion matrix is on its diagonal; nan for an empty one."""
    return float(np.trace(counts) / counts.sum()) if counts.sum() else float("nan")


def scores_of_classes(counts: Counts) -> list[Scores]:
    """Return the scores of each class of a confusion matrix, a row for each true class.

    Example:
        >>> scores_of_classes(np.array([[3, 1], [0, 4]]))[0]
        Scores(precision=1.0, recall=0.75, f1=0.8571428571428571)
    """
    right = np.diag(counts).astype(np.float64)
    precision = _ratio(right, counts.sum(axis=0))
    recall = _ratio(right, counts.sum(axis=1))
    f1 = _ratio(2 * precision * recall, precision + recall)
    return [Scores(*map(float, one)) for one in zip(precision, recall, f1, strict=True)]


def averages(counts: Counts) -> dict[str, Scores]:
    """Return the scores over all classes: ``micro``, ``macro``, and ``weighted`` by their size."""
    each = np.array([[one.precision, one.recall, one.f1] for one in scores_of_classes(counts)])
    sizes = counts.sum(axis=1)
    weighted = sizes @ each / sizes.sum() if sizes.sum() else np.zeros(3)
    found = {"micro": (accuracy(counts),) * 3, "macro": each.mean(axis=0), "weighted": weighted}
    return {name: Scores(*map(float, one)) for name, one in found.items()}


def recalls(counts: Counts) -> Floats:
    """Return which share of each class was predicted right, shape ``[classes]``; nan for none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.diag(counts) / counts.sum(axis=1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Roc:
    """A receiver operating characteristic.

    Args:
        false_positive: Rates, shape ``[n]``, ascending from 0 to 1.
        true_positive: Rates, shape ``[n]``.
        thresholds: From which score on a row counts as positive, shape ``[n]``.
        area: Under the curve.
    """

    false_positive: Floats
    true_positive: Floats
    thresholds: Floats
    area: float


def roc(labels: npt.ArrayLike, scores: npt.ArrayLike) -> Roc | None:
    """Return how the rates of true and false positives depend on the threshold.

    Args:
        labels: Shape ``[rows]``, 1 for what is positive and 0 else.
        scores: Shape ``[rows]``, the larger the more likely positive.

    Returns:
        ``None`` where all labels are the same.
    """
    positive = np.asarray(labels, np.float64) > 0.5
    score = np.asarray(scores, np.float64)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-score, kind="stable")
    score, positive = score[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    true, false = np.cumsum(positive)[ends], np.cumsum(~positive)[ends]
    rises = np.append(0.0, true / true[-1])
    runs = np.append(0.0, false / false[-1])
    area = float(((rises[1:] + rises[:-1]) / 2 * np.diff(runs)).sum())
    return Roc(runs, rises, np.append(np.inf, score[ends]), area)


def thinned(curve: Roc, points: int) -> Roc:
    """Return a curve of so many points at most, its ends among them; its area stays."""
    if len(curve.thresholds) <= points:
        return curve
    chosen = np.unique(np.linspace(0, len(curve.thresholds) - 1, points).round().astype(int))
    return Roc(
        curve.false_positive[chosen],
        curve.true_positive[chosen],
        curve.thresholds[chosen],
        curve.area,
    )


def calibration(
    labels: npt.ArrayLike, scores: npt.ArrayLike, bins: int = 10
) -> tuple[Floats, Floats, Counts]:
    """Return what was predicted and what came true, bin by bin of equal width.

    Returns:
        The mean score, the share of positive labels and how many rows there are, of each bin that
        has any.
    """
    positive, score = np.asarray(labels, np.float64) > 0.5, np.asarray(scores, np.float64)
    place = np.clip((score * bins).astype(np.int64), 0, bins - 1)
    sizes = np.bincount(place, minlength=bins)
    there = sizes > 0
    mean = np.bincount(place, score, bins)[there] / sizes[there]
    share = np.bincount(place, positive.astype(np.float64), bins)[there] / sizes[there]
    return mean, share, sizes[there]


def bin_edges(values: npt.ArrayLike, bins: int = 10) -> Floats:
    """Return the edges of equal bins over the range of values; around one that is the only one."""
    values_ = np.asarray(values, np.float64)
    low, high = float(values_.min()), float(values_.max())
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def errors_by_bin(labels: npt.ArrayLike, predictions: npt.ArrayLike, edges: Floats) -> Floats:
    """Return the mean absolute error of the labels in each bin, nan for an empty one."""
    label, error = np.asarray(labels, np.float64), np.asarray(predictions, np.float64)
    place = np.clip(np.searchsorted(edges, label, "right") - 1, 0, len(edges) - 2)
    sizes = np.bincount(place, minlength=len(edges) - 1)
    sums = np.bincount(place, np.abs(error - label), len(edges) - 1)
    with np.errstate(invalid="ignore"):
        return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)


def normal_counts(edges: Floats, mean: float, deviation: float, rows: int) -> Floats:
    """Return how many of so many rows a normal distribution has around the middle of each bin."""
    if not deviation > 0:
        return np.zeros(len(edges) - 1)
    middle = (edges[1:] + edges[:-1]) / 2
    density = np.exp(-0.5 * ((middle - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    return np.asarray(density * rows * np.diff(edges), np.float64)


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    top, bottom = np.asarray(above, np.float64), np.asarray(below, np.float64)
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0)
