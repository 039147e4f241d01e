"""smdebug's hook for MXNet, and what goes with it. Old runs are read without MXNet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ReductionConfig, SaveConfig, SaveConfigMode, modes
from ..core.collection import CollectionKeys
from ..core.missing_hooks import lazy_hook
from ..trials import create_trial
from .collection import Collection
from .singleton_utils import del_hook, get_hook, set_hook

if TYPE_CHECKING:
    from .hook import Hook

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


__getattr__ = lazy_hook(__name__, "Hook", "hook", "mxnet")
