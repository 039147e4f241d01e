"""Functions of a framework that are replaced, for a while or while anybody listens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from ..runtime.imports import OnImport

Function = Callable[..., Any]


def calling_first(ours: Function) -> Callable[[Function], Function]:
    """Return what makes, of a function, one that calls ours with the same arguments before it."""

    def make(original: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            ours(*args, **kwargs)
            return original(*args, **kwargs)

        return call

    return make


def _quietly(put: Callable[[], None]) -> None:
    with suppress(Exception):  # of another version; the import goes on
        put()


class PatchSet:
    """What stands in the place of functions, and what stood there before.

    Somebody else may replace the same function later, and call ours: theirs then stays where it
    is, and ours, once it is removed, is only the function that it replaced.
    """

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []
        self._awaited: list[OnImport] = []

    def when_imported(self, package: str, put: Callable[[], None]) -> None:
        """Have functions of a package replaced once it is imported, at once if it was.

        Of a version that lacks them nothing is replaced, and the import goes on.
        """
        self._awaited.append(OnImport(package, partial(_quietly, put)))

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

    def add(self, removal: Callable[[], None]) -> None:
        """Have ``remove`` call something that puts back what was replaced by other means."""
        self._removals.append(removal)

    def remove(self) -> None:
        """Put back what nobody else has replaced since; do nothing any more in the others.

        No import is awaited any more.
        """
        while self._awaited:
            self._awaited.pop().remove()
        while self._removals:
            self._removals.pop()()


ListenerT = TypeVar("ListenerT")
#: Makes, of a function and the list of listeners, what is called instead.
ListenerWrapper = Callable[[Function, "list[ListenerT]"], Function]


class ListenerPatches(Generic[ListenerT]):
    """Patches of some functions, in place while there are listeners.

    Args:
        functions: What holds each function, its name there, and what wraps it.
    """

    def __init__(self, functions: Iterable[tuple[Any, str, ListenerWrapper[ListenerT]]]) -> None:
        self._functions = tuple(functions)
        self._listeners: list[ListenerT] = []
        self._replaced = PatchSet()
        self._is_put = False

    def add(self, listener: ListenerT) -> None:
        """Notify a listener from here on; of one that is added twice, once."""
        if not self._is_put:
            self._is_put = True
            for owner, name, wrapper in self._functions:
                self._replaced.put(owner, name, partial(self._wrap, wrapper))
        if listener not in self._listeners:
            self._listeners.append(listener)

    def _wrap(self, wrapper: ListenerWrapper[ListenerT], original: Function) -> Function:
        return wrapper(original, self._listeners)

    def remove(self, listener: ListenerT, *, returns: bool = False) -> None:
        """Notify a listener no more; after the last one the functions are put back.

        What somebody else has wrapped in the meantime stays, and notifies nobody.

        Args:
            listener: One that was added, or none.
            returns: It will be added again soon: the functions stay replaced, until ``put_back``.
        """
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not returns:
            self.put_back()

    def put_back(self) -> None:
        """Put the functions back, unless there are listeners."""
        if self._is_put and not self._listeners:
            self._replaced.remove()
            self._is_put = False
