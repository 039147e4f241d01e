"""TensorVariance, WeightUpdateRatio, DeadRelu and SaturatedActivation on values by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.errors import ConfigError
from stepwatch.rules import StepView, parse_rules
from stepwatch.rules.activations import cannot_fire, interval, rounds_to_one, unit_shares
from tests.support.rules.made_steps import full_record, full_step, judged, steps_at

nan = math.nan


class TestTensorVariance:
    RULE = "tensor_variance:collection_names=weights,max_threshold=10,min_threshold=1e-5"

    @pytest.mark.parametrize(
        ("values", "side"),
        [
            ([-4.0, 4.0], "above"),
            ([-3.0, 3.0], None),
            ([1.0, 1.0], "below"),
            ([1.0], None),  # one element scatters around nothing
            ([], None),
            ([nan, nan], None),
            ([-4.0, 4.0, nan], "above"),
        ],
    )
    def test_variance_is_that_of_the_population_of_finite_elements(self, values, side):
        found, _ = judged(
            self.RULE, [full_step({"weights": {"w": np.array(values)}}, 1, raw=False)]
        )
        assert [side] * (side is not None) == [one.condition.split()[-1] for one in found]

    def test_what_starts_at_zero_is_let_be_at_step_0(self):
        steps = [full_step({"weights": {"fc.bias": np.zeros(4)}}, number) for number in range(2)]
        assert [1] == steps_at(self.RULE, steps)
        assert [0] == steps_at(f"{self.RULE},profile=compat", steps)

    @pytest.mark.parametrize(
        ("spec", "told"),
        [
            ("tensor_variance:max_threshold=1", "say which tensors"),
            ("tensor_variance:collection_names=weights", "say what is too much"),
            ("tensor_variance:tensor_regex=w,max_threshold=1,min_threshold=1", "must be below"),
            ("tensor_variance:tensor_regex=w,max_threshold=0", "max_threshold must be above 0"),
        ],
    )
    def test_what_cannot_be_meant_is_said_before_training(self, spec, told):
        with pytest.raises(ConfigError, match=told):
            parse_rules(spec)


class TestWeightUpdateRatio:
    @staticmethod
    def weights(*values, **settings):
        return [
            full_step({"weights": {"w": np.array(value)}}, number, **settings)
            for number, value in enumerate(values)
        ]

    def test_values_are_compared_with_those_saved_before(self):
        found, _ = judged("weight_update_ratio", self.weights([3.0, 4.0], [3.0, 4.0 + 100.0]))
        assert [(1, "w above", pytest.approx(20.0))] == [
            (one.step, one.condition, one.value) for one in found
        ]

    def test_nothing_moves_is_too_little_and_the_first_value_is_no_move(self):
        assert [1] == steps_at("weight_update_ratio", self.weights([1.0], [1.0]))

    def test_the_reference_is_the_newest_that_is_old_enough(self):
        """Of steps 0, 3, 5 and 9 with num_steps=4, 5 looks back to 0 and 9 to 5."""
        values = {0: [1.0], 3: [7.0], 5: [1.0], 9: [1.0]}
        steps = [full_step({"weights": {"w": np.array(v)}}, n) for n, v in values.items()]
        assert [5] == steps_at("weight_update_ratio:num_steps=4", steps)

    def test_values_from_before_a_restart_are_forgotten(self):
        """Steps 5 and 6 are seen twice; the second 6 is compared with the second 5."""
        values = [(4, 1.0), (5, 2.0), (6, 90.0), (5, 2.1), (6, 2.2)]
        steps = [full_step({"weights": {"w": np.array([v])}}, number) for number, v in values]
        rule = parse_rules("weight_update_ratio:large_threshold=0.01")[0].rule
        found = [finding for step in steps for finding in rule.check(step)]
        assert pytest.approx([1.0, 44.0, 0.1 / 2.1]) == [one.value for one in found]

    def test_mean_magnitudes_may_take_the_place_of_norms(self):
        """One element of four moves by as much as all together are in the mean."""
        values = [np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 5.0])]
        steps = [full_step({"weights": {"w": value}}, at) for at, value in enumerate(values)]
        spec = "weight_update_ratio:large_threshold=1.5"

        assert [1] == steps_at(spec, steps)
        assert [] == steps_at(f"{spec},norm=mean_abs", steps)

    def test_per_step_divides_by_the_steps_between(self):
        steps = [full_step({"weights": {"w": np.array([v])}}, n) for n, v in ((0, 1.0), (10, 91.0))]
        assert [10] == steps_at("weight_update_ratio", steps)
        assert [] == steps_at("weight_update_ratio:per_step=true", steps)

    @pytest.mark.parametrize(
        "values", [([0.0], [5.0]), ([nan], [1.0]), ([], []), ([1.0], [1.0, 2.0])]
    )
    def test_what_has_no_ratio_is_passed_over(self, values):
        found, status = judged("weight_update_ratio", self.weights(*values))
        assert ([], "NotEvaluated") == (found, status.status)

    def test_measured_ratios_are_taken_where_no_values_are(self):
        """Those of frozen parameters, and of steps that a scaler skipped, are left out."""

        def step(number, ratio, skipped=0.0):
            return full_step(
                {"weights": {"w": [1.0]}, "updates": {"update_ratio/w": np.array(ratio)},
                 "optimizer": {"optimizer/skipped": np.array(skipped)}},
                number, raw=False,
            )  # fmt: skip

        assert [1] == steps_at("weight_update_ratio", [step(0, 1e-3), step(1, 0.0)])
        assert [] == steps_at("weight_update_ratio", [step(0, 1e-3), step(1, 0.0, skipped=1.0)])

    def test_more_steps_than_one_need_values_and_ask_for_them(self):
        (watched,) = parse_rules("weight_update_ratio:num_steps=50")
        assert ("weights:raw:every=50",) == watched.rule.evidence
        _, status = judged(
            "weight_update_ratio:num_steps=50", self.weights([1.0], [1.0], raw=False)
        )
        assert "--save weights:raw:every=50" in status.details


def relu(active, *, units=8, batch=32, name="relu_output"):
    """Return an output of which so many units are active."""
    value = np.zeros((batch, units))
    value[:, :active] = 1.0
    return full_step({"outputs": {name: value}})


class TestDeadRelu:
    @pytest.mark.parametrize(("active", "fires"), [(0, True), (3, True), (4, False), (8, False)])
    def test_more_than_half_of_the_units_must_be_dead(self, active, fires):
        assert fires == bool(judged("dead_relu", [relu(active)])[0])

    @pytest.mark.parametrize(
        ("shape", "axis"), [((4, 6), 1), ((4, 6, 5, 5), 1), ((4, 5, 6), 2), ((4, 5, 5, 6), 3)]
    )
    def test_units_lie_along_the_channel_axis(self, shape, axis):
        value = np.moveaxis(np.zeros(shape), axis, -1)
        value[..., :1] = 1.0
        chosen = f":channel_axis={axis}" if axis == 3 else ""
        step = full_step({"outputs": {"relu_output": np.moveaxis(value, -1, axis)}})
        (finding,) = judged(f"dead_relu{chosen}", [step])[0]
        assert (6, pytest.approx(100 * 5 / 6)) == (finding.evidence["units"], finding.value)

    def test_nan_is_not_active(self):
        step = full_step({"outputs": {"relu_output": np.full((4, 4), nan)}})
        assert [0] == steps_at("dead_relu", [step])

    def test_a_single_sample_has_no_shares(self):
        _, status = judged("dead_relu", [full_step({"outputs": {"relu_output": np.zeros(8)}})])
        assert "without a batch" in status.details

    def test_shares_that_were_measured_are_taken_where_no_values_are(self):
        shares = np.array([0.0, 0.0, 0.005, 0.5], np.float32)
        step = full_step({"activity": {"active/net.act": shares}})
        (finding,) = judged("dead_relu", [step])[0]
        assert ("active/net.act", 75.0) == (finding.tensor, finding.value)

    def test_a_window_takes_steps_together_and_waits_for_them(self):
        """Each unit is active at one of two steps."""
        steps = [
            full_step({"activity": {"active/a": np.array(one)}}, number)
            for number, one in enumerate([[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]] * 2)
        ]
        assert [] == steps_at("dead_relu:threshold_layer=40,window=2", steps)
        assert [0] == steps_at("dead_relu:threshold_layer=40", steps)

    def test_workers_are_taken_together(self):
        def record(worker, shares):
            return full_record({"activity": {"active/a": np.array(shares)}}, worker=worker)

        step = StepView([record("worker_0", [0.0, 0.0]), record("worker_1", [1.0, 1.0])])
        assert [] == steps_at("dead_relu", [step])

    @pytest.mark.parametrize(("active", "status"), [(8, "NoIssuesFound"), (3, "NotEvaluated")])
    def test_zeros_alone_prove_a_layer_well_or_nothing(self, active, status):
        values = relu(active).tensor("relu_output").value()
        step = full_step({"outputs": {"relu_output": values}}, raw=False)
        assert status == judged("dead_relu", [step])[1].status

    def test_the_screen_is_sound(self):
        """Whatever the activities, a layer that passes it does not fire."""
        random = np.random.default_rng(0)
        for _ in range(500):
            shares = random.beta(*random.uniform(0.1, 2, 2), size=16)
            inactivity, layer = random.uniform(0, 1, 2)
            fires = np.mean(shares < inactivity) > layer
            assert not (fires and cannot_fire(float(shares.mean()), inactivity, layer))

    def test_an_empty_tensor_has_no_shares(self):
        assert unit_shares(np.zeros((0, 4)), lambda x: x > 0) is None


class TestSaturatedActivation:
    @pytest.mark.parametrize(
        ("name", "value", "fires"),
        [
            ("tanh_input", 9.4998, False),
            ("tanh_input", 9.4999, True),  # strictly inside
            ("sigmoid_input", -22.9, False),
            ("sigmoid_input", 17.0, True),
            ("sigmoid_input", nan, True),
        ],
    )
    def test_the_name_says_which_interval(self, name, value, fires):
        step = full_step({"inputs": {name: np.full((8, 4), value)}})
        assert fires == bool(judged("saturated_activation", [step])[0])

    def test_a_name_of_neither_is_a_mistake(self):
        step = full_step({"inputs": {"fc_input": np.zeros((8, 4))}})
        _, status = judged("saturated_activation:collection_names=inputs", [step])
        assert ("Error", True) == (status.status, "neither tanh nor sigmoid" in status.details)

    def test_a_measured_row_stands_for_a_floor(self):
        """Rows are for derivatives above 1e-2, 1e-4 and 1e-7, and for smdebug's interval."""
        rows = np.array([[0.0] * 4, [1.0] * 4, [1.0] * 4, [1.0] * 4], np.float32)
        step = full_step({"activity": {"inside/net.act/tanh": rows}})
        assert [0] == steps_at("saturated_activation:gradient_floor=1e-2", [step])
        assert [] == steps_at("saturated_activation:gradient_floor=1e-4", [step])
        assert [] == steps_at("saturated_activation", [step])
        _, status = judged("saturated_activation:threshold_tanh_max=5", [step])
        assert "--save inputs:raw" in status.details

    def test_extremes_inside_prove_a_layer_well(self):
        steps = [full_step({"inputs": {"tanh_input": np.full((8, 4), 9.0)}}, raw=False)]
        assert "NoIssuesFound" == judged("saturated_activation", steps)[1].status

    def test_low_precision_saturates_earlier(self):
        step = full_step({"inputs": {"tanh_input": np.full((8, 4), 6.0, np.float16)}})
        assert [] == steps_at("saturated_activation", [step])
        assert [0] == steps_at("saturated_activation:dtype_aware=true", [step])

    @pytest.mark.parametrize("floor", [1e-2, 1e-4, 1e-7])
    def test_the_derivative_at_the_edges_is_the_floor(self, floor):
        tanh, sigmoid = interval("tanh", floor)[1], interval("sigmoid", floor)[1]
        assert floor == pytest.approx(1 - math.tanh(tanh) ** 2, rel=1e-6)
        share = 1 / (1 + math.exp(-sigmoid))
        assert floor == pytest.approx(share * (1 - share), rel=1e-6)

    def test_a_dtype_that_does_not_round_never_reaches_one(self):
        assert math.inf == rounds_to_one("tanh", "int64")
