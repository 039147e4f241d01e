"""``MessageAction`` under the name of its old module."""

from __future__ import annotations

from .action import MessageAction

__all__ = ["MessageAction"]
