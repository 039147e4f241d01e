"""smdebug's hook for MXNet, and what goes with it. Old runs are read without MXNet."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.absent import AbsentHook
from smdebug.core.collection import CollectionKeys
from smdebug.mxnet.collection import Collection
from smdebug.mxnet.singleton_utils import del_hook, get_hook, set_hook
from smdebug.trials import create_trial

if TYPE_CHECKING:
    from smdebug.mxnet.hook import Hook

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


class _Absent(AbsentHook):
    """Stands where the hook would."""

    module = "mxnet"


def __getattr__(name: str) -> Any:
    if name != "Hook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("smdebug.mxnet.hook").Hook
    except ModuleNotFoundError as error:
        if error.name != "mxnet":
            raise  # it is installed; something inside it is broken
        return _Absent
