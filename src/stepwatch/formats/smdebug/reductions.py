"""Reductions of tensors: their stored names, and their values from statistics.

Each is stored as a tensor of its own, ``smdebug/reductions/<reduction>/<tensor>``. Values are as
torch computes them from the elements. Our statistics leave elements that are not finite out and
count them. A reduction has them in: any nan makes all of them nan, an infinity is a maximum, and no
spread is known beside one. Standard deviation and variance are divided by the elements less one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...numerics.statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
)
from .collections import NEED_VALUES, REDUCTIONS, Reduction

REDUCTION_PREFIX = "smdebug/reductions/"


def reduction_name(reduction: Reduction, tensor: str) -> str:
    """Return the name under which a hook stores a reduction of a tensor.

    What TensorFlow appends to the names of its outputs is left out, as by all hooks of smdebug
    but TensorFlow's own.

    Example:
        >>> reduction_name(Reduction("l2", of_abs=True), "fc/weight:0")
        'smdebug/reductions/abs_l2/fc/weight'
    """
    return f"{REDUCTION_PREFIX}{reduction.stored}/{re.sub(':[0-9]+', '', tensor)}"


@lru_cache(maxsize=65_536)
def parse_reduction_name(name: str) -> tuple[Reduction, str] | None:
    """Return the reduction and the tensor of a stored name; ``None`` for that of a value.

    Example:
        >>> parse_reduction_name("smdebug/reductions/abs_max/fc/weight")
        (Reduction(name='max', of_abs=True), 'fc/weight')
    """
    if not name.startswith(REDUCTION_PREFIX):
        return None
    stored, _, tensor = name[len(REDUCTION_PREFIX) :].partition("/")
    of_abs = stored.startswith("abs_")
    which = stored.removeprefix("abs_")
    return (Reduction(which, of_abs), tensor) if which in REDUCTIONS and tensor else None


Rows = npt.NDArray[np.float64]
#: The fields of statistics, shape ``[NUM_FIELDS, tensors]``.
Columns = npt.NDArray[np.float64]
Column = npt.NDArray[np.float64]

#: All that follows from statistics and says something, in the order of storing.
DERIVED = tuple(
    Reduction.parse(text)
    for text in (
        *("min", "max", "mean", "std", "variance", "sum", "l1", "l2"),
        *("abs_min", "abs_max", "abs_mean"),
    )
)


def reductions(rows: Rows, wanted: Sequence[Reduction]) -> Rows:
    """Return reductions of many tensors.

    Args:
        rows: Statistics, shape ``[tensors, NUM_FIELDS]``. Where the count is nan it is not known,
            and what needs it is nan.
        wanted: Which; those of ``NEED_VALUES`` do not follow from statistics and become nan.

    Returns:
        Shape ``[tensors, wanted]``, float64.
    """
    columns = rows.T.copy()  # each contiguous: many short operations follow
    found = np.empty((len(wanted), len(rows)))
    with np.errstate(all="ignore"):
        for one, out in zip(wanted, found, strict=True):
            out[:] = _OF[one.name](columns, one.of_abs)
    found = found.T
    odd = columns[NAN] + columns[POSINF] + columns[NEGINF] > 0
    if odd.any():
        for row in np.flatnonzero(odd):
            found[row] = [_beside_infinity(rows[row], one) for one in wanted]
    return found


def _abs_max(columns: Columns) -> Column:
    largest: Column = np.maximum(-columns[MIN], columns[MAX])
    return largest


def _variance(columns: Columns, of_abs: bool) -> Column:
    count, total = columns[COUNT], columns[SUM_ABS if of_abs else SUM]
    squares = columns[SUM_SQ] - total * total / count
    variance: Column = np.maximum(squares, 0.0) / (count - 1)  # of one element: nan
    return variance


_OF: dict[str, Callable[[Columns, bool], Column | float]] = {
    "min": lambda columns, of_abs: columns[ABS_MIN if of_abs else MIN],
    "max": lambda columns, of_abs: _abs_max(columns) if of_abs else columns[MAX],
    "mean": lambda columns, of_abs: columns[SUM_ABS if of_abs else SUM] / columns[COUNT],
    "std": lambda columns, of_abs: np.sqrt(_variance(columns, of_abs)),
    "variance": _variance,
    "sum": lambda columns, of_abs: columns[SUM_ABS if of_abs else SUM],
    "l1": lambda columns, _: columns[SUM_ABS],
    "l2": lambda columns, _: np.sqrt(columns[SUM_SQ]),
    **{name: lambda *_: np.nan for name in NEED_VALUES},
}


def _beside_infinity(row: Column, one: Reduction) -> float:
    """Return a reduction of a tensor that has elements that are not finite."""
    positive, negative = row[POSINF] > 0, row[NEGINF] > 0
    if row[NAN] > 0 or one.name in (*NEED_VALUES, "std", "variance"):
        return np.nan
    if one.of_abs or one.name in ("l1", "l2"):
        positive, negative = positive or negative, False
    if one.name == "min":
        finite = row[ABS_MIN if one.of_abs else MIN]
        return -np.inf if negative else _or(finite, np.inf)
    if one.name == "max":
        return np.inf if positive else _or(row[MAX], -np.inf)
    if positive and negative:
        return np.nan
    return np.inf if positive else -np.inf


def _or(finite: float, otherwise: float) -> float:
    """Return the extreme of the finite elements, or what it is if there are none."""
    return otherwise if np.isnan(finite) else finite


def from_values(array: npt.NDArray[np.generic], one: Reduction) -> float:
    """Return the product or the median of an array; of two middle elements the lower one.

    An empty array has a product of 1 and a median of nan.
    """
    values = np.asarray(array, np.float64).ravel()
    values = np.abs(values) if one.of_abs else values
    if one.name == "prod":
        with np.errstate(all="ignore"):
            return float(values.prod())
    if not values.size or np.isnan(values).any():
        return np.nan
    middle = (values.size - 1) // 2
    return float(np.partition(values, middle)[middle])
