"""Whether two values of a tensor are alike, and the rule on tensors that stay as they are.

The cheapest evidence that proves it is used. Equal digests prove that nothing changed, and
statistics further apart than the tolerance allows that something did. Statistics that are equal to
the last bit make it likely that nothing did: only the same elements in another order have the
same. Full values are compared where neither is proven.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..judge.declaration import parameter
from ..judge.rule import EvidenceView, Findings, Selection
from ..judge.step_view import StepView, TensorGroup
from ..model.finding import Finding
from ..model.record import Layout, TensorInfo, is_integer
from ..numerics.measures import Floats, listed, non_finite, number
from ..numerics.statistics import COUNT, MAX, MIN, NAN, NUM_FIELDS, SUM, SUM_ABS, SUM_SQ, ZEROS
from .shared import Array, TensorRule, is_trainable

Equalities = npt.NDArray[np.int8]

#: What two values are. ``PROBABLY_EQUAL`` and ``UNDECIDED`` are left to their full values; without
#: these, what is above ``UNDECIDED`` counts as alike.
EQUAL, PROBABLY_EQUAL, UNDECIDED, UNEQUAL = 2, 1, 0, -1

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

    def for_dtypes(self, infos: Sequence[TensorInfo]) -> Floats:
        """Return ``rtol`` and ``atol`` for each tensor, 0 for integers; shape ``[tensors, 2]``."""
        exact = [is_integer(info.dtype) for info in infos]
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


def compare(
    older: tuple[Floats, Digests],
    newer: tuple[Floats, Digests],
    tolerance: Floats,
    *,
    equal_nan: bool,
) -> Equalities:
    """Return what statistics and digests prove of pairs of values of one shape.

    Args:
        older: Statistics, shape ``[..., NUM_FIELDS]``, nan where unknown, and digests ``[...]``.
        newer: Of shapes that broadcast with those.
        tolerance: ``rtol`` and ``atol``, shape ``[..., 2]``.
        equal_nan: Whether nan is like nan.

    Returns:
        Shape ``[...]``, int8: ``EQUAL``, ``PROBABLY_EQUAL``, ``UNDECIDED`` or ``UNEQUAL``.
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
    unlike |= _differ(here, there, tolerance[..., 0], tolerance[..., 1])
    found = np.where(both & same, EQUAL, np.where(likely, PROBABLY_EQUAL, UNDECIDED))
    return np.where(unlike, UNEQUAL, found).astype(np.int8)


def sums_differ(here: Floats, there: Floats, tolerance: Floats) -> npt.NDArray[np.bool_]:
    """Return where the sums of magnitudes alone prove two values unlike, shape ``[...]``.

    Args:
        here: Statistics of the older ones, shape ``[..., NUM_FIELDS]``.
        there: Of the newer ones.
        tolerance: As for ``compare``.
    """
    sums = here[..., SUM_ABS], there[..., SUM_ABS]
    allowed = there[..., COUNT] * tolerance[..., 1] + tolerance[..., 0] * sums[1]
    apart: npt.NDArray[np.bool_] = np.abs(sums[0] - sums[1]) > allowed + _ROUNDING * (
        sums[0] + sums[1]
    )
    return apart


def _differ(here: Floats, there: Floats, rtol: Floats, atol: Floats) -> npt.NDArray[np.bool_]:
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


SlotIndices = npt.NDArray[np.intp]


class Slots(NamedTuple):
    """What is the same of all steps of a layout: index, number of the shape and tolerance of each
    tensor, shape ``[tensors]`` each but for the last, ``[tensors, 2]``."""

    indices: SlotIndices
    shapes: SlotIndices
    tolerance: Floats


