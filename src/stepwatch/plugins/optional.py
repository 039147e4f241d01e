"""Packages that Stepwatch can do without, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ..errors import MissingDependency


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional package, or say how to get it.

    Args:
        module: Dotted name, such as ``plotly.graph_objects``.
        extra: The extra of Stepwatch that brings the package.

    Raises:
        MissingDependency: The package is not installed.
        ImportError: It is installed and broken; the original error, untouched.

    Example:
        >>> require("json", extra="plots").dumps([1])
        '[1]'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is installed; something inside it is broken
        raise MissingDependency(
            f"{package} is not installed; run: pip install 'stepwatch[{extra}]'"
        ) from error
