"""Which rule must, or must not, find something in which training program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest

from tests.support.rules.rule_programs import (
    accumulated,
    deep_sigmoid,
    four_relus,
    frozen_backbone,
    linear_regression,
    log_of_negative,
    masked_attention,
    nan_in_backward,
    nan_in_data,
    no_zero_grad,
    noisy_regression,
    random_labels,
    replaced_head,
    returns_a_tuple,
    small_classifier,
    true_labels,
    two_optimizers,
    unused_layer,
    zero_learning_rate_group,
    zero_weight,
)


class Scenario(NamedTuple):
    """A rule, a program, and whether the rule must find something in it."""

    rule: str
    program: Callable[[], None]
    must_fire: bool


def first_of_each_rule(scenarios: list[Scenario]) -> list[object]:
    """Return them to be parameters of a test; all but one of each rule and answer are slow."""
    asked: set[tuple[str, bool]] = set()
    marked: list[object] = []
    for one in scenarios:
        kind = one.rule.partition(":")[0], one.must_fire
        marked.append(pytest.param(one, marks=pytest.mark.slow) if kind in asked else one)
        asked.add(kind)
    return marked


SCENARIOS = [
    Scenario("vanishing_gradient", deep_sigmoid, True),
    Scenario("vanishing_gradient:relative_to=largest,relative_threshold=1e-7,consecutive=10",
             deep_sigmoid, True),
    Scenario("vanishing_gradient:relative_to=median", deep_sigmoid, True),
    Scenario("vanishing_gradient", four_relus, False),
    Scenario("exploding_tensor", partial(linear_regression, lr=10.0), True),
    Scenario("exploding_tensor", partial(linear_regression, lr=0.01), False),
    Scenario("exploding_tensor", masked_attention, True),
    Scenario("exploding_tensor:allow_masks=true", masked_attention, False),
    Scenario("all_zero:collection_names=weights", partial(zero_weight, zero=True), True),
    Scenario("all_zero:collection_names=weights", partial(zero_weight, zero=False), False),
    Scenario("all_zero:collection_names=outputs,consecutive=10", partial(zero_weight, zero=True),
             True),
    Scenario("all_zero:collection_names=outputs,consecutive=10",
             partial(returns_a_tuple, zero=True), True),
    Scenario("all_zero:collection_names=outputs,consecutive=10",
             partial(returns_a_tuple, zero=False), False),
    Scenario("loss_not_decreasing", partial(linear_regression, lr=0.0), True),
    Scenario("loss_not_decreasing", partial(linear_regression, lr=0.02), False),
    Scenario("loss_not_decreasing", partial(linear_regression, lr=0.1, noise=0.5, steps=120), True),
    Scenario("loss_not_decreasing:converged_loss=0.5",
             partial(linear_regression, lr=0.1, noise=0.5, steps=120), False),
    Scenario("overfit", random_labels, True),
    Scenario("overfit", true_labels, False),
    Scenario("non_finite_origin", partial(log_of_negative, broken=3), True),
    Scenario("non_finite_origin", partial(log_of_negative, broken=None), False),
    Scenario("non_finite_origin", nan_in_data, True),
    Scenario("non_finite_origin", nan_in_backward, True),
    Scenario("non_finite_origin", masked_attention, False),
    Scenario("loss_spike", partial(noisy_regression, spoiled_at=250), True),
    Scenario("loss_spike", noisy_regression, False),
    Scenario("grad_norm_spike", partial(noisy_regression, spoiled_at=250), True),
    Scenario("grad_norm_spike", noisy_regression, False),
    Scenario("grad_norm_spike:clip_window=100", partial(noisy_regression, clip=1e-3), True),
    Scenario("grad_norm_spike:clip_window=100", partial(noisy_regression, clip=1e3), False),
    Scenario("grad_norm_spike:growth_share=0.25,z=100",
             partial(noisy_regression, growing=True, steps=800), True),
    Scenario("untrained_parameter", replaced_head, True),
    Scenario("untrained_parameter", frozen_backbone, False),
    Scenario("untrained_parameter", unused_layer, True),
    Scenario("untrained_parameter", two_optimizers, True),
    Scenario("untrained_parameter", zero_learning_rate_group, True),
    Scenario("untrained_parameter", no_zero_grad, True),
    Scenario("untrained_parameter", accumulated, False),
]  # fmt: skip

#: Programs in which the rules that run by default must find nothing.
HEALTHY = [four_relus, true_labels, masked_attention, noisy_regression, frozen_backbone,
           accumulated, small_classifier]  # fmt: skip
