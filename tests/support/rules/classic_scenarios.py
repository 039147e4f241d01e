"""Which rule of SageMaker Debugger must, or must not, find something in which program."""

from __future__ import annotations

from functools import partial

from torch import nn

from tests.support.rules.classic_programs import bounded, classes, deep, images, mlp, padded
from tests.support.rules.rule_programs import random_labels, true_labels
from tests.support.rules.scenarios import Scenario

_TEN = (100,) * 10

CLASSIC = [
    Scenario("unchanged_tensor:collection_names=weights", partial(mlp, lr=0.0), True),
    Scenario("unchanged_tensor:collection_names=weights", partial(mlp, lr=0.1), False),
    Scenario("unchanged_tensor:collection_names=weights,include_frozen=true",
             partial(mlp, lr=0.1, frozen=True), True),
    Scenario("unchanged_tensor:collection_names=weights", partial(mlp, lr=0.1, frozen=True), False),
    Scenario("tensor_variance:collection_names=weights,max_threshold=10,min_threshold=1e-5",
             partial(mlp, std=10.0, lr=1e-6), True),
    Scenario("tensor_variance:collection_names=weights,max_threshold=10,min_threshold=1e-5",
             mlp, False),
    Scenario("weight_update_ratio", partial(mlp, lr=1e-12), True),
    Scenario("weight_update_ratio", partial(mlp, lr=1e4, steps=1), True),
    Scenario("weight_update_ratio", mlp, False),
    Scenario("weight_update_ratio:num_steps=4", partial(mlp, lr=1e-12), True),
    Scenario("weight_update_ratio:num_steps=4,per_step=true", mlp, False),
    Scenario("dead_relu", partial(mlp, bias=-10.0), True),
    Scenario("dead_relu", mlp, False),
    Scenario("dead_relu:window=2", partial(mlp, bias=-10.0), True),
    Scenario("dead_relu", partial(mlp, bias=-10.0, functional=True), True),
    Scenario("dead_relu", partial(mlp, functional=True), False),
    Scenario("saturated_activation", partial(bounded, scale=1e4), True),
    Scenario("saturated_activation", partial(bounded, scale=1.0), False),
    Scenario("saturated_activation", partial(bounded, scale=1e4, activation=nn.Sigmoid), True),
    Scenario("saturated_activation:gradient_floor=1e-2", partial(bounded, scale=1e3), True),
    Scenario("saturated_activation:gradient_floor=1e-7", partial(bounded, scale=1.0), False),
    Scenario("poor_weight_initialization", partial(deep, "tiny"), True),
    Scenario("poor_weight_initialization", partial(deep, "constant"), True),
    Scenario("poor_weight_initialization", partial(deep, "kaiming"), False),
    Scenario("poor_weight_initialization:profile=compat", partial(deep, "default"), True),
    Scenario("overtraining", random_labels, True),
    Scenario("overtraining", true_labels, False),
    Scenario("class_imbalance", partial(classes, counts=(990, 10)), True),
    Scenario("class_imbalance", partial(classes, counts=_TEN), False),
    Scenario("class_imbalance", partial(classes, counts=_TEN, taken_for={3: 5}), True),
    Scenario("confusion", partial(classes, counts=_TEN, taken_for={4: 7}), True),
    Scenario("confusion", partial(classes, counts=_TEN), False),
    Scenario("confusion:normalize=row", partial(classes, counts=_TEN, taken_for={4: 7}), True),
    Scenario("check_input_images", partial(images, standardized=False), True),
    Scenario("check_input_images", partial(images, standardized=True), False),
    Scenario("check_input_images:threshold_std=0.5", partial(images, standardized=True), False),
    Scenario("nlp_sequence_ratio", partial(padded, share=0.75), True),
    Scenario("nlp_sequence_ratio", partial(padded, share=0.2), False),
]  # fmt: skip
