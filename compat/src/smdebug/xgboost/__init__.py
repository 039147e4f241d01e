"""smdebug's names for XGBoost. Old runs are read; capturing is not there yet."""

from __future__ import annotations

from smdebug import SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.uncaptured import UncapturedHook, del_hook, hook_getter, refusing
from smdebug.trials import create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


class Hook(UncapturedHook):
    """Stands where the hook for XGBoost will."""

    framework = "XGBoost"


get_hook = hook_getter("XGBoost")
set_hook = refusing("XGBoost")
