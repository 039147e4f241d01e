"""smdebug's hook for PyTorch, and what goes with it."""

from __future__ import annotations

from .. import ReductionConfig, SaveConfig, SaveConfigMode, modes
from ..core.collection import CollectionKeys
from ..trials import create_trial
from .collection import Collection
from .hook import Hook
from .singleton_utils import del_hook, get_hook, set_hook

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
