"""smdebug's hook for XGBoost, and what goes with it. Old runs are read without XGBoost."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smdebug import SaveConfig, SaveConfigMode, modes
from smdebug.core.absent import AbsentHook
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.trials import create_trial
from smdebug.xgboost.singleton_utils import del_hook, get_hook, set_hook

if TYPE_CHECKING:
    from smdebug.xgboost.hook import Hook

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


class _Absent(AbsentHook):
    """Stands where the hook would."""

    module = "xgboost"


def __getattr__(name: str) -> Any:
    if name != "Hook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("smdebug.xgboost.hook").Hook
    except ModuleNotFoundError as error:
        if error.name != "xgboost":
            raise  # it is installed; something inside it is broken
        return _Absent
