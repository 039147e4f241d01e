"""Functions of a framework that are replaced while anybody listens, and put back after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

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
        self._undo: dict[tuple[int, str], tuple[Any, Any, Any]] = {}

    def add(self, listener: L) -> None:
        """Tell a listener from here on."""
        if listener not in self._listeners:
            self._listeners.append(listener)
        for owner, name in self._places:
            if (id(owner), name) not in self._undo:
                original = getattr(owner, name)
                wrapper = self._telling(original, self._listeners)
                self._undo[id(owner), name] = owner, original, wrapper
                setattr(owner, name, wrapper)

    def remove(self, listener: L) -> None:
        """Tell a listener no more; after the last one the functions are put back.

        What somebody else has wrapped in the meantime stays, and tells nobody.
        """
        if listener in self._listeners:
            self._listeners.remove(listener)
        if self._listeners:
            return
        for (place, name), (owner, original, wrapper) in list(self._undo.items()):
            if getattr(owner, name) is wrapper:
                setattr(owner, name, original)
                del self._undo[place, name]
