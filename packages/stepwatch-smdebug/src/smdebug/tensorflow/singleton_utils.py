"""The hook of this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..core.singleton_utils import configured_hook, del_hook, set_hook

if TYPE_CHECKING:
    from .keras import KerasHook

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(
    hook_type: str | None = None,
    json_config_path: str | os.PathLike[str] | None = None,
    create_if_not_exists: bool = False,
) -> KerasHook | None:
    """Return the hook of this process; see ``core.singleton_utils.configured_hook``.

    ``hook_type`` and ``create_if_not_exists`` are accepted for old code.
    """
    del hook_type, create_if_not_exists
    hook: KerasHook | None = configured_hook("smdebug.tensorflow", "KerasHook", json_config_path)
    return hook
