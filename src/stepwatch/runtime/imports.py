"""Being called when a module has been imported, whoever imports it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class OnImport(MetaPathFinder):
    """Calls back when a module has been imported; it finds nothing itself.

    Packages that only look for it, with ``importlib.util.find_spec``, do not import it.

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
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the others find, whose loader calls back when it is done."""
        self._stay_first()
        if fullname != self._name:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _stay_first(self) -> None:
        """Look before those who came later: they may find the module, and then nobody asks us."""
        if self in sys.meta_path:
            before = sys.meta_path[: sys.meta_path.index(self)]
            if not all(isinstance(one, OnImport) for one in before):
                sys.meta_path.remove(self)
                sys.meta_path.insert(0, self)

    def _follow(self, spec: ModuleSpec) -> None:
        loader = spec.loader
        if loader is None:  # a folder without a package in it; nothing is run
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # from here on it is the loader that it was
            execute(module)
            if self in sys.meta_path:
                self.remove()
                self._call()

        # On the instance, not a loader of our own: others look at the loader's type.
        loader.exec_module = exec_module  # type: ignore[method-assign]
