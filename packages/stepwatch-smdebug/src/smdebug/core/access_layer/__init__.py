"""Whether there is a finished run at a path."""

from __future__ import annotations

from .utils import check_dir_exists, has_training_ended, training_has_ended

__all__ = ["check_dir_exists", "has_training_ended", "training_has_ended"]
