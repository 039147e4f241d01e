"""Overtraining and PoorWeightInitialization, and rounds of boosting, on losses by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from tests.support.rules.made_steps import full_step, judged, steps_at

nan = math.nan
FLAT = [1.0] * 12
FALLING = [0.9**number for number in range(12)]


def rounds(validation, train=None, *, steps=2):
    """Return rounds of TRAIN steps and one EVAL step each, with these losses."""
    train = train or [1.0 / (number + 1) for number in range(len(validation))]
    made = []
    for fit, held_out in zip(train, validation, strict=True):
        for mode, loss in [(Mode.TRAIN, fit)] * steps + [(Mode.EVAL, held_out)]:
            made.append(full_step({"losses": {"loss/L": np.array(loss)}}, len(made), mode))
    return made


class TestOverfit:
    @pytest.mark.parametrize(
        ("validation", "is_learned"),
        [([0.9, 0.7, 0.8, 1.0, 1.2, 1.4, 1.6], True), ([1.1, 1.2, 1.3, 1.5, 1.7, 1.9, 2.1], False)],
    )
    def test_what_was_never_better_than_training_was_at_first_has_learned_nothing(
        self, validation, is_learned
    ):
        """More data would not help it: what is evaluated is prepared in another way."""
        (found,) = judged("overfit:patience=3", rounds(validation))[0]

        assert is_learned != ("never was below 1, what training lost at first" in found.message)
        assert is_learned == found.remedy.startswith("regularize")


class TestOvertraining:
    def test_ten_rounds_without_a_better_validation_loss_are_too_many(self):
        """The best is of round 0; round 10 is the tenth after it, and judged when it ends."""
        (finding,) = judged("overtraining", rounds([1.0] + [2.0] * 12))[0]
        assert (33, 10.0, "warning") == (finding.step, finding.value, finding.severity)
        assert "training still improves" in finding.message

    def test_nine_are_not(self):
        found, status = judged("overtraining", rounds([1.0] + [2.0] * 9))
        assert ([], "NoIssuesFound") == (found, status.status)

    def test_a_loss_that_lies_at_its_best_is_let_be(self):
        """Flat is not worse."""
        assert [] == judged("overtraining", rounds([1.0] * 13))[0]
        either = "overtraining:combine=either"
        assert 1 == len(judged(either, rounds([1.0] * 13))[0])

    @pytest.mark.parametrize(
        ("delta", "fires"),
        [
            ("delta=0.01", True),
            ("delta=0.001", False),
            ("delta=0.006,delta_relative=true", True),
            ("delta=0.004,delta_relative=true", False),
        ],
    )
    def test_a_better_loss_is_lower_by_delta(self, delta, fires):
        """The second round is lower by 0.005: if that counts, only nine come after the best."""
        steps = rounds([1.0, 0.995, *[0.999] * 9])
        assert fires == bool(judged(f"overtraining:combine=either,{delta}", steps)[0])

    def test_nan_is_no_better_and_the_first_finite_one_sets_the_best(self):
        assert 1 == len(judged("overtraining", rounds([nan, 1.0] + [nan] * 10))[0])
        assert [] == judged("overtraining", rounds([nan, 1.0] + [nan] * 9))[0]

    def test_a_flat_run_is_only_worth_a_remark(self):
        (finding,) = judged("overtraining", rounds([1.0] + [2.0] * 12, [1.0] * 13))[0]
        assert ("info", True) == (finding.severity, "training is flat, too" in finding.message)

    def test_single_steps_are_judged_where_asked_for(self):
        """And the training loss alone, where there is no other."""
        steps = [full_step({"losses": {"l": np.array(1.0)}}, number) for number in range(9)]
        assert "unit=step" in judged("overtraining", steps)[1].details
        assert [5] == steps_at("overtraining:unit=step", steps)
        assert [5] == steps_at("overtraining:profile=compat", steps)

    def test_it_says_so_again_only_after_a_better_loss(self):
        losses = [1.0] + [2.0] * 11 + [0.5] + [2.0] * 11
        assert 2 == len(judged("overtraining:cooldown_steps=0", rounds(losses))[0])


class TestRoundsOfBoosting:
    @staticmethod
    def steps(train, validation):
        return [
            full_step(
                {"losses": {"train-rmse": np.array([fit]), "validation-rmse": np.array([held])}},
                number, Mode.GLOBAL,
            )
            for number, (fit, held) in enumerate(zip(train, validation, strict=True))
        ]  # fmt: skip

    def test_each_step_is_a_round_with_both_losses(self):
        train = [1.0 / (number + 1) for number in range(14)]
        assert [2] == steps_at("overfit", self.steps(train, [1.0] * 14))
        assert [10] == steps_at("overtraining", self.steps(train, [1.0] + [1.5] * 13))
        assert [] == steps_at("overfit", self.steps(train, train))

    def test_a_metric_that_ought_to_rise_is_no_loss(self):
        steps = [
            full_step({"losses": {"validation-ndcg@5": np.array([0.1 * n])}}, n, Mode.GLOBAL)
            for n in range(12)
        ]
        assert "NotEvaluated" == judged("loss_not_decreasing", steps)[1].status


class TestPoorWeightInitialization:
    @staticmethod
    def steps(losses, *, spread=1.0, ratio=1.0, raw=True):
        """Return TRAIN steps with these losses, a gradient of this range and two activations."""
        around = np.linspace(-1, 1, 64)
        return [
            full_step(
                {
                    "losses": {"loss/L": np.array(loss)},
                    "gradients": {"gradient/w": around * spread / 2},
                    "inputs": {"a_relu_input": around, "b_relu_input": around * ratio**0.5},
                },
                number, raw=raw,
            )
            for number, loss in enumerate(losses)
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("losses", "settings", "corroborated", "compat"),
        [
            (FLAT, {}, [], [5]),
            (FLAT, {"ratio": 11.0}, [5], [0]),
            (FLAT, {"ratio": 9.0}, [], [5]),
            (FLAT, {"ratio": 0.0}, [5], [0]),
            (FLAT, {"spread": 1e-3}, [5], [0]),
            (FALLING, {"ratio": 1e3, "spread": 0.0}, [], [0]),
            ([nan] * 12, {"ratio": 1e3}, [5], [0]),
        ],
    )
    def test_a_stuck_loss_needs_a_cause_and_a_cause_a_stuck_loss(
        self, losses, settings, corroborated, compat
    ):
        steps = self.steps(losses, **settings)
        assert corroborated == steps_at("poor_weight_initialization", steps)
        assert compat == steps_at("poor_weight_initialization:profile=compat", steps)

    def test_only_the_first_steps_are_looked_at(self):
        losses = [*FALLING[:8], *[1.0] * 20]
        assert [] == steps_at("poor_weight_initialization", self.steps(losses, ratio=1e3))
        spec = "poor_weight_initialization:steps=20"
        assert [12] == steps_at(spec, self.steps(losses, ratio=1e3))

    def test_extremes_bound_the_quantiles_where_these_are_unknown(self):
        """A gradient whose largest and smallest element are near has no wide spread."""
        steps = self.steps(FLAT, spread=9e-4, raw=False)
        assert [5] == steps_at("poor_weight_initialization", steps)

    def test_a_range_may_be_relative(self):
        spec = "poor_weight_initialization:relative_range=true"
        assert [] == steps_at(spec, self.steps(FLAT, spread=1e-9))

    def test_outputs_of_layers_stand_for_inputs_of_activations(self):
        """All but the last; a layer has a weight of two axes."""

        def step(number):
            made = {"losses": {"loss/L": np.array(1.0)}, "weights": {}, "outputs": {}}
            for name, size in (("a", 1.0), ("b", 9.0), ("head", 1e-6)):
                made["weights"][f"{name}.weight"] = np.ones((2, 2))
                made["outputs"][f"output/{name}"] = size * np.linspace(-1, 1, 8)
            return full_step(made, number, raw=False)

        (finding,) = judged("poor_weight_initialization", [step(n) for n in range(8)])[0]
        assert pytest.approx(81.0) == finding.evidence["variance_ratio"]

    def test_it_asks_for_quantiles_of_the_first_steps(self):
        _, status = judged("poor_weight_initialization", [full_step({"weights": {"w": [1.0]}})])
        assert ("NotEvaluated", True) == (status.status, "no loss" in status.details)
