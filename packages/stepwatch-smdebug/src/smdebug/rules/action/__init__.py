"""What to do when the condition of a rule is met."""

from __future__ import annotations

from .action import Actions, MessageAction, StopTrainingAction

__all__ = ["Actions", "MessageAction", "StopTrainingAction"]
