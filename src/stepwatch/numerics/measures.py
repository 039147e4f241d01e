"""The arithmetic of the rules: numbers in, numbers out, nothing remembered.

A rule that must be trusted is a few lines around functions of this module. None of them raises
for nan, infinity or empty input; each says what it gives then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .statistics import COUNT, NAN, NEGINF, POSINF, SUM, SUM_ABS, SUM_SQ, ZEROS

Floats = npt.NDArray[np.float64]

#: What the median absolute deviation of a normal distribution is multiplied by to give its std.
MAD_TO_STD = 1.4826
#: Stands in for a zero that something is divided by.
TINY = 1e-12


def number(value: float) -> str:
    """Return a number with three significant digits.

    Example:
        >>> number(0.000123456), number(20.0), number(float("nan"))
        ('0.000123', '20', 'nan')
    """
    return f"{value:.3g}"


def by_x(shape: Iterable[int]) -> str:
    """Return a shape as messages have it.

    Example:
        >>> by_x((32, 10)), by_x(())
        ('32x10', '()')
    """
    return "x".join(map(str, shape)) or "()"


def listed(names: Iterable[str], *, most: int = 3) -> str:
    """Return the first few names and the number of the others.

    Example:
        >>> listed(["a", "b", "c", "d", "e"])
        'a, b, c and 2 more'
    """
    everything = list(names)
    text = ", ".join(everything[:most])
    return f"{text} and {len(everything) - most} more" if len(everything) > most else text


def non_finite(rows: Floats) -> Floats:
    """Return how many elements are nan or infinite.

    Args:
        rows: Statistics, shape ``[..., NUM_FIELDS]``.

    Returns:
        Shape ``[...]``, float64.
    """
    count: Floats = rows[..., NAN] + rows[..., POSINF] + rows[..., NEGINF]
    return count


#: Up to so many rows plain numbers cost less than arrays.
FEW_ROWS = 8


def any_non_finite(rows: Floats) -> bool:
    """Return whether any element is nan or infinite; what is not known, a count of nan, is not.

    Args:
        rows: Statistics, shape ``[tensors, NUM_FIELDS]``.
    """
    counts = rows[:, NAN : NEGINF + 1]
    if len(rows) > FEW_ROWS:
        return bool((counts > 0).any())
    return any(count > 0 for row in counts.tolist() for count in row)


def scalar_value(row: Floats) -> float:
    """Return the mean of a scalar's parts, not finite as soon as one part is not.

    The mean of a row is over its finite elements; a loss of which one micro-batch is nan is nan.

    Args:
        row: Statistics, shape ``[NUM_FIELDS]``.

    Returns:
        The mean; nan when empty.
    """
    fields = row.tolist()
    if fields[NAN] or not fields[COUNT] or (fields[POSINF] and fields[NEGINF]):
        return math.nan
    if fields[POSINF] or fields[NEGINF]:
        return math.inf if fields[POSINF] else -math.inf
    return float(fields[SUM] / fields[COUNT])


def magnitude(rows: Floats) -> Floats:
    """Return the mean magnitude of the elements; over the non-zero ones where most are zero.

    An embedding's gradient is zero but for the rows that a batch touched. Its mean over
    everything says how large the vocabulary is, not how large the gradient.

    Args:
        rows: Statistics, shape ``[tensors, NUM_FIELDS]``.

    Returns:
        Shape ``[tensors]``, float64; 0 where all elements are zero, nan where none is finite.
    """
    finite = rows[:, COUNT] - non_finite(rows)
    zeros = rows[:, ZEROS]
    sparse = zeros * 2 > finite
    over = np.where(sparse & (zeros < finite), finite - zeros, finite)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = rows[:, SUM_ABS] / over
    return result


def zero_percent(rows: Floats) -> Floats:
    """Return the percentage of zeros among all elements.

    Args:
        rows: Statistics, shape ``[tensors, NUM_FIELDS]``.

    Returns:
        Shape ``[tensors]``, float64, 0 to 100; nan where there is no element.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = 100.0 * rows[:, ZEROS] / rows[:, COUNT]
    return result


