"""The hook of this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..core.singleton_utils import configured_hook, del_hook, set_hook

if TYPE_CHECKING:
    from .hook import Hook

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(json_config_path: str | os.PathLike[str] | None = None) -> Hook | None:
    """Return the hook of this process; see ``core.singleton_utils.configured_hook``."""
    hook: Hook | None = configured_hook("smdebug.xgboost", "Hook", json_config_path)
    return hook
