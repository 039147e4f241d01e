"""Keeps the last of what was read, so that neighbouring steps are read once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

_KEPT = 2


class _Range(Protocol):
    """Something of neighbouring steps."""

    @property
    def low(self) -> int:
        """The first of them."""

    @property
    def high(self) -> int:
        """The last of them."""


R = TypeVar("R", bound=_Range)


class Recent(Generic[R]):
    """The last two ranges of each kind: a step and its neighbour may lie in two."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, list[R]] = {}

    def find(self, kind: Hashable, place: int) -> R | None:
        """Return the range of a kind that holds a place, if it is kept."""
        kept = self._kept.get(kind, ())
        return next((one for one in kept if one.low <= place <= one.high), None)

    def keep(self, kind: Hashable, one: R) -> R:
        """Keep a range and return it."""
        self._kept[kind] = [*self._kept.get(kind, ()), one][-_KEPT:]
        return one
