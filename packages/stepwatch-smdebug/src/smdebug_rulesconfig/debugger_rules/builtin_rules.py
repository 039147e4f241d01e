"""A function for every rule: it returns the rule's configuration, a new one each time.

A configuration without collections leaves what is to be saved to whoever uses the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TypedDict

from ._collections import CollectionConfiguration, collection, get_collection


class DebugRuleConfiguration(TypedDict):
    """Which rule runs, and with which parameters."""

    RuleConfigurationName: str
    RuleParameters: dict[str, str]


class _Rule(TypedDict):
    DebugRuleConfiguration: DebugRuleConfiguration


class RuleConfig(_Rule, total=False):
    """The configuration of a rule."""

    CollectionConfigurations: list[CollectionConfiguration]


def _rule(name: str, *collections: str) -> Callable[[], RuleConfig]:
    return _with(name, [found for one in collections if (found := get_collection(one))])


def _with(name: str, collections: Sequence[CollectionConfiguration]) -> Callable[[], RuleConfig]:
    def config() -> RuleConfig:
        made: RuleConfig = {
            "DebugRuleConfiguration": {
                "RuleConfigurationName": name,
                "RuleParameters": {"rule_to_invoke": name},
            }
        }
        if collections:
            made["CollectionConfigurations"] = deepcopy(list(collections))
        return made

    config.__doc__ = f"Return the configuration of {name}."
    config.rule_name = name  # type: ignore[attr-defined]  # by which these functions are known
    return config


_EVERY_5 = "5"

all_zero = _rule("AllZero")
check_input_images = _rule("CheckInputImages", "input_image")
class_imbalance = _rule("ClassImbalance")
confusion = _rule("Confusion")
create_xgboost_report = _with(
    "CreateXgboostReport",
    [
        collection("metrics", save_interval=_EVERY_5),
        collection("feature_importance", save_interval=_EVERY_5),
        collection("hyperparameters", save_steps="0"),
        collection("predictions", save_interval=_EVERY_5),
        collection("labels", save_interval=_EVERY_5),
    ],
)
dead_relu = _rule("DeadRelu", "relu_output")
exploding_tensor = _rule("ExplodingTensor")
feature_importance_overweight = _rule("FeatureImportanceOverweight", "feature_importance")
loss_not_decreasing = _rule("LossNotDecreasing", "losses")
nlp_sequence_ratio = _rule("NLPSequenceRatio", "input_sequence")
overfit = _rule("Overfit")
overtraining = _rule("Overtraining")
poor_weight_initialization = _rule("PoorWeightInitialization", "relu_input")
saturated_activation = _rule("SaturatedActivation")
similar_across_runs = _rule("SimilarAcrossRuns")
stalled_training_rule = _rule("StalledTrainingRule")
tensor_variance = _rule("TensorVariance")
tree_depth = _rule("TreeDepth")
unchanged_tensor = _rule("UnchangedTensor")
vanishing_gradient = _rule("VanishingGradient", "gradients")
weight_update_ratio = _rule("WeightUpdateRatio", "weights")

#: The functions, in the order of their names.
ALL = tuple(found for found in tuple(vars().values()) if hasattr(found, "rule_name"))
