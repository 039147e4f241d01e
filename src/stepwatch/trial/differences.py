"""What differs where two runs part, tensor by tensor, and what that says of the cause."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..statistics import COUNT, NAN, NEGINF, POSINF, SUM, Row
from .blocks import EVERYTHING
from .comparison import Compared, Outcome, compare_statistics, compare_values, is_floating
from .divergence import Parted, Search
from .stages import INITIAL, STATE, Stage, stage_of

# Fields that are elements, so that they can be counted in neighbouring numbers.
_ELEMENTS = ("min", "max", "abs_min")
# What no stage of the same step computes: if it differs, that is a cause, whatever else differs.
_GIVEN = ("batches", "samples", "learning_rates")


@dataclass(frozen=True, slots=True)
class Difference:
    """A tensor that differs where two runs part.

    Args:
        worker: Whose it is.
        collection: Its built-in collection.
        found: How far it is apart, and where.
    """

    worker: str
    collection: str
    found: Compared

    @property
    def absolute(self) -> float:
        """How far apart the two numbers are; nan where they are not known."""
        return abs(self.found.recorded - self.found.replayed)


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason that does not follow from another one.

    Args:
        stage: Of the step.
        tensor: The first one of this stage that differs.
        meaning: What can have made it differ.
        not_compared: Collections without which this is not sure.
    """

    stage: str
    tensor: str
    meaning: str
    not_compared: tuple[str, ...] = ()


def differences(search: Search, parted: Parted, *, most: int) -> list[Difference]:
    """Return the first tensors that differ, in the order of execution.

    Args:
        search: What found it.
        parted: Where they part.
        most: How many.
    """
    return [_difference(search, parted, row) for row in parted.rows[:most].tolist()]


def causes(search: Search, parted: Parted) -> list[Cause]:
    """Return why they part, as far as what was saved tells: at least one cause."""
    runs, block = search.runs, parted.block
    names = list(runs.tensors)
    found: dict[str, Cause] = {}
    for place, row in enumerate(parted.rows.tolist()):
        name = names[block.tensor[row]]
        kind = runs.tensors[name]
        stage = stage_of(kind)
        if stage.name not in found and (place == 0 or kind in _GIVEN):
            found[stage.name] = _cause(search, parted, stage, name)
    return list(found.values())


def _cause(search: Search, parted: Parted, stage: Stage, name: str) -> Cause:
    if stage is not STATE:
        seen = _kinds_at(search, parted.index)
        return Cause(stage.name, name, stage.meaning, _missing(stage, seen))
    before = _before(search, parted.index)
    if before is None:
        return Cause(stage.name, name, INITIAL)
    return Cause(stage.name, name, stage.meaning, _missing(stage, _kinds_at(search, before)))


def _missing(stage: Stage, seen: set[str]) -> tuple[str, ...]:
    return tuple(kind for kind in stage.needs if kind not in seen)


def _before(search: Search, index: int) -> int | None:
    """Return the pair of steps before one that is of the same mode."""
    mode = search.runs.pair(index).mode
    before = (place for place in range(index - 1, -1, -1) if search.runs.pair(place).mode is mode)
    return next(before, None)


def _kinds_at(search: Search, index: int) -> set[str]:
    """Return the collections of which something was compared at a pair of steps."""
    block = search.blocks.around(index, None, EVERYTHING)
    kinds = list(search.runs.tensors.values())
    return {kinds[place] for place in np.unique(block.tensor[block.at == index]).tolist()}


def _difference(search: Search, parted: Parted, row: int) -> Difference:
    runs, block = search.runs, parted.block
    name = list(runs.tensors)[block.tensor[row]]
    worker = runs.workers[block.worker[row]]
    return Difference(worker, runs.tensors[name], _compared(search, parted, row, name, worker))


def _compared(search: Search, parted: Parted, row: int, name: str, worker: str) -> Compared:
    """Compare by full values if both have them, else by statistics."""
    runs, block = search.runs, parted.block
    texts = [block.texts[code] for code in block.kinds[:, row].tolist()]
    if texts[1] != texts[3]:
        said = f"{texts[0]}{texts[1]} and {texts[2]}{texts[3]}"
        return Compared(name, Outcome.DIFFERENT, "statistics", said, np.nan, np.nan, np.inf)
    dtype, pair = np.dtype(texts[0]), runs.pair(parted.index)
    if block.has_values[row]:
        values = [
            trial.tensor(name).value(step, worker=worker)
            for trial, step in ((runs.here, pair.here), (runs.there, pair.there))
        ]
        found = compare_values(name, *values)
        if found.ulp != 0.0:
            return found if is_floating(dtype) else replace(found, ulp=None)
    if block.elsewhere[row]:
        return Compared(name, Outcome.DIFFERENT, "digest", "", np.nan, np.nan, np.nan)
    here, there = block.here[row], block.there[row]
    if _is_number(here) and _is_number(there) and here[SUM] != there[SUM]:
        one, other = float(here[SUM]), float(there[SUM])
        relative = abs(one - other) / max(abs(one), abs(other))
        found = Compared(name, Outcome.DIFFERENT, "value", "", one, other, relative)
        return _with_ulp(found, dtype)
    found = compare_statistics(name, here, there, dtype)
    if texts[0] != texts[2]:
        return replace(found, at=f"{found.at} ({texts[0]} and {texts[2]})")
    return _with_ulp(found, dtype) if found.at in _ELEMENTS else found


def _is_number(row: Row) -> bool:
    """Return whether statistics are those of one finite number, which is then their sum."""
    return bool(row[COUNT] == 1 and not row[[NAN, POSINF, NEGINF]].any())


def _with_ulp(found: Compared, dtype: np.dtype[np.generic]) -> Compared:
    """Count how many numbers of a floating dtype lie between, where both numbers are of it."""
    if not is_floating(dtype) or dtype.kind == "c":
        return found
    numbers = np.array([found.recorded, found.replayed])
    typed = numbers.astype(dtype)
    if not np.array_equal(typed.astype(np.float64), numbers):
        return found
    return replace(found, ulp=compare_values(found.name, typed[:1], typed[1:]).ulp)
