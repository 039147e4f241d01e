"""Being called when a module has been imported, whoever imports it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class OnImport:
    """Calls back when a module has been imported.

    Packages that only look for it, with ``importlib.util.find_spec``, do not import it.

    Args:
        name: The module's full name.
        call: What to call, after its code has run.
    """

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self.name = name
        self.call = call
        if name in sys.modules:
            call()
        else:
            _FINDER.add(self)

    def remove(self) -> None:
        _FINDER.remove(self)


class _Finder(MetaPathFinder):
    """Notices imports for all who wait for one; it finds nothing itself.

    It is asked at each import of a process, so there is one of it.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, list[OnImport]] = {}

    def add(self, one: OnImport) -> None:
        self._waiting.setdefault(one.name, []).append(one)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self, one: OnImport) -> None:
        waiting = self._waiting.get(one.name, [])
        if one in waiting:
            waiting.remove(one)
        if not waiting:
            self._waiting.pop(one.name, None)
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the others find, whose loader calls back when it is done."""
        # Others that came later may find the module, and then nobody asks this one.
        if sys.meta_path[0] is not self and self in sys.meta_path:
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if fullname not in self._waiting:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        loader = spec.loader
        if loader is None:  # a folder without a package in it; nothing is run
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # from here on it is the loader that it was
            with _without_collections():
                execute(module)
                for one in [*self._waiting.get(spec.name, [])]:
                    self.remove(one)
                    one.call()

        # On the instance, not a loader of our own: others look at the loader's type.
        loader.exec_module = exec_module  # type: ignore[method-assign]


@contextmanager
def _without_collections() -> Iterator[None]:
    """Let no garbage be looked for meanwhile, nor after it among what was made.

    A framework makes hundreds of thousands of objects that stay, and each look through them takes
    longer than the last.
    """
    if not gc.isenabled() or gc.get_freeze_count():  # somebody else sees to it
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # and back, into the oldest generation
        gc.unfreeze()
        gc.enable()


_FINDER = _Finder()
