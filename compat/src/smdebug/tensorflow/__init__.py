"""smdebug's hook for Keras, and what goes with it. Old runs are read without Keras.

Sessions and estimators of TensorFlow 1 are not captured.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.absent import AbsentHook
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.uncaptured import UncapturedHook
from smdebug.tensorflow.singleton_utils import del_hook, get_hook, set_hook
from smdebug.trials import create_trial

if TYPE_CHECKING:
    from smdebug.tensorflow.keras import KerasHook

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


class SessionHook(UncapturedHook):
    """Stands where the hook for sessions of TensorFlow 1 stood."""

    framework = "TensorFlow"


EstimatorHook = SessionHook


class _Absent(AbsentHook):
    """Stands where the hook would."""

    module = "keras"


def __getattr__(name: str) -> Any:
    if name != "KerasHook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("smdebug.tensorflow.keras").KerasHook
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise  # it is installed; something inside it is broken
        return _Absent
