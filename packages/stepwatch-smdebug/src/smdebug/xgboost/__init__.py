"""smdebug's hook for XGBoost, and what goes with it. Old runs are read without XGBoost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import SaveConfig, SaveConfigMode, modes
from ..core.collection import Collection, CollectionKeys
from ..core.missing_hooks import lazy_hook
from ..trials import create_trial
from .singleton_utils import del_hook, get_hook, set_hook

if TYPE_CHECKING:
    from .hook import Hook

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


__getattr__ = lazy_hook(__name__, "Hook", "hook", "xgboost")
