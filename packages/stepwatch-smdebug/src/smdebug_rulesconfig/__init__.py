"""Configurations of the rules of SageMaker Debugger, and what to do when one fires.

The functions and classes only make values: what a rule is called, its parameters, and which
tensors it wants to be saved. ``sagemaker.debugger.rule_configs`` is another name of this package.
"""

from __future__ import annotations

from .actions.actions import SMS, ActionList, Email, StopTraining, is_valid_action_object
from .debugger_rules._collections import get_collection
from .debugger_rules.builtin_rules import (
    all_zero,
    check_input_images,
    class_imbalance,
    confusion,
    create_xgboost_report,
    dead_relu,
    exploding_tensor,
    feature_importance_overweight,
    loss_not_decreasing,
    nlp_sequence_ratio,
    overfit,
    overtraining,
    poor_weight_initialization,
    saturated_activation,
    similar_across_runs,
    stalled_training_rule,
    tensor_variance,
    tree_depth,
    unchanged_tensor,
    vanishing_gradient,
    weight_update_ratio,
)
from .errors import InvalidAction, InvalidParameter
from .profiler_rules.report import ProfilerReport
from .profiler_rules.rules import (
    BatchSize,
    CPUBottleneck,
    Dataloader,
    GPUMemoryIncrease,
    IOBottleneck,
    LoadBalancing,
    LowGPUUtilization,
    MaxInitializationTime,
    OverallFrameworkMetrics,
    OverallSystemUsage,
    StepOutlier,
)

__version__ = "1.0.1"

__all__ = [
    "SMS",
    "ActionList",
    "BatchSize",
    "CPUBottleneck",
    "Dataloader",
    "Email",
    "GPUMemoryIncrease",
    "IOBottleneck",
    "InvalidAction",
    "InvalidParameter",
    "LoadBalancing",
    "LowGPUUtilization",
    "MaxInitializationTime",
    "OverallFrameworkMetrics",
    "OverallSystemUsage",
    "ProfilerReport",
    "StepOutlier",
    "StopTraining",
    "all_zero",
    "check_input_images",
    "class_imbalance",
    "confusion",
    "create_xgboost_report",
    "dead_relu",
    "exploding_tensor",
    "feature_importance_overweight",
    "get_collection",
    "is_valid_action_object",
    "loss_not_decreasing",
    "nlp_sequence_ratio",
    "overfit",
    "overtraining",
    "poor_weight_initialization",
    "saturated_activation",
    "similar_across_runs",
    "stalled_training_rule",
    "tensor_variance",
    "tree_depth",
    "unchanged_tensor",
    "vanishing_gradient",
    "weight_update_ratio",
]
