"""Rules: code that evaluates every step of a run."""

from __future__ import annotations

from .req_tensors import RequiredTensors, RequiredTensorsForTrial
from .rule import Rule
from .rule_invoker import invoke_rule

__all__ = ["RequiredTensors", "RequiredTensorsForTrial", "Rule", "invoke_rule"]
