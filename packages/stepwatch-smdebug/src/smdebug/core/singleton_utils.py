"""The hook of this process: the one that was made last."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import SMDebugTypeError
from . import environment

if TYPE_CHECKING:
    from .hook import BaseHook

USE_VARIABLE = "USE_SMDEBUG"
_NO = ("n", "no", "f", "false", "off", "0")

H = TypeVar("H", bound="BaseHook")
_hook: BaseHook | None = None


def is_used() -> bool:
    """Return whether hooks are enabled: ``$USE_SMDEBUG`` can disable them."""
    return (environment.text(USE_VARIABLE) or "true").lower() not in _NO


def get_hook(
    *,
    json_config_path: str | os.PathLike[str] | None,
    hook_class: type[H],
    create_if_not_exists: bool,
) -> H | None:
    """Return the hook of this process; one of another class is let go.

    Args:
        json_config_path: Configures a new one; see ``BaseHook.create_from_json_file``.
        hook_class: The class of the hook.
        create_if_not_exists: Make one if there is none; where no file configures it there is none.
    """
    global _hook
    if not is_used():
        return None
    if isinstance(_hook, hook_class):
        return _hook
    _hook = None
    if create_if_not_exists:
        try:
            _hook = hook_class.create_from_json_file(json_config_path)
        except FileNotFoundError:
            return None
    return _hook if isinstance(_hook, hook_class) else None


def configured_hook(
    package: str, name: str, json_config_path: str | os.PathLike[str] | None
) -> Any:
    """Return the hook of this process; where there is none, make one.

    Where no file configures it, or ``$USE_SMDEBUG`` says no, there is none.

    Args:
        package: The package of the framework.
        name: The class of the hook there, or what stands in its place.
        json_config_path: See ``BaseHook.create_from_json_file``.
    """
    hook_class = getattr(import_module(package), name)
    return get_hook(
        json_config_path=json_config_path, hook_class=hook_class, create_if_not_exists=True
    )


def set_hook(custom_hook: BaseHook) -> None:
    """Make a hook the one of this process.

    Raises:
        SMDebugTypeError: It is no hook.
    """
    from .hook import BaseHook  # which sets the hook of this process

    global _hook
    if not isinstance(custom_hook, BaseHook):
        raise SMDebugTypeError(f"a hook is needed, got {custom_hook!r}")
    _hook = custom_hook


def del_hook() -> None:
    """Forget the hook of this process; it goes on with what was registered."""
    global _hook
    _hook = None
