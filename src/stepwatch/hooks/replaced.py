"""Functions of a framework that are replaced for a while, and put back after."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Replaced:
    """What stands in the place of functions, and what stood there before.

    Somebody else may replace the same function later, and call ours: theirs then stays where it
    is, and ours, once it is removed, is only the function that it replaced.
    """

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []

    def put(self, owner: Any, name: str, make: Callable[[Function], Function]) -> None:
        """Replace a function.

        Args:
            owner: The module or the class that has it. Where a base class defines it, it is
                replaced there, for all that inherit it.
            name: Its name there.
            make: Makes, of the function, what is called instead.
        """
        if isinstance(owner, type):
            owner = next(kind for kind in owner.__mro__ if name in vars(kind))
        original = getattr(owner, name)
        called = make(original)

        @functools.wraps(original)
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return called(*args, **kwargs)

        def remove() -> None:
            nonlocal called
            called = original
            if getattr(owner, name) is stand_in:
                setattr(owner, name, original)

        setattr(owner, name, stand_in)
        self._removals.append(remove)

    def remove(self) -> None:
        """Put back what nobody else has replaced since; do nothing any more in the others."""
        while self._removals:
            self._removals.pop()()
