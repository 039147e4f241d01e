"""What the hooks on boosted trees share; it imports no framework."""

from __future__ import annotations

from .hook import BoostingHook
from .listening import Listening
from .round import OWN_EVERY, Evaluated, Metric, Model, Round, Trained, shares
from .trees import Node, columns_of

__all__ = [
    "OWN_EVERY",
    "BoostingHook",
    "Evaluated",
    "Listening",
    "Metric",
    "Model",
    "Node",
    "Round",
    "Trained",
    "columns_of",
    "shares",
]
