"""Reads the rows of a run around a step: a part is read once, and kept for neighbouring steps."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from ..model.steps import Mode
from ..numerics.columns import numbers
from .trial import Trial

_KEPT = 2


class _Range(Protocol):
    """What is known of neighbouring steps, from ``low`` to ``high``."""

    @property
    def low(self) -> int: ...

    @property
    def high(self) -> int: ...


R = TypeVar("R", bound=_Range)


class RangeCache(Generic[R]):
    """The last two ranges of each kind: a step and its neighbour may lie in two."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, list[R]] = {}

    def find(self, kind: Hashable, position: int) -> R | None:
        """Return the range of a kind that holds a position, if it is kept."""
        return next(
            (one for one in self._kept.get(kind, ()) if one.low <= position <= one.high), None
        )

    def keep(self, kind: Hashable, one: R) -> R:
        self._kept[kind] = [*self._kept.get(kind, ()), one][-_KEPT:]
        return one


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of neighbouring steps.

    Args:
        low: First global step of which all rows are here.
        high: Last one.
        tables: Worker and rows.
    """

    low: int
    high: int
    tables: tuple[tuple[str, pa.Table], ...]


class Chunks:
    """Reads a run around steps."""

    def __init__(self, trial: Trial) -> None:
        self._reader = trial.reader
        self._recent: RangeCache[Chunk] = RangeCache()
        #: How many times rows were read.
        self.num_read = 0

    def around(self, step: int, tensors: frozenset[str] | None, columns: tuple[str, ...]) -> Chunk:
        """Return rows of a step, and of those that lie in the same parts.

        Args:
            step: The global step.
            tensors: Names; ``None`` for all.
            columns: Of the observations; ``step`` must be one.
        """
        kind = (tensors, columns)
        kept = self._recent.find(kind, step)
        return kept or self._recent.keep(kind, self._read(step, tensors, columns))

    def _read(self, step: int, tensors: frozenset[str] | None, columns: tuple[str, ...]) -> Chunk:
        self.num_read += 1
        at = (Mode.GLOBAL, step)
        tables = tuple(self._reader.observations(tensors, columns, at))
        bounds = [_bounds(table, step) for _, table in tables]
        if any(low == step or high == step for low, high in bounds):
            # These tensors are not there before it, or after it; which steps are, others tell.
            steps = self._reader.observations(None, ["step"], at)
            bounds = [_bounds(table, step) for _, table in steps]
        low = max((low for low, _ in bounds), default=step)
        high = min((high for _, high in bounds), default=step)
        return Chunk(low, high, tables)


def _bounds(table: pa.Table, step: int) -> tuple[int, int]:
    """Return the first and the last step of a table that may not hold ``step`` itself."""
    steps = numbers(table.column("step"))
    return int(steps.min(initial=step)), int(steps.max(initial=step))
