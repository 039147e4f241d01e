"""What old code asks about the place where a run lies."""

from __future__ import annotations

from .utils import check_dir_exists, has_training_ended, training_has_ended

__all__ = ["check_dir_exists", "has_training_ended", "training_has_ended"]
