"""What to do when the condition of a rule is met."""

from __future__ import annotations

from smdebug.rules.action.action import Actions

__all__ = ["Actions"]
