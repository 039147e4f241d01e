"""Do something once a module was imported, and nothing if it never is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class OnImport(MetaPathFinder):
    """Calls back when a module has been imported; it finds nothing itself.

    Args:
        name: The module's full name.
        call: What to call, after its code has run.
    """

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call
        if name in sys.modules:
            call()
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Look no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the others find, whose loader calls back when it is done."""
        del path, target
        if fullname != self._name:
            return None
        self.remove()
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # from here on it is the loader that it was
            execute(module)
            self._call()

        # On the instance, not a loader of our own: others look at the loader's type.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
