"""Hooks that cannot be made: old imports work, and the first call says why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NoReturn

from stepwatch.errors import MissingDependency
from stepwatch_smdebug.config.hook_config import find_hook_config

from ..exceptions import SMDebugNotImplementedError


class AbsentHook:
    """Stands for the hook of a framework that is not installed."""

    #: What is not installed.
    module: ClassVar[str] = ""

    def __init__(self, *_: object, **__: object) -> None:
        raise MissingDependency(
            f"{self.module} is not installed, so nothing is captured from it; what smdebug wrote "
            "from it is read"
        )

    @classmethod
    def create_from_json_file(
        cls, json_file_path: str | os.PathLike[str] | None = None
    ) -> AbsentHook:
        """Raise as the constructor does.

        Raises:
            FileNotFoundError: Nothing configures a hook, so none is missing.
        """
        if json_file_path is None and find_hook_config() is None:
            raise FileNotFoundError("no hook configuration")
        return cls()

    hook_from_config = create_from_json_file


@cache
def _hook_class(module: str, name: str, framework: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != framework:
            raise  # it is installed; something inside it is broken
        return type("AbsentHook", (AbsentHook,), {"module": framework})


def lazy_hook(package: str, name: str, module: str, framework: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose hook is imported when it is first used.

    Args:
        package: The package.
        name: The class of the hook.
        module: Where that is, below the package.
        framework: What it needs; where that is not installed, an ``AbsentHook`` takes its place.
    """

    def get(attribute: str) -> Any:
        if attribute != name:
            raise AttributeError(f"module {package!r} has no attribute {attribute!r}")
        return _hook_class(f"{package}.{module}", name, framework)

    return get


class UncapturedHook:
    """Stands for the hook of a framework that Stepwatch does not capture from."""

    framework: ClassVar[str] = ""

    def __init__(self, *_: object, **__: object) -> NoReturn:
        raise SMDebugNotImplementedError(
            f"Stepwatch does not capture from {self.framework} yet; what smdebug wrote from it is "
            "read: smdebug.trials.create_trial, rules and the stepwatch command work on such runs"
        )

    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> NoReturn:
        """Raise as the constructor does."""
        raise cls(json_file_path)

    hook_from_config = create_from_json_file
