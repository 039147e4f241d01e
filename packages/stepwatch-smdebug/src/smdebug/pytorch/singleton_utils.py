"""The hook of this process."""

from __future__ import annotations

import os

from ..core import singleton_utils
from ..core.singleton_utils import del_hook, set_hook
from .hook import Hook

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(
    json_config_path: str | os.PathLike[str] | None = None, create_if_not_exists: bool = False
) -> Hook | None:
    """Return the hook of this process, ``None`` if there is none.

    Args:
        json_config_path: Configures a new one; see ``Hook.create_from_json_file``.
        create_if_not_exists: Make one if there is none. Where no file configures it, or
            ``$USE_SMDEBUG`` says no, there is none.
    """
    return singleton_utils.get_hook(
        json_config_path=json_config_path,
        hook_class=Hook,
        create_if_not_exists=create_if_not_exists,
    )
