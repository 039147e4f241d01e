"""The reading side: a live, read-only view of a run."""

from .series import Series
from .tensor import Tensor
from .trial import Trial

__all__ = ["Series", "Tensor", "Trial"]
