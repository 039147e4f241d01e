"""Columns in which categories stand for the mean label of their rows, that of each row included.

A category of two rows that is encoded by their mean label tells either row half of what is to be
predicted. It shows in the data alone: rows that share a value have this very mean, or it is drawn
towards the mean of all by how few they are. An encoding by other folds, or by other data, does
not have it, and neither has anything that was measured.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..numerics.measures import Floats

Array = npt.NDArray[np.generic]
Counts = npt.NDArray[np.int64]

#: Of so many rows, and different values, a column is judged; of more rows none is read.
LEAST_ROWS, LEAST_VALUES, MOST_ROWS = 500, 10, 200_000
#: A column whose linear correlation with the labels is below this gives away too little.
_LEAST_CORRELATION = 0.15
#: In so many of the rows the value is what it ought to be, to this share of the labels' spread.
_LAWFUL, _EXACT = 0.95, 1e-5
#: Of categories that hold more rows on average none tells much of its own label.
_MOST_ROWS_OF_ONE = 10.0
#: Multiples of a denominator that are tried for the rows of a category.
_MOST_MULTIPLES = 20
#: Labels are whole numbers of one of these parts, to so much.
_SCALES, _OFF = (1.0, 10.0, 100.0), 1e-3
#: Values of categories of equally many rows are compared if there are so many.
_LEAST_ALIKE = 8


def may_encode(column: Array, labels: Array) -> bool:
    """Return whether a column may be made of labels, by the first rows.

    Args:
        column: Shape ``[rows]``.
        labels: Those of these rows.
    """
    values = column.astype(np.float64)
    known = np.isfinite(values)
    values, of = values[known], labels[known].astype(np.float64)
    if len(values) < LEAST_ROWS // 2 or not values.std() > 0 or not of.std() > 0:
        return False
    if np.array_equal(values, np.round(values)) or len(np.unique(values)) < LEAST_VALUES:
        return False
    return bool(abs(np.corrcoef(values, of)[0, 1]) >= _LEAST_CORRELATION)


def rows_of_category(column: Array, labels: Array) -> float:
    """Return how many rows a category has, on average over the rows, that is its mean label.

    Args:
        column: Shape ``[rows]``, of all rows that were encoded, in any order.
        labels: The same shape; numbers, or 0 and 1.

    Returns:
        0.0 where the column is no such encoding, or categories are so large that a row's own label
        is a small part of it. Where labels are whole numbers this is the least that it may be.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> category, label = rng.integers(0, 400, 1000), rng.normal(size=1000)
        >>> mean = np.bincount(category, label) / np.bincount(category).clip(1)
        >>> 3 < rows_of_category(mean[category], label) < 5
        True
        >>> rows_of_category(mean[category], rng.normal(size=1000))
        0.0
    """
    values, of = column.astype(np.float64), labels.astype(np.float64)
    if values.shape != of.shape or not LEAST_ROWS <= len(values) <= MOST_ROWS:
        return 0.0
    scale = next((one for one in _SCALES if _is_whole(of * one)), 1.0)
    values, of = values * scale, of * scale  # labels of a few decimals are whole numbers of these
    spread = float(of.std())
    if not (np.isfinite(values).all() and np.isfinite(of).all() and spread > 0):
        return 0.0
    exact = _EXACT * spread
    # What was computed for one category is one number, but for a last digit.
    rounded = np.round(values / exact * 1024)
    _, first, group, rows = np.unique(
        rounded, return_index=True, return_inverse=True, return_counts=True
    )
    if len(rows) < LEAST_VALUES or len(rows) == len(values):
        return 0.0
    sums = np.bincount(group.ravel(), of).astype(np.float64)
    held = values[first]
    if _is_whole(of):
        found = _of_whole_numbers(held, rows, np.round(sums), exact)
    else:
        found = _of_numbers(held, rows, sums / rows, exact)
    return found if found <= _MOST_ROWS_OF_ONE else 0.0


def _is_whole(values: Floats) -> bool:
    return bool((np.abs(values - np.round(values)) <= _OFF).all())


def _of_whole_numbers(values: Floats, rows: Counts, sums: Floats, exact: float) -> float:
    """Judge by labels that are whole numbers: many categories have the same mean.

    The mean label of the rows that share a value is a fraction, whose denominator divides the
    rows of each category.
    """
    whole = np.round(sums).astype(np.int64)
    least = rows // np.gcd(whole, rows)
    mean = whole / rows
    if rows[least > 1].sum() < (1 - _LAWFUL) * rows.sum():
        return 0.0  # a copy of the labels, and no mean
    lawful = np.abs(values - mean) <= exact
    if rows[lawful].sum() >= _LAWFUL * rows.sum():
        return float((rows * least).sum() / rows.sum())
    return _drawn(values, rows, mean, least, exact)


def _drawn(values: Floats, rows: Counts, mean: Floats, least: Counts, exact: float) -> float:
    """Judge means drawn to that of all: (rows * mean + weight * total) / (rows + weight).

    A weight of one unknown number has to fit all values. What Laplace does, who adds one to each
    count, is not known again: few rows of one mean then have the value of many of another.

    Args:
        values: Shape ``[values]``.
        rows: That have each.
        mean: Their mean label.
        least: The rows of each category, or a divisor.
        exact: How exact values are.
    """
    total = float((rows * mean).sum() / rows.sum())
    sizes = least[:, None] * np.arange(1, _MOST_MULTIPLES + 1)
    divides = rows[:, None] % sizes == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = sizes * (mean - values)[:, None] / (values - total)[:, None]
    fits = divides & np.isfinite(weights) & (weights > 0)
    if not fits.any():
        return 0.0
    weight = _most_common(weights[fits], np.broadcast_to(rows[:, None], fits.shape)[fits])
    drawn = (sizes * mean[:, None] + weight * total) / (sizes + weight)
    lawful_sizes = divides & (np.abs(drawn - values[:, None]) <= exact)
    lawful = lawful_sizes.any(axis=1)
    if lawful.sum() < LEAST_VALUES or rows[lawful].sum() < _LAWFUL * rows.sum():
        return 0.0
    size = np.take_along_axis(sizes, lawful_sizes.argmax(axis=1)[:, None], axis=1)[:, 0]
    return float((rows * size)[lawful].sum() / rows[lawful].sum())


def _most_common(values: Floats, weights: Counts) -> float:
    """Return the value that most weight is on, of positive ones that are a little off."""
    _, place = np.unique(np.round(np.log(values) * 1000), return_inverse=True)
    most = np.bincount(place.ravel(), weights).argmax()
    return float(np.median(values[place.ravel() == most]))


def _of_numbers(values: Floats, rows: Counts, mean: Floats, exact: float) -> float:
    """Judge by labels that are any numbers, where each category has a value of its own.

    How far a mean is drawn to that of all depends on the rows of a category, and on nothing else:
    of categories of equally many rows the value is an affine function of the mean.
    """
    lawful_rows = lawful_values = shared = 0
    for size in np.unique(rows):
        chosen = rows == size
        if chosen.sum() < _LEAST_ALIKE:
            continue
        slope, off = _fitted(mean[chosen], values[chosen])
        if np.mean(off <= exact) >= _LAWFUL and slope > 0:
            lawful_rows += int(size * chosen.sum())
            lawful_values += int(chosen.sum())
            shared += int(size * chosen.sum()) if size > 1 else 0
    # Large categories are few of a size; those whose value is the mean itself need no others.
    plain = np.abs(values - mean) <= exact
    if rows[plain].sum() >= _LAWFUL * rows.sum():
        lawful_rows, lawful_values = int(rows[plain].sum()), int(plain.sum())
        shared = int(rows[plain & (rows > 1)].sum())
    total = int(rows.sum())
    if lawful_values < LEAST_VALUES or lawful_rows < _LAWFUL * total or shared < total // 4:
        return 0.0
    return float((rows.astype(np.float64) ** 2).sum() / total)


def _fitted(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Return the slope of a line, and how far each is off; two that share a value may be far."""
    off = np.zeros(len(x))
    for _ in range(2):
        kept = off <= np.quantile(off, _LAWFUL)
        slope, least = np.polyfit(x[kept], y[kept], 1)
        off = np.abs(slope * x + least - y)
    return float(slope), off