class ValueHistory:
    """The last values of each tensor; a tensor keeps its index, whatever else a step holds.

    Args:
        depth: So many values of each.
        tolerance: With which they are compared.
    """

    def __init__(self, depth: int, tolerance: Tolerance) -> None:
        self._depth, self._tolerance = depth, tolerance
        self._index_of: dict[str, int] = {}
        self._number_of: dict[tuple[int, ...], int] = {}
        self._known: WeakKeyDictionary[Layout, Slots] = WeakKeyDictionary()
        self._count = np.zeros(0, np.int64)
        self.rows = np.zeros((0, depth, NUM_FIELDS))
        self.digests = Digests(np.zeros((0, depth), np.uint64), np.zeros((0, depth), bool))
        #: The global step of each value, and the number of its shape; as ``where`` numbers them.
        self.steps = np.zeros((0, depth), np.int64)
        self.shapes = np.zeros((0, depth), np.intp)
        #: The full values of the steps, of which many tensors share one mapping.
        self.raw = np.empty((0, depth), object)

    def where(self, group: TensorGroup, names: tuple[str, ...]) -> Slots:
        """Return where the tensors are kept."""
        known = self._known.get(group.record.layout)
        if known is None:
            number, index = self._number_of, self._index_of
            infos = group.infos
            shapes = [number.setdefault(info.shape, len(number)) for info in infos]
            indices = [index.setdefault(name, len(index)) for name in names]
            tolerance = self._tolerance.for_dtypes(infos)
            known = Slots(np.array(indices, np.intp), np.array(shapes, np.intp), tolerance)
            self._known[group.record.layout] = known
            self._grow(len(index) - len(self._count))
        return known

    def is_full(self, indices: SlotIndices) -> npt.NDArray[np.bool_]:
        """Return which tensors have as many values as are kept, shape ``[tensors]``."""
        full: npt.NDArray[np.bool_] = self._count[indices] >= self._depth
        return full

    def add(self, where: Slots, group: TensorGroup, digests: Digests) -> None:
        """Take in the values of a step; each replaces the oldest of its tensor."""
        at = where.indices, self._count[where.indices] % self._depth
        self.rows[at] = group.record.statistics[group.rows]
        self.digests.values[at], self.digests.known[at] = digests.values, digests.known
        self.steps[at], self.shapes[at] = group.record.step, where.shapes
        raw = group.record.raw
        self.raw[at] = _Once(raw) if raw else None
        self._count[where.indices] += 1

    def full_value(self, index: int, slot: int, name: str) -> npt.NDArray[np.generic] | None:
        """Return a full value that was saved; ``None`` for any other."""
        kept = self.raw[index, slot]
        return None if kept is None else kept.values.get(name)

    def _grow(self, more: int) -> None:
        for name in ("rows", "steps", "shapes", "raw", "_count"):
            setattr(self, name, _longer(getattr(self, name), more))
        digests = self.digests
        self.digests = Digests(_longer(digests.values, more), _longer(digests.known, more))


T = TypeVar("T", bound=np.generic)


def _longer(array: npt.NDArray[T], more: int) -> npt.NDArray[T]:
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])


class _Once:
    """Holds a mapping; NumPy would look into it, and set a tensor to each of its names."""

    def __init__(self, values: Mapping[str, npt.NDArray[np.generic]]) -> None:
        self.values = values


