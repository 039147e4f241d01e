"""Where the hooks for sessions and estimators of TensorFlow 1 were."""

from __future__ import annotations

from . import EstimatorHook, SessionHook

__all__ = ["EstimatorHook", "SessionHook"]
