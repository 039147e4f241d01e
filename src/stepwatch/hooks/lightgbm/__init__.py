"""The hook on LightGBM."""

from __future__ import annotations

from .hook import LightGBMHook

__all__ = ["LightGBMHook"]
