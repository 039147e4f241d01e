"""The import names of smdebug, on top of Stepwatch."""

from __future__ import annotations

from ._version import __version__
from .core.collection import CollectionKeys
from .core.modes import ModeKeys as modes  # noqa: N813 - smdebug's name
from .core.reduction_config import ReductionConfig
from .core.save_config import SaveConfig, SaveConfigMode

__all__ = [
    "CollectionKeys",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "__version__",
    "modes",
]