class UnchangedTensor(TensorRule):
    """Tensors of which the last values are all the same, within a tolerance.

    Each older value is compared with the newest: a slow drift is a change. Frozen parameters are
    left out. Values of one mode are compared with each other, and of one worker.
    """

    name = "unchanged_tensor"
    sign = "unchanged"
    view = EvidenceView("updates")
    compat: ClassVar[Mapping[str, object]] = {"include_frozen": True}

    num_steps: int = parameter(3, "So many saved values.", at_least=2)
    rtol: float = parameter(1e-5, "Elements may differ by this fraction of the newest.", at_least=0)
    atol: float = parameter(1e-8, "And by this. Integers must be equal.", at_least=0)
    equal_nan: bool = parameter(False, "Whether nan is the same as nan.")
    include_frozen: bool = parameter(False, "Look at frozen parameters, too; `true` in compat.")

    def begin(self) -> None:
        super().begin()
        self.tolerance = Tolerance(self.rtol, self.atol, self.equal_nan)
        self.evidence = (
            *(f"{name}:digest:every=10" for name in self.collection_names),
            *(f"/{regex}/:digest:every=10" for regex in self.tensor_regex),
        )
        if not self.include_frozen:
            self._tensors = Selection(self.collection_names, self.tensor_regex, keep=is_trainable)
        self._pasts: dict[tuple[str, str], ValueHistory] = {}
        self._unsure: dict[str, None] = {}

    def check(self, step: StepView) -> Findings:
        for group, names in self._tensors.groups(step):
            key = group.record.worker, step.mode.value
            past = self._pasts.get(key)
            if past is None:
                past = self._pasts[key] = ValueHistory(self.num_steps - 1, self.tolerance)
            where, digests = past.where(group, names), Digests.of(group, names)
            same = self._is_unchanged(past, where, group, names, digests)
            for leader, members in self.onsets(key, names, same).items():
                steps = np.sort(past.steps[where.indices[members[0]]]).tolist()
                yield self._finding(step, group, [names[one] for one in members], leader, steps)
            past.add(where, group, digests)

    def unevaluated(self) -> str | None:
        if self._evaluated:
            return None
        if self._unsure:
            return (
                f"statistics alone cannot tell whether {listed(self._unsure)} changed by more than"
                " the tolerance; save digests or values, as with: --save weights:digest"
            )
        return self._tensors.missing() or f"no tensor was seen at {self.num_steps} steps of a mode"

    def _is_unchanged(
        self,
        past: ValueHistory,
        where: Slots,
        group: TensorGroup,
        names: tuple[str, ...],
        digests: Digests,
    ) -> npt.NDArray[np.bool_]:
        """Return which tensors are what they were at all steps that are kept."""
        rows = group.record.statistics[group.rows]
        same: npt.NDArray[np.bool_] = past.is_full(where.indices) & (rows[:, COUNT] != 0)
        # nearly everything has changed since, and one sum proves it
        moved = sums_differ(past.rows[where.indices, 0], rows, where.tolerance)
        self._evaluated |= bool((same & moved).any())
        same &= ~moved
        left = np.flatnonzero(same)
        if len(left):
            same[left] = self._are_alike(past, where, group, names, digests, left)
        return same

    def _are_alike(
        self,
        past: ValueHistory,
        where: Slots,
        group: TensorGroup,
        names: tuple[str, ...],
        digests: Digests,
        left: SlotIndices,
    ) -> npt.NDArray[np.bool_]:
        """Return, of the tensors at these indices, which are what they were at all steps."""
        indices = where.indices[left]
        before = Digests(past.digests.values[indices], past.digests.known[indices])
        now = Digests(digests.values[left, np.newaxis], digests.known[left, np.newaxis])
        found = compare(
            (past.rows[indices], before),
            (group.record.statistics[group.rows[left], np.newaxis], now),
            where.tolerance[left, np.newaxis],
            equal_nan=self.tolerance.equal_nan,
        )
        found[past.shapes[indices] != where.shapes[left, np.newaxis]] = UNEQUAL
        self._evaluated |= bool((found != UNDECIDED).all(axis=1).any())
        open_ = found == UNDECIDED if not group.record.raw else found != EQUAL
        for index in np.flatnonzero((found != UNEQUAL).all(axis=1) & open_.any(axis=1)):
            self._request_values(past, int(indices[index]), names[left[index]], group, found[index])
        return np.asarray((found > UNDECIDED).all(axis=1))

    def _request_values(
        self,
        past: ValueHistory,
        index: int,
        name: str,
        group: TensorGroup,
        found: npt.NDArray[np.int8],
    ) -> None:
        """Settle what is not proven of one tensor, where full values were saved."""
        for slot in np.flatnonzero(found != EQUAL).tolist():
            older, newest = past.full_value(index, slot, name), group.record.raw.get(name)
            if newest is not None and older is not None:
                found[slot] = EQUAL if self.tolerance.allows(older, newest) else UNEQUAL
            elif found[slot] == UNDECIDED:
                self._unsure[name] = None

    def _finding(
        self, step: StepView, group: TensorGroup, names: list[str], leader: str, steps: list[int]
    ) -> Finding:
        rtol, atol = number(self.tolerance.rtol), number(self.tolerance.atol)
        also = f"; nor did {listed(names[1:])}" if len(names) > 1 else ""
        return self.finding(
            step,
            names[0],
            f"{names[0]} did not change from step {steps[0]} to step {step.train_step}, over"
            f" {self.num_steps} saved values (rtol {rtol}, atol {atol}){also}",
            worker=group.record.worker,
            value=float(len(names)),
            threshold=0.0,
            condition=f"{leader} {step.mode.value}",
            remedy="see whether an optimizer holds it, whether its learning rate is 0, and whether"
            " it is frozen or cut off (detach(), stop_gradient)",
            evidence={"steps": [*steps, step.number], "tensors": names[:20]},
        )
