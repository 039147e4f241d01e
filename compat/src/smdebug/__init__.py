"""The import names of smdebug, on top of Stepwatch."""

from __future__ import annotations

from smdebug._version import __version__
from smdebug.core.collection import CollectionKeys
from smdebug.core.modes import ModeKeys as modes  # noqa: N813 - smdebug's name
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig, SaveConfigMode

__all__ = [
    "CollectionKeys",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "__version__",
    "modes",
]
