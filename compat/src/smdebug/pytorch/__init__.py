"""smdebug's hook for PyTorch, and what goes with it."""

from __future__ import annotations

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.collection import CollectionKeys
from smdebug.pytorch.collection import Collection
from smdebug.pytorch.hook import Hook
from smdebug.pytorch.singleton_utils import del_hook, get_hook, set_hook
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
