"""smdebug's names for TensorFlow. Old runs are read; capturing is not there yet."""

from __future__ import annotations

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.uncaptured import UncapturedHook, del_hook, hook_getter, refusing
from smdebug.trials import create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


class KerasHook(UncapturedHook):
    """Stands where the hook for Keras will."""

    framework = "TensorFlow"


class SessionHook(UncapturedHook):
    """Stands where the hook for sessions of TensorFlow 1 stood."""

    framework = "TensorFlow"


EstimatorHook = SessionHook
get_hook = hook_getter("TensorFlow")
set_hook = refusing("TensorFlow")
