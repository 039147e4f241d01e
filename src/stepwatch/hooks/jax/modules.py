"""Names of parameters and losses in pytrees, and what modules of Flax NNX return.

Modules are plain classes: each ``__call__`` is wrapped.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Protocol

import jax
import numpy as np

from ..patching import Function, PatchSet


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, also of one that was wrapped or has arguments bound.

    Example:
        >>> function_name(functools.partial(max, 1)), function_name(lambda x: x)
        ('max', 'lambda')
    """
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return str(name).strip("<>")


def argument_names(function: Callable[..., Any], argnums: Sequence[int]) -> list[str]:
    """Return the names of positional arguments of a function, as far as they are known."""
    try:
        named = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        named = []
    return [
        named[number] if -len(named) <= number < len(named) else f"argument_{number}"
        for number in argnums
    ]


def leaves(tree: Any, otherwise: str) -> dict[str, Any]:
    """Return the arrays of a pytree by their paths, such as ``layers.0.kernel``.

    Args:
        tree: Dicts, lists, dataclasses, models and states of NNX.
        otherwise: The name of a tree that is a single array.
    """
    variable = getattr(sys.modules.get("flax.nnx"), "Variable", ())
    found = jax.tree_util.tree_flatten_with_path(
        tree, is_leaf=lambda node: isinstance(node, variable)
    )[0]
    arrays = [(_path(tree, path), jax.tree.leaves(node) or [None]) for path, node in found]
    return {
        path or otherwise: array if hasattr(array, "dtype") else np.asarray(array)
        for path, (array, *_) in arrays
        if hasattr(array, "dtype") or isinstance(array, (int, float))
    }


def _path(tree: Any, path: Sequence[Any]) -> str:
    if type(tree).__name__ == "NodeStates":  # how NNX hands over a model: in a list of one
        path = path[2:]
    return ".".join(_key(key) for key in path)


def _key(key: Any) -> str:
    for field in ("key", "idx", "name"):
        if hasattr(key, field):
            return str(getattr(key, field))
    return str(key)


class ParameterNames:
    """Gives the parameters of each loss function names of their own.

    Those of the first are their paths. Where another function is trained whose parameters have
    paths that are taken, and are other parameters, its name stands before them.
    """

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}

    def of(
        self,
        function: Callable[..., Any],
        trees: Mapping[str, Any],
        observed: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the parameters of a function by name.

        Args:
            function: The one that is differentiated.
            trees: Its arguments with regard to which it is, by their names.
            observed: What was observed in the same call before; parameters that are the very
                same keep their names.
        """
        found: dict[str, Any] = {}
        for argument, tree in trees.items():
            for path, array in leaves(tree, argument).items():
                is_inside = len(trees) > 1 and path != argument
                found[f"{argument}.{path}" if is_inside else path] = array
        name = function_name(function)
        if all(observed.get(path) is array for path, array in found.items()):
            return found
        taken = any(self._owner.get(path, name) != name for path in found)
        prefix = f"{name}." if taken else ""
        for path in found:
            self._owner.setdefault(prefix + path, name)
        return {prefix + path: array for path, array in found.items()}


class ModuleCallListener(Protocol):
    """Runs and observes calls of modules."""

    def run_module(self, run: Function, module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module and observe what it returns."""


class ModuleCalls:
    """Wraps the ``__call__`` of all classes of modules that there are, and puts them back.

    Args:
        current: Returns the listener of a call, ``None`` for none.
    """

    def __init__(self, current: Callable[[], ModuleCallListener | None]) -> None:
        self._current = current
        self._kinds: set[type] = set()
        self._replaced = PatchSet()

    def wrap(self) -> None:
        """Wrap those that were defined since the last time."""
        root = getattr(sys.modules.get("flax.nnx"), "Module", None)
        if root is None:  # not imported, or being so
            return
        for kind in list(_subclasses(root)):
            if isinstance(vars(kind).get("__call__"), FunctionType) and kind not in self._kinds:
                self._kinds.add(kind)
                self._replaced.put(kind, "__call__", self._wrapper)

    def remove(self) -> None:
        """Put all back, but for what somebody else has replaced since."""
        self._replaced.remove()
        self._kinds.clear()

    def _wrapper(self, own: Function) -> Function:
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
        #: All that could be called, each with ``None`` if it was observed, else why not.
        self.reasons: dict[str, str | None] = {}

    def name(self, kind: str, path: Sequence[object]) -> str:
        """Return the name of a module.

        Args:
            kind: The name of the class of the model that it is in.
            path: Where it is in that; empty for the model.
        """
        self._first = self._first or kind
        prefix = "" if kind == self._first else f"{kind}."
        return prefix + ".".join(map(str, path)) if path else kind

    def inside(self, model: Any) -> dict[int, str]:
        """Return the names of a model of NNX and of what is in it, by their ids."""
        kind = type(model).__name__
        names = {id(model): self.name(kind, ())}
        for path, module in _modules(model):
            if path and callable(module):
                names.setdefault(id(module), self.name(kind, path))
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
