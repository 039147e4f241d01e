"""What the hooks on boosted trees share; it imports no framework."""

from __future__ import annotations

from ..patching import ListenerPatches
from .hook import BoostingHook
from .rounds import (
    OWN_EVERY,
    EvaluationSet,
    Metric,
    Model,
    Node,
    Round,
    TrainedModel,
    columns_of,
    shares,
)

__all__ = [
    "OWN_EVERY",
    "BoostingHook",
    "EvaluationSet",
    "ListenerPatches",
    "Metric",
    "Model",
    "Node",
    "Round",
    "TrainedModel",
    "columns_of",
    "shares",
]
