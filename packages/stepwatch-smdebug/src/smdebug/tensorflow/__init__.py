"""smdebug's hook for Keras, and what goes with it. Old runs are read without Keras.

Sessions and estimators of TensorFlow 1 are not captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ReductionConfig, SaveConfig, SaveConfigMode, modes
from ..core.collection import Collection, CollectionKeys
from ..core.missing_hooks import UncapturedHook, lazy_hook
from ..trials import create_trial
from .singleton_utils import del_hook, get_hook, set_hook

if TYPE_CHECKING:
    from .keras import KerasHook

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


__getattr__ = lazy_hook(__name__, "KerasHook", "keras", "keras")