def global_norm(rows: Floats) -> float:
    """Return the l2 norm of all tensors together; nan when any element is not finite.

    Args:
        rows: Statistics, shape ``[tensors, NUM_FIELDS]``.
    """
    if (rows[:, NAN : NEGINF + 1] > 0).any():
        return math.nan
    return math.sqrt(float(rows[:, SUM_SQ].sum()))


def top_shares(
    names: Sequence[str], squares: npt.ArrayLike, *, most: int = 5
) -> list[tuple[str, float]]:
    """Return the names with the largest shares of a sum, largest first.

    Args:
        names: One for each square.
        squares: Shape ``[tensors]``, at least 0.
        most: How many to return at most.

    Returns:
        Names and fractions of 1; empty when the sum is 0 or not finite.

    Example:
        >>> top_shares(["a", "b", "c"], [1.0, 3.0, 0.0], most=2)
        [('b', 0.75), ('a', 0.25)]
    """
    values = np.asarray(squares, np.float64)
    total = float(values.sum())
    if not (0 < total < math.inf):
        return []
    order = np.argsort(-values, kind="stable")[:most]
    return [(names[index], float(values[index] / total)) for index in order]


def robust_z(value: float, window: npt.ArrayLike) -> tuple[float, float]:
    """Return how many robust standard deviations a value lies above the median of a window.

    Args:
        value: What is judged.
        window: Shape ``[values]``, float64; not finite ones are left out.

    Returns:
        The score and the median. Both nan for a window without a finite value.

    Example:
        >>> score, median = robust_z(10.0, [1.0, 2.0, 3.0])
        >>> round(score, 2), median
        (5.4, 2.0)
    """
    values = np.asarray(window, np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return math.nan, math.nan
    median = float(np.median(values))
    spread = MAD_TO_STD * float(np.median(np.abs(values - median)))
    return (value - median) / (spread + TINY), median


def robust_log_z(value: float, window: npt.ArrayLike) -> float:
    """Return ``robust_z`` of the logarithms; infinity where not all values are positive.

    Example:
        >>> round(robust_log_z(np.e**8, np.exp([1.0, 2.0, 3.0])), 2)
        4.05
    """
    values = np.asarray(window, np.float64)
    values = values[np.isfinite(values)]
    if not (value > 0 and (values > 0).all()):
        return math.inf
    return robust_z(math.log(value), np.log(values))[0]


def theil_sen(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the median of the slopes between all pairs of points.

    Args:
        x: Shape ``[points]``, all different.
        y: Shape ``[points]``, finite.

    Returns:
        The slope; nan for fewer than two points. Work and memory grow with the square of the
        number of points: give it a few hundred.

    Example:
        >>> theil_sen([0, 1, 2, 3, 4], [0.0, 2.0, 4.0, 100.0, 8.0])
        2.0
    """
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(xs) < 2:
        return math.nan
    first, second = np.triu_indices(len(xs), k=1)
    return float(np.median((ys[second] - ys[first]) / (xs[second] - xs[first])))


def loss_fall_percent(then: float, now: float) -> float:
    """Return by how many percent of its earlier magnitude a loss fell; negative where it rose.

    Example:
        >>> loss_fall_percent(2.0, 1.5), loss_fall_percent(-1.0, -1.5)
        (25.0, 50.0)
    """
    return 100.0 * (then - now) / max(abs(then), TINY)


def loss_verdict(
    then: float, now: float, *, diff_percent: float, increase_percent: float, strict: bool = False
) -> str:
    """Say what is wrong with the way a loss went, ``""`` for nothing.

    A fall below ``diff_percent`` is a plateau; a rise up to ``increase_percent`` is noise.

    Args:
        then: The earlier loss. Where it is not finite, any finite loss is an improvement.
        now: The later loss.
        diff_percent: The least fall that counts as one.
        increase_percent: The largest rise that is tolerated.
        strict: Tolerate no rise.

    Returns:
        ``""``, ``"plateau"``, ``"rose"`` or ``"not finite"``.
    """
    if not math.isfinite(now):
        return "not finite"
    if not math.isfinite(then):
        return ""
    fall = loss_fall_percent(then, now)
    if 0 <= fall < diff_percent:
        return "plateau"
    return "rose" if fall < 0 and (strict or -fall > increase_percent) else ""


def overfit_ratio(train: float, validation: float) -> float:
    """Return by what fraction of the training loss the validation loss lies above it.

    Returns:
        Infinity for a validation loss that is not finite, nan for such a training loss.

    Example:
        >>> overfit_ratio(0.5, 0.75)
        0.5
    """
    if not math.isfinite(train):
        return math.nan
    if not math.isfinite(validation):
        return math.inf
    return (validation - train) / (abs(train) or TINY)


def dtype_max(dtype: str) -> float:
    """Return the largest finite value of a floating dtype by name; nan for any other.

    Example:
        >>> dtype_max("float16"), dtype_max("int64")
        (65504.0, nan)
    """
    finfo: Callable[[str], Any] = ml_dtypes.finfo  # ml_dtypes has no types
    try:
        return float(finfo(dtype).max)
    except (TypeError, ValueError):
        return math.nan


def headroom_bits(dtype: str, abs_max: float) -> float:
    """Return how many doublings ``abs_max`` is away from the overflow of a dtype.

    Returns:
        Nan for no floating dtype or for a magnitude that is zero or not finite.

    Example:
        >>> round(headroom_bits("float16", 16376.0))
        2
    """
    largest = dtype_max(dtype)
    if not (0 < abs_max < math.inf) or math.isnan(largest):
        return math.nan
    return math.log2(largest / abs_max)


def order_alike(one: Floats, other: Floats) -> bool:
    """Return whether two columns put rows in the same order, or in that turned round.

    Each is then a function of the other that only rises or only falls. Ties are of the same rows.

    Args:
        one: Shape ``[rows]``.
        other: The same shape.

    Returns:
        False also where a number is not finite, or fewer than half of the rows differ.

    Example:
        >>> price = np.array([3.0, 1.0, 9.0, 4.0])
        >>> order_alike(price, np.log(price)), order_alike(price, -price)
        (True, True)
        >>> order_alike(price, np.array([3.0, 1.0, 4.0, 9.0]))
        False
    """
    rows = np.argsort(one)
    steps = np.diff(one[rows]), np.diff(other[rows])
    if not all(np.isfinite(each).all() for each in steps):
        return False
    signs = [np.sign(each) for each in steps]
    same = np.array_equal(signs[0], signs[1]) or np.array_equal(signs[0], -signs[1])
    return same and bool(2 * np.count_nonzero(signs[0]) >= len(signs[0]))


def rank_correlation(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return Spearman's coefficient, from -1 to 1; 0 where one is the same throughout.

    Ties have any order, which takes them nearer to 0.

    Args:
        one: Shape ``[n]``.
        other: Of the same shape; places where either is not finite are left out.

    Example:
        >>> rank_correlation([1, 5, 9], [2, 20, 200]), rank_correlation([1, 5, 9], [9, 1, 0])
        (1.0, -1.0)
    """
    x, y = (np.asarray(each, np.float64) for each in (one, other))
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return 0.0
    middle = (len(x) - 1) / 2
    a, b = (np.argsort(np.argsort(each)) - middle for each in (x, y))
    return float(a @ b / (a @ a))  # both have the same ranks


def correlations(columns: Floats, target: Floats) -> Floats:
    """Return how each column correlates with a target, in magnitude.

    Args:
        columns: Shape ``[rows, columns]``.
        target: Shape ``[rows]``.

    Returns:
        Pearson's coefficient, shape ``[columns]``, from 0 to 1; 0 for what does not vary or is
        not finite.
    """
    x = columns - columns.mean(axis=0)
    y = target - target.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.abs(x.T @ y) / np.sqrt((x**2).sum(axis=0) * (y**2).sum())
    result: Floats = np.nan_to_num(found, posinf=0.0)
    return result
