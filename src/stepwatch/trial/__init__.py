"""The reading side: a live, read-only view of a run."""

from .tensor import Series, Tensor
from .trial import Trial

__all__ = ["Series", "Tensor", "Trial"]
