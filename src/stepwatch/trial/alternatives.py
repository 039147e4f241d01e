"""What a recorded step may be given instead of what it was given, to see whether that matters.

The rows of a batch are counted over all calls of models in a step. A row is replaced by the same
row of another recorded step, with its target, so that no shape changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..formats.blackbox import Frame
from ..model.record import StepRecord
from .rearranged import (
    exchanged,
    is_given,
    mixed,
    paired,
    rows_of,
    without_column,
    without_shared,
)
from .recording import Forward, Recording

Array = npt.NDArray[np.generic]
Forwards = tuple[Forward, ...]
AS_RECORDED = "as recorded"
#: The kinds that change what the steps are given; the others are up to who runs them.
CHANGES_BATCH = frozenset(
    {"rows", "own_rows", "earlier", "clamp", "finite", "unit", "paired", "mixed", "mixed_within",
     "column", "other_columns", "evaluated", "all_evaluated", "trained", "shared", "unshared"}
)  # fmt: skip
#: Of these, those that change what evaluations are given as well.
CHANGES_EVALUATION = frozenset({"evaluated", "all_evaluated", "trained"})
_ARRANGED: Mapping[str, Callable[[Sequence[Forwards], int], tuple[Forwards, ...] | None]] = {
    "paired": paired,
    "mixed": lambda steps, _: mixed(steps, across=True),
    "mixed_within": lambda steps, _: mixed(steps, across=False),
    "column": lambda steps, column: without_column(steps, column, others=False),
    "other_columns": lambda steps, column: without_column(steps, column, others=True),
}
# Inputs of a size that no layer is made for: so far from 0, or of such a deviation.
_UNUSUAL_SIZE = 10.0


@dataclass(frozen=True, slots=True)
class Alternative:
    """One change of the steps that are run again.

    Args:
        kind: What is changed: ``rows``, ``own_rows``, ``earlier``, ``clamp``, ``finite``,
            ``unit``, ``paired``, ``mixed``, ``mixed_within``, ``column``,
            ``other_columns``, ``evaluated``, ``all_evaluated``, ``trained``, ``shared``,
            ``unshared``, ``precision``, ``eager``, ``mode``, ``random``, ``domain``,
            ``weight_decay``, ``momentum``, ``epsilon``, ``clip``, ``unclipped``, ``held``,
            ``schedule``, ``rate``, ``least_rate``, ``layer``, ``other_layers``; or ``as recorded``.
        text: The change in words.
        step: The TRAIN step whose batch is changed, or the first of them.
        rows: Which of its rows are replaced.
        donor: The TRAIN step that the rows are taken from.
        value: The factor, norm, learning rate or number of bits; the row of the same batch that
            the rows are replaced by; how many rows on a target is taken from; the column; which
            half of the rows of evaluations is trained on, 0 or 1; how many steps a schedule takes
            for one of the optimizer.
        layer: The module whose update is left out, or the only one that is updated, or the function
            whose arguments are bound.
    """

    kind: str
    text: str
    step: int = -1
    rows: tuple[int, ...] = ()
    donor: int = -1
    value: float = 0.0
    layer: str = ""


@dataclass(frozen=True)
class Replayed:
    """What a replay has shown.

    Args:
        records: The TRAIN steps, in order.
        evaluations: The EVAL steps among them and after them, in order.
        facts: See ``AlternativeHook.facts``; rows of ``BlameHook``.
        error: Why it did not come to its end; empty if it did.
    """

    records: list[StepRecord] = field(default_factory=list)
    evaluations: list[StepRecord] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def num_rows(forwards: Forwards) -> int:
    """Return how many rows a step was given; 0 where that cannot be said."""
    return sum(map(rows_of, forwards))


def donors_of(step: int, forwards: Mapping[int, Forwards]) -> list[int]:
    """Return the steps with batches of the same shapes that are finite, the nearest first."""
    shapes = _shapes(forwards[step])
    fit = (
        other
        for other in forwards
        if other != step and _shapes(forwards[other]) == shapes and _is_finite(forwards[other])
    )
    return sorted(fit, key=lambda other: (abs(other - step), other))


def have_same_shapes(here: Forwards, there: Forwards) -> bool:
    """Return whether a step could be given the batch of the other."""
    return _shapes(here) == _shapes(there)


def unusual_rows(step: int, forwards: Mapping[int, Forwards]) -> tuple[int, ...]:
    """Return the rows that hold what is not finite, or lies outside of all other batches."""
    ranges = _ranges(step, forwards)
    found: list[int] = []
    first = 0
    for forward in forwards[step]:
        rows = rows_of(forward)
        for name, array in _inputs(forward):
            if name in ranges and rows and array.shape[:1] == (rows,):
                flat = np.asarray(array, np.float64).reshape(rows, -1)
                low, high = ranges[name]
                bad = ~np.isfinite(flat) | (flat < low) | (flat > high)
                found += (first + np.flatnonzero(bad.any(axis=1))).tolist()
        first += rows
    return tuple(sorted(set(found)))


def apply(
    recording: Recording, forwards: Mapping[int, Forwards], change: Alternative
) -> Recording | None:
    """Return the recording with another batch, ``None`` where it is the same.

    Args:
        recording: The steps that are run again.
        forwards: The calls of models in all recorded steps.
        change: What is changed.
    """
    if change.kind not in CHANGES_BATCH:
        return recording
    if change.kind == "finite":
        finite = [_clamped(one, {}) for one in recording.steps]
        if not any(finite):
            return None
        pairs = zip(finite, recording.steps, strict=True)
        return replace(recording, steps=tuple(new or old for new, old in pairs))
    if change.kind == "unit":
        scales = _scales(recording.steps)
        if not scales:
            return None
        return replace(recording, steps=tuple(_scaled(one, scales) for one in recording.steps))
    if change.kind in _ARRANGED:
        steps = _ARRANGED[change.kind](recording.steps, int(change.value))
        return None if steps is None else replace(recording, steps=steps)
    if change.kind in CHANGES_EVALUATION:
        given = exchanged(
            recording.steps,
            recording.evaluations,
            half=int(change.value),
            own=change.kind == "trained",
            as_many=change.kind != "all_evaluated",
        )
        return given and replace(recording, steps=given[0], evaluations=given[1])
    if change.kind in ("shared", "unshared"):
        steps = without_shared(
            recording.steps, recording.evaluations, others=change.kind == "unshared"
        )
        return None if steps is None else replace(recording, steps=steps)
    at = change.step - recording.first
    if change.kind == "earlier":
        return _with_earlier(recording, forwards, at)
    new: Forwards | None
    if change.kind == "own_rows":
        own = recording.steps[at]
        new = _with_rows(own, _repeated(own, int(change.value)), frozenset(change.rows))
    elif change.kind == "rows":
        new = _with_rows(recording.steps[at], forwards[change.donor], frozenset(change.rows))
    else:
        new = _clamped(recording.steps[at], _ranges(change.step, forwards))
    if new is None:
        return None
    return replace(recording, steps=(*recording.steps[:at], new, *recording.steps[at + 1 :]))


def _with_earlier(
    recording: Recording, forwards: Mapping[int, Forwards], at: int
) -> Recording | None:
    """Return the recording with the batches before a step, nearest first, in all steps from it."""
    steps = list(recording.steps)
    for place in range(at, len(steps)):
        step = recording.first + place
        donors = [one for one in donors_of(step, forwards) if one < recording.first + at]
        if not donors:
            return None
        donor = forwards[donors[(place - at) % len(donors)]]
        steps[place] = _with_rows(steps[place], donor, frozenset(range(num_rows(steps[place]))))
    return replace(recording, steps=tuple(steps))


def _with_rows(own: Forwards, other: Forwards, rows: frozenset[int]) -> Forwards:
    changed = []
    first = 0
    for mine, theirs in zip(own, other, strict=True):
        size = rows_of(mine)
        chosen = sorted(row - first for row in rows if first <= row < first + size)
        first += size
        if not chosen:
            changed.append(mine)
            continue
        begin = _frame_with_rows(mine.begin, theirs.begin, size, chosen)
        pairs = zip(mine.losses, theirs.losses, strict=True)
        losses = tuple(_frame_with_rows(here, there, size, chosen) for here, there in pairs)
        changed.append(Forward(begin, losses))
    return tuple(changed)


def _repeated(own: Forwards, row: int) -> Forwards:
    """Return calls of models that are given one row again and again."""
    changed = []
    for forward in own:
        size = rows_of(forward)
        frames = []
        for frame in (forward.begin, *forward.losses):
            arrays = dict(frame.arrays)
            for name, array in frame.arrays.items():
                if is_given(name) and array.ndim and size and not len(array) % size:
                    each = len(array) // size
                    first = row % size * each
                    arrays[name] = np.concatenate([array[first : first + each]] * size)
            frames.append(replace(frame, arrays=arrays))
        changed.append(Forward(frames[0], tuple(frames[1:])))
    return tuple(changed)


def _frame_with_rows(mine: Frame, theirs: Frame, size: int, chosen: Sequence[int]) -> Frame:
    arrays = dict(mine.arrays)
    for name, array in mine.arrays.items():
        if not is_given(name) or not array.ndim or not size or len(array) % size:
            continue
        each = len(array) // size  # of a target that was flattened, several elements are one row
        places = np.concatenate([np.arange(row * each, (row + 1) * each) for row in chosen])
        own = np.array(array)
        own[places] = theirs.arrays[name][places]
        arrays[name] = own
    return replace(mine, arrays=arrays)


def _clamped(own: Forwards, ranges: Mapping[str, tuple[float, float]]) -> Forwards | None:
    changed, is_other = [], False
    for forward in own:
        arrays = dict(forward.begin.arrays)
        for name, array in _inputs(forward):
            low, high = ranges.get(name, (0.0, 0.0))
            values = np.asarray(array, np.float64)
            # Without another batch to compare with, only what is not finite is unusual.
            bound = np.clip(values, low, high) if name in ranges else values
            bound = np.nan_to_num(bound, nan=0.0, posinf=high, neginf=low)
            if not np.array_equal(bound, values):
                arrays[name] = bound.astype(array.dtype)
                is_other = True
        changed.append(replace(forward, begin=replace(forward.begin, arrays=arrays)))
    return tuple(changed) if is_other else None


def _scales(steps: Sequence[Forwards]) -> dict[str, tuple[Array, Array]]:
    """Return mean and deviation of each column of the inputs that are far from unit size.

    Columns of no deviation stay as they are, but for their mean. Inputs of more than one dimension
    beside the batch, such as images, are one column each.
    """
    given: dict[str, list[Array]] = {}
    for forwards in steps:
        for forward in forwards:
            for name, array in _inputs(forward):
                columns = array.shape[-1] if array.ndim == 2 else 1
                given.setdefault(name, []).append(np.asarray(array, float).reshape(-1, columns))
    found = {}
    for name, parts in given.items():
        if len({part.shape[1] for part in parts}) == 1:
            values = np.concatenate(parts)
            mean, deviation = values.mean(axis=0), values.std(axis=0)
            largest = max(float(np.abs(mean).max()), float(deviation.max()))
            if np.isfinite(largest) and largest > _UNUSUAL_SIZE:
                found[name] = mean, np.where(deviation > 0, deviation, 1.0)
    return found


def _scaled(own: Forwards, scales: Mapping[str, tuple[Array, Array]]) -> Forwards:
    changed = []
    for forward in own:
        arrays = dict(forward.begin.arrays)
        for name, array in _inputs(forward):
            if name in scales:
                mean, deviation = scales[name]
                scaled = (np.asarray(array, float).reshape(-1, len(mean)) - mean) / deviation
                arrays[name] = scaled.reshape(array.shape).astype(array.dtype)
        changed.append(replace(forward, begin=replace(forward.begin, arrays=arrays)))
    return tuple(changed)


def _ranges(step: int, forwards: Mapping[int, Forwards]) -> dict[str, tuple[float, float]]:
    """Return the least and largest finite value of each input in all other steps."""
    found: dict[str, tuple[float, float]] = {}
    for other, calls in forwards.items():
        for forward in calls if other != step else ():
            for name, array in _inputs(forward):
                values = np.asarray(array, np.float64)
                values = values[np.isfinite(values)]
                if values.size:
                    low, high = found.get(name, (np.inf, -np.inf))
                    found[name] = min(low, float(values.min())), max(high, float(values.max()))
    return found


def _inputs(forward: Forward) -> Iterator[tuple[str, Array]]:
    """Yield what a model was given in floating point."""
    for name, array in forward.begin.arrays.items():
        # "V": what numpy has no name for, such as bfloat16
        if name.startswith("batch/") and array.dtype.kind in "fV":
            yield name, array


def _shapes(forwards: Forwards) -> list[object]:
    frames = (frame for one in forwards for frame in (one.begin, *one.losses))
    return [
        [(name, array.shape) for name, array in frame.arrays.items() if is_given(name)]
        for frame in frames
    ]


def _is_finite(forwards: Forwards) -> bool:
    given = (array for forward in forwards for _, array in _inputs(forward))
    return all(bool(np.isfinite(np.asarray(array, np.float64)).all()) for array in given)
