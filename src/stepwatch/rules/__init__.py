"""Rules evaluate steps and yield findings; a ``Watch`` gives them the steps.

The names below are all that a rule of your own, or a program around rules, needs.
"""

from __future__ import annotations

from ..judge.declaration import parameter
from ..judge.engine import RuleStatus, Watch, watch
from ..judge.parameters import DEFAULT_RULES, build, parse_rules
from ..judge.rule import EvidenceView, Findings, Rule, Scope, Selection, Watched
from ..judge.step_view import StepView, TensorGroup, TensorView
from ..model.finding import SEVERITIES, Finding

__all__ = [
    "DEFAULT_RULES",
    "SEVERITIES",
    "EvidenceView",
    "Finding",
    "Findings",
    "Rule",
    "RuleStatus",
    "Scope",
    "Selection",
    "StepView",
    "TensorGroup",
    "TensorView",
    "Watch",
    "Watched",
    "build",
    "parameter",
    "parse_rules",
    "watch",
]
