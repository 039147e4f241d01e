"""Recorded batches with their rows, targets or columns in another arrangement.

Nothing is made up: every row, target and value is one that was recorded, at another place. So the
changes show what the arrangement of data does to a training, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np
import numpy.typing as npt

from ..formats.blackbox import Frame
from .recording import Forward

Array = npt.NDArray[np.generic]
Places = npt.NDArray[np.int64]
Step = tuple[Forward, ...]
Steps = tuple[Step, ...]
#: So many rows are in each half of what is evaluated, at least.
_FEWEST_ROWS = 16


def paired(steps: Sequence[Step], by: int) -> Steps | None:
    """Return steps in which each row has the target of the row ``by`` places on, in a circle.

    Returns:
        ``None`` where a loss is given no target for each row, or the same one for all.
    """
    changed = tuple(tuple(_with_targets_of(one, by) for one in step) for step in steps)
    before = [one for step in steps for one in step]
    after = [one for step in changed for one in step]
    is_other = any(new is not old for new, old in zip(after, before, strict=True))
    return changed if is_other else None


def mixed(steps: Sequence[Step], *, across: bool) -> Steps | None:
    """Return steps with their rows in random order, of all steps or within each of them."""
    pool = _Pool.of(steps)
    if pool is None:
        return None
    generator = np.random.default_rng(0)
    order = np.arange(pool.num_rows)
    if across:
        return pool.steps(generator.permutation(order))
    return pool.steps(np.concatenate([generator.permutation(one) for one in pool.split(order)]))


def without_column(steps: Sequence[Step], column: int, *, others: bool) -> Steps | None:
    """Return steps in which a column of the first input, or all others, are of other rows.

    Returns:
        ``None`` where the first input has no such column.
    """
    generator = np.random.default_rng(0)
    changed = []
    for step in steps:
        forwards = []
        for forward in step:
            name, array = next(iter(_given(forward.begin)), ("", np.zeros(0)))
            if array.ndim != 2 or not column < array.shape[1]:
                return None
            own = np.array(array)
            which = np.arange(array.shape[1]) == column
            which = ~which if others else which
            own[:, which] = own[generator.permutation(len(own))][:, which]
            arrays = {**forward.begin.arrays, name: own}
            forwards.append(replace(forward, begin=replace(forward.begin, arrays=arrays)))
        changed.append(tuple(forwards))
    return tuple(changed)


def exchanged(
    steps: Sequence[Step], evaluations: Sequence[Forward], *, half: int, own: bool, as_many: bool
) -> tuple[Steps, tuple[Forward, ...]] | None:
    """Return steps that are given half of the rows of evaluations, which are given the other half.

    The halves are what comes first and what comes last: neighbours, which may have much in common,
    are in one of them.

    Args:
        steps: Of TRAIN.
        evaluations: Calls of models.
        half: Which half is trained on, 0 or 1.
        own: Train on as many of the steps' own rows instead, and evaluate the same.
        as_many: Train on no more different rows than the steps have.

    Returns:
        ``None`` where rows do not fit, are too few, or are of whole numbers, such as tokens: texts
        that are cut out of one overlap.
    """
    pool = _Pool.with_evaluations(steps, evaluations)
    if pool is None or pool.has_whole_numbers:
        return None
    keys = pool.keys()
    num_trained = sum(rows_of(forward) for step in steps for forward in step)
    trained = _first_places(keys, 0, num_trained)
    evaluated = _first_places(keys, num_trained, len(keys))
    halves = np.split(evaluated, [len(evaluated) // 2])
    if min(map(len, halves)) < _FEWEST_ROWS:
        return None
    given, held_out = halves[half], halves[1 - half]
    generator = np.random.default_rng(0)
    count = min(len(given), len(trained)) if as_many or own else len(given)
    chosen = generator.permutation(trained if own else given)[:count]
    epochs = [generator.permutation(chosen) for _ in range(-(-num_trained // count))]
    instead = {keys[place]: place for place in held_out}
    instead |= {keys[place]: held_out[at % len(held_out)] for at, place in enumerate(given)}
    after = [instead[key] for key in keys[num_trained:]]
    changed = pool.steps(np.concatenate([np.concatenate(epochs)[:num_trained], after]))
    return changed[: len(steps)], tuple(one for (one,) in changed[len(steps) :])


def without_shared(
    steps: Sequence[Step], evaluations: Sequence[Forward], *, others: bool
) -> Steps | None:
    """Return steps in which no row is given that is evaluated too, but others, none of them twice.

    Args:
        steps: Of TRAIN.
        evaluations: Calls of models.
        others: Exchange as many of the other rows of each step instead.

    Returns:
        ``None`` where no row is both, or so many are that there are too few others.
    """
    pool = _Pool.with_evaluations(steps, evaluations)
    if pool is None:
        return None
    keys = pool.keys(inputs_only=True)
    sizes = [rows_of(forward) for (forward,) in steps]
    evaluated = set(keys[sum(sizes) :])
    trained = _first_places(keys, 0, sum(sizes))
    rest = [place for place in trained.tolist() if keys[place] not in evaluated]
    if len(rest) == len(trained) or len(rest) < 2 * max(sizes):
        return None
    places = np.arange(len(keys))
    fresh = cycle(rest)
    for batch in pool.split(np.arange(len(keys)))[: len(steps)]:
        given = {keys[place] for place in batch}
        shared = [place for place in batch if keys[place] in evaluated]
        own = [place for place in batch if keys[place] not in evaluated]
        for place in own[: len(shared)] if others else shared:
            new = next(one for one in fresh if keys[one] not in given)
            given.add(keys[new])
            places[place] = new
    return pool.steps(places)[: len(steps)]


def _first_places(keys: Sequence[bytes], begin: int, end: int) -> Places:
    """Return where each of the different keys of a range is first."""
    first: dict[bytes, int] = {}
    for place in range(begin, end):
        first.setdefault(keys[place], place)
    return np.array([*first.values()], np.int64)


class _Pool:
    """The rows of all steps, one after the other.

    Args:
        recorded: The only forward of each step.
        sizes: How many rows each has.
        arrays: Of each frame of a step, what it is given by name, shape ``[rows, each, ...]``.
    """

    def __init__(
        self, recorded: list[Forward], sizes: list[int], arrays: list[dict[str, Array]]
    ) -> None:
        self._recorded, self._sizes, self._arrays = recorded, sizes, arrays
        self.num_rows = sum(sizes)

    @classmethod
    def of(cls, steps: Sequence[Step]) -> _Pool | None:
        """Return the rows of steps; ``None`` where those of one would not fit another."""
        if any(len(step) != 1 for step in steps):
            return None
        recorded = [step[0] for step in steps]
        sizes = [rows_of(one) for one in recorded]
        parts = [_by_row(one, size) for one, size in zip(recorded, sizes, strict=True)]
        shapes = [
            [{name: array.shape[1:] for name, array in frame.items()} for frame in part]
            for part in parts
        ]
        if not all(sizes) or any(one != shapes[0] for one in shapes) or len(steps) < 2:
            return None
        arrays = [
            {name: np.concatenate([part[at][name] for part in parts]) for name in frame}
            for at, frame in enumerate(parts[0])
        ]
        return cls(recorded, sizes, arrays)

    @classmethod
    def with_evaluations(
        cls, steps: Sequence[Step], evaluations: Sequence[Forward]
    ) -> _Pool | None:
        """Return the rows of steps, then those of evaluations: of these what steps have as well."""
        first = next((forward for step in steps for forward in step), None)
        if first is None or not evaluations:
            return None
        fit = [_with_arrays_of(one, first) for one in evaluations]
        return cls.of([*steps, *((one,) for one in fit)])

    @property
    def has_whole_numbers(self) -> bool:
        """Whether an input is of whole numbers."""
        return any(array.dtype.kind not in "fV" for array in self._arrays[0].values())

    def keys(self, *, inputs_only: bool = False) -> list[bytes]:
        """Return what each row is known by: the same where inputs, and targets, are."""
        frames = self._arrays[:1] if inputs_only else self._arrays
        arrays = [array for frame in frames for array in frame.values()]
        return [b"".join(array[row].tobytes() for array in arrays) for row in range(self.num_rows)]

    def split(self, order: Places) -> list[Places]:
        return np.split(order, np.cumsum(self._sizes)[:-1])

    def steps(self, order: Places) -> Steps:
        """Return the steps with the rows at these places instead of their own."""
        changed = []
        for forward, rows in zip(self._recorded, self.split(order), strict=True):
            frames = []
            pairs = zip((forward.begin, *forward.losses), self._arrays, strict=True)
            for frame, pool in pairs:
                new = {
                    name: pooled[rows].reshape(frame.arrays[name].shape)
                    for name, pooled in pool.items()
                }
                frames.append(replace(frame, arrays={**frame.arrays, **new}))
            changed.append((Forward(frames[0], tuple(frames[1:])),))
        return tuple(changed)


def rows_of(forward: Forward) -> int:
    """Return how many rows a call of a model is given; 0 where that cannot be said."""
    return next((len(array) for _, array in _given(forward.begin) if array.ndim), 0)


def is_given(name: str) -> bool:
    """Return whether an array of a frame is one that a model or a loss is given."""
    return name.startswith(("batch/", "loss/"))


def _given(frame: Frame) -> list[tuple[str, Array]]:
    return [(name, array) for name, array in frame.arrays.items() if name.startswith("batch/")]


def _by_row(forward: Forward, size: int) -> list[dict[str, Array]]:
    """Return, of each frame, what has rows, shape ``[rows, elements of a row, ...]``."""
    found = []
    for frame in (forward.begin, *forward.losses):
        fit = {
            name: array
            for name, array in frame.arrays.items()
            if is_given(name) and array.ndim and size and not len(array) % size
        }
        found.append({name: one.reshape(size, -1, *one.shape[1:]) for name, one in fit.items()})
    return found


def _with_arrays_of(forward: Forward, other: Forward) -> Forward:
    """Return a call with no more arrays than another has: losses are given outputs as well."""
    frames, others = (forward.begin, *forward.losses), (other.begin, *other.losses)
    fit = [
        replace(one, arrays={name: one.arrays[name] for name in one.arrays if name in like.arrays})
        for one, like in zip(frames, others, strict=False)
    ]
    return Forward(fit[0], tuple(fit[1:]))


def _with_targets_of(forward: Forward, by: int) -> Forward:
    size = rows_of(forward)
    losses = []
    for frame, by_row in zip(forward.losses, _by_row(forward, size)[1:], strict=True):
        new = {
            name: np.roll(rows, -by, axis=0).reshape(frame.arrays[name].shape)
            for name, rows in by_row.items()
        }
        losses.append(replace(frame, arrays={**frame.arrays, **new}))
    old = [array for frame in forward.losses for array in frame.arrays.values()]
    now = [array for frame in losses for array in frame.arrays.values()]
    is_same = all(np.array_equal(a, b) for a, b in zip(old, now, strict=True))
    return forward if is_same else replace(forward, losses=tuple(losses))
