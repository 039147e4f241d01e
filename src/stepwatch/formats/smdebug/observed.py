"""Which tensors a step shows, and their statistics, also where only reductions were stored."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ...hook_config import Reduction
from ...statistics import (
    ABS_MIN,
    COUNT,
    MAX,
    MIN,
    NAN,
    NEGINF,
    NUM_FIELDS,
    POSINF,
    SUM,
    SUM_ABS,
    SUM_SQ,
    ZEROS,
    Array,
    Row,
    summarize,
)
from .index import Contents
from .reductions import PREFIX, parse_reduction_name

#: The shape of a tensor of which only reductions were stored.
UNKNOWN_SHAPE = (-1,)
_L1 = ("l1", "abs_l1")
_L2 = ("l2", "abs_l2")
_SUM_ABS = ("abs_sum", *_L1)
_EXTREMES = ("min", "max", "abs_min", "abs_max")
# Not the deviations: those of a single element are nan anyway.
_NAN_SHOWS = (*_EXTREMES, "sum", "mean", "abs_mean", *_SUM_ABS, *_L2)
_OVER_ALL = ("sum", "mean", "abs_mean", "prod", "abs_prod", "std", "variance", *_SUM_ABS, *_L2)
# A sum over a mean is a count if it is this close to one.
_CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class Observed:
    """A tensor of a step.

    Args:
        name: Its name.
        has_value: Whether its value was saved.
        reductions: Its stored reductions.
        shape: Its shape, if that was saved by itself.
    """

    name: str
    has_value: bool
    reductions: tuple[Reduction, ...] = ()
    shape: tuple[int, ...] | None = None


def observed(contents: Contents, *, vector_norms: bool) -> tuple[Observed, ...]:
    """Return the tensors of a step, in the order of saving.

    A stored reduction that does not follow from the statistics is shown as a tensor of its own.

    Args:
        contents: What was saved of them.
        vector_norms: Whether norms are over all elements, not of the matrix as NumPy has them.
    """
    found: list[Observed] = []
    names = dict.fromkeys(_tensor(name) for name in contents.places)
    for name in (*names, *(name for name in contents.shapes if name not in names)):
        shape = contents.shapes[name][0] if name in contents.shapes else None
        stored = contents.reductions.get(name, ())
        one = Observed(name, name in contents.places, stored, shape)
        found.append(one)
        follow = _following(one, vector_norms=vector_norms)
        found += [
            Observed(f"{PREFIX}{each.stored}/{name}", has_value=True)
            for each in stored
            if each.stored not in follow
        ]
    return tuple(found)


def _tensor(name: str) -> str:
    parsed = parse_reduction_name(name)
    return parsed[1] if parsed else name


def _following(one: Observed, *, vector_norms: bool) -> set[str]:
    """Return which stored reductions of a tensor follow from its statistics."""
    have = {reduction.stored for reduction in one.reductions}
    counted = one.has_value or one.shape is not None or _has_count(have)
    follow = {"min", "max", "sum", "abs_min", "abs_sum"}
    if vector_norms or (one.shape is not None and len(one.shape) < 2):
        follow |= {*_L1, *_L2}
    if one.has_value or {"min", "max"} <= have:
        follow.add("abs_max")
    if counted:
        follow |= {"mean", "abs_mean"}
        if one.has_value or have & {"sum", "mean"}:
            follow |= {"std", "variance"}
    return follow


def _has_count(have: Collection[str]) -> bool:
    return {"sum", "mean"} <= set(have) or (
        "abs_mean" in have and any(name in have for name in _SUM_ABS)
    )


def row_of_value(value: Array) -> Row:
    """Return the statistics of a value; of text and complex numbers only how many there are."""
    if value.dtype.kind in "Uc":
        row = np.full(NUM_FIELDS, np.nan)
        row[COUNT] = value.size
        return row
    return summarize(value)


def row_of_reductions(reductions: Mapping[Reduction, Array], shape: tuple[int, ...] | None) -> Row:
    """Return what stored reductions tell of the statistics of a tensor.

    smdebug's hook for PyTorch stores them without a dimension: there the variance is divided by
    N - 1, and norms are over all elements. Where they have one dimension NumPy computed them: the
    variance is divided by N, and a norm of a matrix is that of the linear map, which tells
    nothing about its elements.

    What is nan or infinite tells only that there are such elements: where it does, their count
    is 1, which stands for at least one.

    Args:
        reductions: Their values, of one element each.
        shape: The shape of the tensor; ``None`` if that is not known.

    Returns:
        Shape ``[NUM_FIELDS]``, float64, nan for what does not follow.
    """
    by_numpy = any(value.ndim for value in reductions.values())
    values = {
        reduction.stored: float(value.reshape(-1)[0])
        for reduction, value in reductions.items()
        if value.size == 1 and value.dtype.kind not in "Uc"
    }
    if by_numpy and (shape is None or len(shape) != 1):
        values = {name: value for name, value in values.items() if name not in (*_L1, *_L2)}
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    count = _count(known, reductions) if shape is None else math.prod(shape)
    total = _first(known, ("sum",), known.get("mean", math.nan) * count)
    if count == 1 and math.isfinite(total):
        return summarize(np.array(total))
    row = _row(known, count, total, freedom=count if by_numpy else count - 1)
    row[[NAN, POSINF, NEGINF]] = _non_finite(values)
    return row


def _row(known: Mapping[str, float], count: float, total: float, *, freedom: float) -> Row:
    row = np.full(NUM_FIELDS, np.nan)
    row[COUNT] = count
    row[MIN] = known.get("min", math.nan)
    row[MAX] = known.get("max", math.nan)
    row[ABS_MIN] = known.get("abs_min", math.nan)
    row[SUM] = total
    row[SUM_ABS] = _first(known, _SUM_ABS, known.get("abs_mean", math.nan) * count)
    variance = known.get("variance", known.get("std", math.nan) ** 2)
    # From the variance first: the other way round, few digits of it would be left.
    row[SUM_SQ] = variance * freedom + total**2 / count if count else 0.0
    if math.isnan(row[SUM_SQ]):
        row[SUM_SQ] = _first(known, _L2, math.nan) ** 2
    if row[MIN] > 0 or row[MAX] < 0 or row[ABS_MIN] > 0:
        row[ZEROS] = 0
    elif row[MIN] == row[MAX] == 0:
        row[ZEROS] = count
    return row


def _non_finite(values: Mapping[str, float]) -> tuple[float, float, float]:
    """Return how many elements are nan, plus and minus infinity: 0, at least 1, or unknown."""
    # One such element makes all of these nan or infinite, so where one is not, there is none.
    if any(math.isfinite(values.get(name, math.nan)) for name in _OVER_ALL) or (
        math.isfinite(values.get("min", math.nan)) and math.isfinite(values.get("max", math.nan))
    ):
        return 0, 0, 0
    has_nan = any(math.isnan(values.get(name, 0.0)) for name in _NAN_SHOWS)
    return (
        1 if has_nan else math.nan,
        1 if values.get("max") == math.inf else math.nan,
        1 if values.get("min") == -math.inf else math.nan,
    )


def _first(known: Mapping[str, float], names: tuple[str, ...], otherwise: float) -> float:
    return next((known[name] for name in names if name in known), otherwise)


def _count(known: Mapping[str, float], reductions: Mapping[Reduction, Array]) -> float:
    """Return how many elements make these a sum and a mean; nan where that cannot be told."""
    for total, mean in (
        (known.get("sum"), known.get("mean")),
        (_first(known, _SUM_ABS, 0.0), known.get("abs_mean")),
    ):
        if total and mean:
            count = total / mean
            precision = max((_epsilon(value) for value in reductions.values()), default=0.0)
            near = abs(count - round(count)) < _CLOSE and count * precision * 8 < _CLOSE
            if near and round(count) >= 1:
                return float(round(count))
    return math.nan


def _epsilon(value: Array) -> float:
    return float(np.finfo(value.dtype.name).eps) if value.dtype.kind == "f" else 0.0
