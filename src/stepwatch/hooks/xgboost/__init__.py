"""The hook on XGBoost."""

from __future__ import annotations

from .hook import XGBoostHook

__all__ = ["XGBoostHook"]
