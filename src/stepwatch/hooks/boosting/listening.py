"""Functions of a framework that are replaced while anybody listens, and put back after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..replaced import Replaced

L = TypeVar("L")
#: Makes, of a function and the list of those who listen, what stands in its place.
Telling = Callable[[Callable[..., Any], "list[L]"], Callable[..., Any]]


class Listening(Generic[L]):
    """Who listens to some functions.

    Args:
        places: What holds each function, and its name there.
        telling: Makes what stands in its place.
    """

    def __init__(self, places: Sequence[tuple[Any, str]], telling: Telling[L]) -> None:
        self._places, self._telling = places, telling
        self._listeners: list[L] = []
        self._replaced = Replaced()

    def add(self, listener: L) -> None:
        """Tell a listener from here on."""
        if not self._listeners:
            for owner, name in self._places:
                self._replaced.put(owner, name, lambda it: self._telling(it, self._listeners))
        if listener not in self._listeners:
            self._listeners.append(listener)

    def remove(self, listener: L) -> None:
        """Tell a listener no more; after the last one the functions are put back.

        What somebody else has wrapped in the meantime stays, and tells nobody.
        """
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            self._replaced.remove()
