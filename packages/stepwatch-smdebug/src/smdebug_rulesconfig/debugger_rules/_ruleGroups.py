# ruff: noqa: N999  # the old path
"""Which rules to begin with, for every framework."""

from __future__ import annotations

from enum import Enum

from .builtin_rules import ALL, RuleConfig

_DEEP_LEARNING = ("VanishingGradient", "LossNotDecreasing", "WeightUpdateRatio")


class MXNET(Enum):
    """For MXNet."""

    SIMPLE = _DEEP_LEARNING


class TENSORFLOW(Enum):
    """For TensorFlow."""

    SIMPLE = _DEEP_LEARNING


class PYTORCH(Enum):
    """For PyTorch."""

    SIMPLE = _DEEP_LEARNING


class XGBOOST(Enum):
    """For XGBoost."""

    SIMPLE = ("TreeDepth", "ClassImbalance")


def get_rule_groups(group: Enum) -> list[RuleConfig]:
    """Return the configurations of the rules of a group.

    Example:
        >>> [one["DebugRuleConfiguration"]["RuleConfigurationName"]
        ...     for one in get_rule_groups(XGBOOST.SIMPLE)]
        ['TreeDepth', 'ClassImbalance']
    """
    configs = [config() for config in ALL]
    known = {
        config["DebugRuleConfiguration"]["RuleConfigurationName"]: config for config in configs
    }
    return [known[name] for name in group.value]
