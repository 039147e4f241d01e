"""The hook of this process."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

from smdebug.core import singleton_utils
from smdebug.core.singleton_utils import del_hook, set_hook

if TYPE_CHECKING:
    from smdebug.mxnet.hook import Hook

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(json_config_path: str | os.PathLike[str] | None = None) -> Hook | None:
    """Return the hook of this process; where there is none, make one.

    Args:
        json_config_path: What a new one is told; see ``Hook.create_from_json_file``. Where no
            file tells it anything, or ``$USE_SMDEBUG`` says no, there is none.
    """
    if not singleton_utils.is_used():
        return None
    # That of MXNet, or what stands in its place where it is not installed.
    hook_class = cast("type[Hook]", import_module("smdebug.mxnet").Hook)
    return singleton_utils.get_hook(
        json_config_path=json_config_path, hook_class=hook_class, create_if_not_exists=True
    )
