"""The training side, the same for all frameworks.

``Recorder`` is loaded when it is first used: what only reacts to findings does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recorder import Recorder as Recorder

__all__ = ["Recorder"]


def __getattr__(name: str) -> object:
    if name != "Recorder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .recorder import Recorder

    return Recorder
