"""Where two short trainings part that are held in memory, and how far apart noise brings them.

``divergence`` finds where two stored runs part; this compares a few steps, all of them, and lets
their tensors have other shapes: one batch may have been computed in two halves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..model.steps import Mode
from ..numerics.statistics import COUNT, FIELDS, SUM, SUM_ABS, ZEROS
from .comparison import MOST, field_distance, field_scale, is_floating, rounding
from .divergence import MARGIN, ROUNDINGS
from .explain import stage_of

Row = npt.NDArray[np.float64]
StepKey = tuple[Mode, int]
_STATE = ("weights", "buffers")


@dataclass(frozen=True, slots=True)
class HeldStep:
    """What was captured of one step.

    Args:
        mode: The mode of the step.
        mode_step: The step within it.
        names: The tensors, in the order of execution.
        collections: The built-in collection of each.
        dtypes: The dtype of each.
        statistics: Shape ``[tensors, NUM_FIELDS]``, float64.
    """

    mode: Mode
    mode_step: int
    names: tuple[str, ...]
    collections: tuple[str, ...]
    dtypes: tuple[str, ...]
    statistics: Row

    @property
    def key(self) -> StepKey:
        """What the step of another run is paired by."""
        return self.mode, self.mode_step


HeldRun = Sequence[HeldStep]


@dataclass(frozen=True, slots=True)
class Parting:
    """The first tensor in which two runs are farther apart than may be.

    Args:
        mode: The mode of the step.
        mode_step: The step within it.
        tensor: Its name.
        collection: Its built-in collection.
        field: Which of the statistics differs most.
        here: That number in the first run.
        there: That number in the second run.
        relative: The difference, as a fraction.
        allowed: What noise and rounding explain, as a fraction.
    """

    mode: Mode
    mode_step: int
    tensor: str
    collection: str
    field: str
    here: float
    there: float
    relative: float
    allowed: float

    @property
    def stage(self) -> str:
        """The stage of the step at which they part; see ``explain.STAGES``."""
        return stage_of(self.collection).name

    def where(self) -> str:
        """Return the place in words, such as ``TRAIN step 3, first in output/fc``."""
        return f"{self.mode} step {self.mode_step}, first in {self.tensor}"

    def how_far(self) -> str:
        """Return the two numbers, such as ``sum 1.5 instead of 1.25``."""
        return f"{self.field} {self.there:.6g} instead of {self.here:.6g}"


@dataclass(frozen=True, slots=True)
class NoiseBand:
    """How far equal runs are apart: the largest difference so far, by mode and collection.

    Args:
        largest: For each mode and collection, the steps within the mode and the difference up to
            each, ascending.
    """

    largest: Mapping[tuple[Mode, str], Mapping[int, float]] = field(default_factory=dict)

    def at(self, step: StepKey, collection: str) -> float:
        """Return how far equal runs are apart there."""
        mode, mode_step = step
        steps = self.largest.get((mode, collection), {})
        return max((value for at, value in steps.items() if at <= mode_step), default=0.0)


def noise_band(*pairs: tuple[HeldRun, HeldRun]) -> NoiseBand:
    """Return how far apart runs are that should be equal but for noise."""
    largest: dict[tuple[Mode, str], dict[int, float]] = {}
    for here, there in pairs:
        for mine, theirs in _paired(here, there):
            rows = _Rows(mine, theirs)
            for kind, relative in zip(rows.collections, rows.relative, strict=True):
                steps = largest.setdefault((mine.mode, kind), {})
                steps[mine.mode_step] = max(steps.get(mine.mode_step, 0.0), float(relative))
    return NoiseBand(largest)


def first_parting(
    here: HeldRun,
    there: HeldRun,
    band: NoiseBand,
    collections: Collection[str],
    *,
    epsilon: float = 0.0,
) -> Parting | None:
    """Return where two runs are farther apart than noise and rounding explain.

    Args:
        here: The first run, in the order of its steps.
        there: The second run; what only one of them has is not compared.
        band: How far equal runs are apart; these may be ``MARGIN`` times farther.
        collections: What is compared.
        epsilon: The rounding of a lower precision in which the second run computed; 0 for that
            of each tensor's dtype.

    Returns:
        The first tensor of the first such step, weights before what is computed from them;
        ``None`` if there is none.
    """
    for mine, theirs in _paired(here, there):
        rows = _Rows(mine, theirs)
        kept = np.array([kind in collections for kind in rows.collections], bool)
        noise = np.array([MARGIN * band.at(mine.key, kind) for kind in rows.collections])
        allowed = np.maximum(noise, rows.rounding(epsilon))
        beyond = np.flatnonzero(kept & (rows.relative > allowed))
        if len(beyond):
            return rows.parting(mine, int(beyond[0]), float(allowed[beyond[0]]))
    return None


def _paired(here: HeldRun, there: HeldRun) -> list[tuple[HeldStep, HeldStep]]:
    others = {step.key: step for step in there}
    return [(step, others[step.key]) for step in here if step.key in others]


class _Rows:
    """The tensors that two steps have in common, weights first, then in the order of execution."""

    def __init__(self, here: HeldStep, there: HeldStep) -> None:
        there_at = {name: row for row, name in enumerate(there.names)}
        both = [row for row, name in enumerate(here.names) if name in there_at]
        both.sort(key=lambda row: here.collections[row] not in _STATE)
        self.names = [here.names[row] for row in both]
        self.collections = [here.collections[row] for row in both]
        self.dtypes = [here.dtypes[row] for row in both]
        self.here = here.statistics[both]
        self.there = there.statistics[[there_at[name] for name in self.names]]
        self.fields = self._shares()
        self.relative = self._of_kind(self.fields.max(axis=1, initial=0.0))

    def _shares(self) -> Row:
        """Return the difference of each field as a fraction, shape ``[rows, NUM_FIELDS]``."""
        distance = field_distance(self.here, self.there)
        distance[:, ZEROS] = 0.0  # the least noise ends some
        scale = np.fmax(field_scale(self.here), field_scale(self.there))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(distance == 0, 0.0, distance / scale)
        return np.where(np.isnan(shares), np.inf, shares)

    def _of_kind(self, relative: Row) -> Row:
        """Return differences as fractions of the largest tensor of the kind in the step."""
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [rows[:, SUM_ABS] / rows[:, COUNT] for rows in (self.here, self.there)]
        magnitude = np.nan_to_num(np.fmax(*means))
        kinds = np.array(self.collections)
        share = np.ones(len(kinds))
        for kind in set(self.collections):
            rows = kinds == kind
            largest = magnitude[rows].max()
            if largest > 0:
                share[rows] = magnitude[rows] / largest
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(relative), np.inf, relative * share)

    def rounding(self, epsilon: float) -> Row:
        """Return the difference that rounding explains, shape ``[rows]``; see ``divergence``."""
        found = []
        for name, count in zip(self.dtypes, self.here[:, COUNT], strict=True):
            dtype = np.dtype(name)
            own = rounding(dtype) if is_floating(dtype) else 0.0
            of_sum = ROUNDINGS * own * float(np.sqrt(max(count, 1.0)))
            found.append(max(min(of_sum, MOST), ROUNDINGS * epsilon if own else 0.0))
        return np.array(found)

    def parting(self, step: HeldStep, row: int, allowed: float) -> Parting:
        at = int(np.argmax(self.fields[row]))
        if self.here[row, COUNT] == 1:
            at = SUM  # the number itself
        return Parting(
            step.mode,
            step.mode_step,
            self.names[row],
            self.collections[row],
            FIELDS[at],
            float(self.here[row, at]),
            float(self.there[row, at]),
            float(self.relative[row]),
            allowed,
        )
