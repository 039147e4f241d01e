"""The object of a class that a script made last, where nothing else says what it has open."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..hooks.patching import Function, PatchSet
from ..runtime.imports import OnImport


class LastMade:
    """Notes what is made of a class, from when its module is imported, by whomever.

    Args:
        modules: Full names of modules that have such a class; none is imported.
        name: The name of the class in each of them.
    """

    def __init__(self, modules: Sequence[str], name: str) -> None:
        self._modules, self._name = modules, name
        self._made: Callable[[], Any] = lambda: None
        self._patches = PatchSet()
        self._imports: list[OnImport] = []

    def begin(self) -> None:
        """Note what is made from here on."""
        self._imports = [OnImport(one, partial(self._patch, one)) for one in self._modules]

    def get(self) -> Any:
        """Return what was made last; ``None`` for nothing, and where it is gone."""
        return self._made()

    def end(self) -> None:
        """Leave the class as it was."""
        self._patches.remove()
        for one in self._imports:
            one.remove()

    def _patch(self, module: str) -> None:
        kind = getattr(sys.modules.get(module), self._name, None)
        if isinstance(kind, type) and "__init__" in vars(kind):
            self._patches.put(kind, "__init__", self._noting)

    def _noting(self, original: Function) -> Callable[..., None]:
        def made(one: Any, *args: Any, **kwargs: Any) -> None:
            original(one, *args, **kwargs)
            self._made = weakref.ref(one)

        return made
