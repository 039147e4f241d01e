"""Whether two values of a tensor are alike, by the cheapest evidence that proves it.

Equal digests prove that nothing changed, and statistics further apart than the tolerance allows
that something did. Statistics that are equal to the last bit make it likely that nothing did: only
the same elements in another order have the same. Full values are asked for where neither is
proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..record import TensorInfo
from ..statistics import COUNT, MAX, MIN, NAN, SUM, SUM_ABS, SUM_SQ, ZEROS
from .checks import non_finite
from .step_view import TensorGroup

Rows = npt.NDArray[np.float64]
Verdicts = npt.NDArray[np.int8]
Array = npt.NDArray[np.generic]

#: What two values are. ``LIKELY`` and ``UNSURE`` are left to their full values; without these, what
#: is above ``UNSURE`` counts as alike.
ALIKE, LIKELY, UNSURE, UNLIKE = 2, 1, 0, -1

# How far float64 sums of nearly the same elements may be apart by rounding alone.
_ROUNDING = 1e-12
_SIGNATURE = [MIN, MAX, SUM, SUM_ABS, SUM_SQ, ZEROS]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much elements may differ: ``|a - b| <= atol + rtol * |b|``, as ``numpy.allclose``.

    Args:
        rtol: As a fraction of the newer one. At least 0.
        atol: In all cases. At least 0.
        equal_nan: Whether nan is like nan.
    """

    rtol: float = 1e-5
    atol: float = 1e-8
    equal_nan: bool = False

    def for_dtypes(self, infos: Sequence[TensorInfo]) -> Rows:
        """Return ``rtol`` and ``atol`` for each tensor, 0 for integers; shape ``[tensors, 2]``."""
        exact = [info.dtype.startswith(("int", "uint", "bool")) for info in infos]
        return np.where(np.array(exact, bool)[:, np.newaxis], 0.0, (self.rtol, self.atol))

    def allows(self, older: Array, newer: Array) -> bool:
        """Return whether all elements of two full values are alike; integers must be equal."""
        if older.shape != newer.shape:
            return False
        if newer.dtype.kind not in "fV":
            return bool(np.array_equal(older, newer))
        here, there = older.astype(np.float64), newer.astype(np.float64)
        return np.allclose(here, there, self.rtol, self.atol, self.equal_nan)


@dataclass(frozen=True, slots=True)
class Digests:
    """The digests of some tensors, shape ``[...]`` each.

    Args:
        values: uint64.
        known: Whether there is one.
    """

    values: npt.NDArray[np.uint64]
    known: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, group: TensorGroup, names: Sequence[str]) -> Digests:
        """Return those of a group of tensors."""
        digests = group.record.digests
        if not digests:
            return cls(np.zeros(len(names), np.uint64), np.zeros(len(names), bool))
        found = [digests.get(name) for name in names]
        return cls(
            np.array([value or 0 for value in found], np.uint64),
            np.array([value is not None for value in found], bool),
        )


def verdicts(
    older: tuple[Rows, Digests], newer: tuple[Rows, Digests], tolerance: Rows, *, equal_nan: bool
) -> Verdicts:
    """Return what statistics and digests prove of pairs of values of one shape.

    Args:
        older: Statistics, shape ``[..., NUM_FIELDS]``, nan where unknown, and digests ``[...]``.
        newer: Of shapes that broadcast with those.
        tolerance: ``rtol`` and ``atol``, shape ``[..., 2]``.
        equal_nan: Whether nan is like nan.

    Returns:
        Shape ``[...]``, int8: ``ALIKE``, ``LIKELY``, ``UNSURE`` or ``UNLIKE``.
    """
    (here, digests_here), (there, digests_there) = older, newer
    both = digests_here.known & digests_there.known
    same = digests_here.values == digests_there.values
    likely = (here[..., _SIGNATURE] == there[..., _SIGNATURE]).all(axis=-1)
    # a nan field is unknown, and a comparison with it proves nothing
    unlike = (np.abs(here[..., COUNT:ZEROS] - there[..., COUNT:ZEROS]) > 0).any(axis=-1)
    if not equal_nan:
        unlike |= (here[..., NAN] > 0) | (there[..., NAN] > 0)
    unlike |= both & ~same & ~tolerance.any(axis=-1)
    unlike |= _are_apart(here, there, tolerance[..., 0], tolerance[..., 1])
    found = np.where(both & same, ALIKE, np.where(likely, LIKELY, UNSURE))
    return np.where(unlike, UNLIKE, found).astype(np.int8)


def sums_are_apart(here: Rows, there: Rows, tolerance: Rows) -> npt.NDArray[np.bool_]:
    """Return where the sums of magnitudes alone prove two values unlike, shape ``[...]``.

    Args:
        here: Statistics of the older ones, shape ``[..., NUM_FIELDS]``.
        there: Of the newer ones.
        tolerance: As for ``verdicts``.
    """
    sums = here[..., SUM_ABS], there[..., SUM_ABS]
    allowed = there[..., COUNT] * tolerance[..., 1] + tolerance[..., 0] * sums[1]
    apart: npt.NDArray[np.bool_] = np.abs(sums[0] - sums[1]) > allowed + _ROUNDING * (
        sums[0] + sums[1]
    )
    return apart


def _are_apart(here: Rows, there: Rows, rtol: Rows, atol: Rows) -> npt.NDArray[np.bool_]:
    """Return where no elements within the tolerance have such statistics; shape ``[...]``.

    If every ``|a - b| <= atol + rtol * |b|``, then sums, sums of magnitudes and norms are as
    near as the sums and the norm of the right side, and extremes as near as its largest.
    """
    size = there[..., COUNT] - non_finite(there)
    rounding = _ROUNDING * (here[..., SUM_ABS] + there[..., SUM_ABS])
    summed = size * atol + rtol * there[..., SUM_ABS] + rounding
    largest = np.maximum(np.abs(there[..., MIN]), np.abs(there[..., MAX]))
    norm_here, norm_there = np.sqrt(here[..., SUM_SQ]), np.sqrt(there[..., SUM_SQ])
    normed = np.sqrt(size) * atol + (rtol + _ROUNDING) * norm_there
    apart: npt.NDArray[np.bool_] = (
        (np.abs(here[..., SUM] - there[..., SUM]) > summed)
        | (np.abs(here[..., SUM_ABS] - there[..., SUM_ABS]) > summed)
        | (np.abs(norm_here - norm_there) > normed)
        | (np.abs(here[..., [MIN, MAX]] - there[..., [MIN, MAX]]).max(axis=-1)
           > atol + rtol * largest)
    )  # fmt: skip
    return apart
