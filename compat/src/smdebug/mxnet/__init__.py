"""smdebug's names for MXNet. Old runs are read; capturing is not there yet."""

from __future__ import annotations

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.uncaptured import UncapturedHook, del_hook, hook_getter, refusing
from smdebug.trials import create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


class Hook(UncapturedHook):
    """Stands where the hook for MXNet will."""

    framework = "MXNet"


get_hook = hook_getter("MXNet")
set_hook = refusing("MXNet")
