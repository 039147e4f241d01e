"""The training side, the same for all frameworks."""

from .recorder import Recorder

__all__ = ["Recorder"]
