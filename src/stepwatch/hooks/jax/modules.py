"""What the modules of Flax NNX return. They are plain classes: each ``__call__`` is wrapped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Protocol

from ..replaced import Function, Replaced
from .names import leaves


class Caller(Protocol):
    """Who is told of calls."""

    def run_module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module and look at what it returns."""


class ModuleCalls:
    """Wraps the ``__call__`` of all classes of modules that there are, and puts them back.

    Args:
        current: Returns who is told of a call, ``None`` for nobody.
    """

    def __init__(self, current: Callable[[], Caller | None]) -> None:
        self._current = current
        self._kinds: set[type] = set()
        self._replaced = Replaced()

    def wrap(self) -> None:
        """Wrap those that were defined since the last time."""
        root = getattr(sys.modules.get("flax.nnx"), "Module", None)
        if root is None:  # not imported, or being so
            return
        for kind in list(_subclasses(root)):
            if isinstance(vars(kind).get("__call__"), FunctionType) and kind not in self._kinds:
                self._kinds.add(kind)
                self._replaced.put(kind, "__call__", self._telling)

    def remove(self) -> None:
        """Put all back, but for what somebody else has replaced since."""
        self._replaced.remove()
        self._kinds.clear()

    def _telling(self, own: Function) -> Function:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            caller = current()
            if caller is None:
                return own(self, *args, **kwargs)
            return caller.run_module(own, self, args, kwargs)

        current = self._current
        return call


class ModulePaths:
    """The names of the modules of every model that ran.

    Those of the first class of models are their paths; of others the name of the class stands
    before them.
    """

    def __init__(self) -> None:
        self._first = ""
        #: All that could be called, with what became of it: ``None`` for what was seen.
        self.reasons: dict[str, str | None] = {}

    def inside(self, model: Any) -> dict[int, str]:
        """Return the names of the modules in a model by identity."""
        kind = type(model).__name__
        self._first = self._first or kind
        prefix = "" if kind == self._first else f"{kind}."
        names = {id(model): kind}
        for path, module in _modules(model):
            if path and callable(module):
                names.setdefault(id(module), prefix + ".".join(map(str, path)))
        for name in names.values():
            self.reasons.setdefault(name, "not called in this step")
        return names


def tensors_in(name: str, output: Any) -> dict[str, Any]:
    """Return the arrays of what a module returned, by name.

    Example:
        >>> list(tensors_in("GRU", (jax.numpy.ones(2), {"h": jax.numpy.ones(2)})))
        ['output/GRU/0', 'output/GRU/1/h']
    """
    return {
        f"output/{name}" + (f"/{path.replace('.', '/')}" if path else ""): array
        for path, array in leaves(output, "").items()
    }


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    subclasses: list[type[Any]] = type.__subclasses__(kind)
    for one in subclasses:
        yield one
        yield from _subclasses(one)


def _modules(model: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    nnx = sys.modules["flax.nnx"]
    for path, node in nnx.iter_graph(model):
        if isinstance(node, nnx.Module):
            yield path, node
