"""The names of parameters and losses, from pytrees and functions."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np


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
    """Return the names of positional arguments of a function, as far as it tells."""
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
