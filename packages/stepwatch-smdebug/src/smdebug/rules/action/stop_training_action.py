"""``StopTrainingAction`` under the name of its old module."""

from __future__ import annotations

from .action import StopTrainingAction

__all__ = ["StopTrainingAction"]
