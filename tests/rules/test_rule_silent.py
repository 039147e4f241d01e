"""Rules on silent faults, where no training on one machine shows them: from steps by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from stepwatch.errors import ConfigError
from stepwatch.model.steps import Mode
from stepwatch.numerics.measures import correlations
from stepwatch.numerics.statistics import summarize
from stepwatch.rules import StepView, build
from stepwatch.rules.confusion import agreement_z, entropy
from stepwatch.rules.distributed import differing
from stepwatch.rules.embeddings import max_violation
from tests.support.rules.made_steps import full_record, judged, steps_at


def loop(step, **numbers):
    """Return a step with these numbers of the training loop."""
    named = {f"loop/{name}": np.float64(value) for name, value in numbers.items()}
    return StepView([full_record({"loop": named}, step)])


def scalars(step, **numbers):
    named = {f"scalar/{name}": np.float64(value) for name, value in numbers.items()}
    return StepView([full_record({"scalars": named}, step)])


def workers(step, weights, batches=(1, 2), *, more=None):
    """Return a step of several workers with one weight each, and the digest of a batch."""
    records = [
        full_record(
            {
                "weights": {"fc.weight": np.asarray(weight, np.float32), **(more or {})},
                "batches": {"batch/0": np.zeros(2, np.float32)},
            },
            step,
            worker=f"worker_{rank}",
            digests={"batch/0": digest},
        )
        for rank, (weight, digest) in enumerate(zip(weights, batches, strict=True))
    ]
    return StepView(records)


def timed(step, *seconds, waits=None, forwards=None):
    nothing = [0.0] * len(seconds)
    records = [
        full_record(
            {
                "loop": {
                    "loop/step_seconds": np.float64(second),
                    "loop/data_wait_seconds": np.float64(wait),
                    "loop/forward_seconds": np.float64(forward),
                }
            },
            step,
            worker=f"worker_{rank}",
        )
        for rank, (second, wait, forward) in enumerate(
            zip(seconds, waits or nothing, forwards or nothing, strict=True)
        )
    ]
    return StepView(records)


class TestReplicaDivergence:
    def test_one_bit_more_in_one_replica_is_found(self):
        """Replicas are the same to the last bit, or they are not."""
        rng = np.random.default_rng(0)
        values = [rng.standard_normal(8).astype(np.float32) for _ in range(20)]
        steps = []
        for step, value in enumerate(values):
            other = value.copy()
            if step >= 10:
                other[3] = np.nextafter(other[3], np.float32(9))
            steps.append(workers(step, [value, other], (2 * step, 2 * step + 1)))

        (found,), status = judged("replica_divergence", steps)

        assert (14, "diverged", "IssuesFound") == (found.step, found.condition, status.status)

    def test_the_odd_one_of_three_is_named_even_if_it_is_the_first(self):
        """The others agree with each other, so it is the one."""
        steps = [
            workers(step, [[1, 2 + (step > 0)], [1, 2], [1, 2]], range(3 * step, 3 * step + 3))
            for step in range(9)
        ]

        (found,), _ = judged("replica_divergence", steps)

        assert "worker_0" == found.worker

    def test_replicas_that_agree_are_let_be(self):
        steps = [workers(s, [[9 + s, 2], [9 + s, 2]], (2 * s, 2 * s + 1)) for s in range(20)]

        assert ([], "NoIssuesFound") == (
            (result := judged("replica_divergence", steps))[0],
            result[1].status,
        )

    def test_models_that_never_had_a_parameter_in_common_are_found(self):
        """A bias that is zero in both says nothing."""
        bias = {"fc.bias": np.zeros(4, np.float32)}
        steps = [
            workers(s, [[1, 9 + s], [2, 9 + s]], (2 * s, 2 * s + 1), more=bias) for s in range(9)
        ]

        assert [4] == steps_at("replica_divergence", steps)

    def test_parts_of_one_model_are_no_replicas(self):
        """Some parameters agree at all steps, others at none: experts of their own."""
        shared = {"norm.weight": np.array([1.0, 2.0], np.float32)}
        steps = [
            workers(s, [[1, 9 + s], [2, 9 + s]], (2 * s, 2 * s + 1), more=shared) for s in range(9)
        ]

        assert [] == steps_at("replica_divergence", steps)

    @pytest.mark.parametrize(
        ("batches", "expected"),
        [
            (lambda s: (s, s), [4]),
            (lambda s: (2 * s, 2 * s + 1), []),
            (lambda s: (7, 7), []),  # all data at every step
        ],
    )
    def test_the_same_changing_batches_on_two_replicas_are_found(self, batches, expected):
        """Each sample then counts twice, and half of the machine is wasted."""
        steps = [workers(s, [[9 + s, 2], [9 + s, 2]], batches(s + 1)) for s in range(9)]

        assert expected == steps_at("replica_divergence", steps)

    def test_one_worker_alone_is_not_judged(self):
        steps = [workers(s, [[s, 2]], (s,)) for s in range(9)]

        assert "NotEvaluated" == judged("replica_divergence", steps)[1].status

    def test_the_order_of_a_sum_makes_no_difference(self):
        """float64 sums of the same elements differ in the last digits."""
        row = summarize(np.random.default_rng(0).standard_normal(10_000).astype(np.float32))
        other = row.copy()
        other[7] = np.nextafter(other[7], 1e9)

        assert [False] == differing(row[None], other[None]).tolist()


def replicas(step, weights, gradients, numbers=None):
    """Return a step of several workers with a weight and its gradient each, and of the loop."""
    named = {f"loop/{name}_gradients": np.float64(value) for name, value in (numbers or {}).items()}
    records = [
        full_record(
            {
                "weights": {"fc.weight": np.asarray(weight, np.float32)},
                "gradients": {"gradient/fc.weight": np.asarray(gradient, np.float32)},
                "loop": {"loop/backwards": np.float64(1), **named},
            },
            step,
            worker=f"worker_{rank}",
        )
        for rank, (weight, gradient) in enumerate(zip(weights, gradients, strict=True))
    ]
    return StepView(records)


SAME, OTHER = ([1, 2], [1, 2]), ([1, 2], [3, 5])


class TestAveragedGradients:
    def test_replicas_that_part_while_their_gradients_agree_are_found_at_the_second_step(self):
        """Whoever averages gradients means the replicas to stay the same."""
        steps = [replicas(s, [[9 + s, 2], [9 + s + (s >= 10), 2]], SAME) for s in range(20)]

        assert [11] == steps_at("replica_divergence", steps)

    @pytest.mark.parametrize("period", [2, 8, 40])
    def test_parameters_that_are_averaged_now_and_then_are_let_be(self, period):
        """Gradients are not, and that is meant."""
        steps = [
            replicas(s, [[9 + s, 2], [9 + s + s % period, 2]], OTHER) for s in range(4 * period)
        ]

        assert [] == steps_at("replica_divergence", steps)

    def test_one_of_many_that_parts_is_found_though_its_gradients_part_as_well(self):
        """Nobody is seen to average them, and those of all others agree."""
        steps = [
            replicas(s, [[9 + s, 2]] * 3 + [[9 + s + odd, 2]], [[1, 2]] * 3 + [[1 + odd, 2]])
            for s, odd in enumerate([0] * 10 + [1] * 10)
        ]

        assert [14] == steps_at("replica_divergence", steps)

    def test_after_a_long_time_it_is_said_that_nobody_averages(self):
        """As a warning: it may still be meant."""
        steps = [replicas(s, [[9 + s, 2], [9 + 2 * s, 2]], OTHER) for s in range(60)]

        (found,), _ = judged("replica_divergence", steps)

        assert ("diverged", 50, "warning") == (found.condition, found.step, found.severity)

    @pytest.mark.parametrize(
        ("numbers", "gradients", "expected"),
        [
            ({"unaveraged": 1}, OTHER, ["unaveraged", "diverged"]),
            ({"unregistered": 1, "averaged": 3}, OTHER, ["unregistered", "diverged"]),
            ({"unaveraged": 1}, SAME, []),  # the script averages by itself
            ({"local": 1}, OTHER, []),
            ({"local": 1, "unregistered": 1}, OTHER, []),
        ],
    )
    def test_gradients_that_differ_have_the_reason_that_each_worker_gives(
        self, numbers, gradients, expected
    ):
        steps = [
            replicas(s, [[9 + s, 2], [9 + s + s * (gradients is OTHER), 2]], gradients, numbers)
            for s in range(12)
        ]

        found, _ = judged("replica_divergence", steps)

        assert expected == [finding.condition for finding in found]
        assert all(finding.step == 1 for finding in found[:1])

    def test_a_reason_that_one_worker_alone_gives_is_none(self):
        """The others would wait for it."""
        steps = []
        for s in range(12):
            alone = replicas(s, [[9 + s, 2]] * 2, OTHER, {"unaveraged": 1}).records
            others = replicas(s, [[9 + s, 2]] * 2, OTHER, {"averaged": 1}).records
            steps.append(StepView([alone[0], others[1]]))

        assert [] == steps_at("replica_divergence", steps)


class TestStraggler:
    def test_of_one_worker_there_is_nothing_to_compare(self):
        """It does not apply, whether its steps were timed or nothing of the loop was seen."""
        alone = [timed(s, 0.1) for s in range(60)]
        without = [scalars(s, x=1) for s in range(60)]

        for steps in (alone, without):
            assert "does not apply" == judged("straggler", steps)[1].outcome

    def test_a_worker_that_takes_longer_is_named(self):
        steps = [timed(s, 0.1, 0.1, 0.15) for s in range(60)]

        (found,), _ = judged("straggler", steps)

        assert ("worker_2", 49) == (found.worker, found.step)

    def test_where_all_wait_for_each_other_the_wait_for_data_tells(self):
        steps = [timed(s, 0.1, 0.1, waits=[0.0, 0.03]) for s in range(60)]

        assert ["worker_1"] == [found.worker for found in judged("straggler", steps)[0]]

    def test_where_all_wait_in_backward_the_time_before_it_tells(self):
        """The others wait for the slow one where gradients are averaged."""
        steps = [timed(s, 0.1, 0.1, forwards=[0.02, 0.07]) for s in range(60)]

        assert ["worker_1"] == [found.worker for found in judged("straggler", steps)[0]]

    @pytest.mark.parametrize("seconds", [(0.1, 0.105), (0.001, 0.002)])
    def test_a_little_is_let_be(self, seconds):
        """Neither a small share nor a time that nobody notices."""
        steps = [timed(s, *seconds) for s in range(60)]

        assert [] == steps_at("straggler", steps)


class TestDataStall:
    @pytest.mark.parametrize(
        ("wait", "seconds", "fires"),
        [(0.05, 0.06, True), (0.001, 0.05, False), (0.002, 0.003, False)],
    )
    def test_waiting_is_found_where_it_is_long_and_much(self, wait, seconds, fires):
        steps = [loop(s, data_wait_seconds=wait, step_seconds=seconds) for s in range(70)]

        assert fires == bool(steps_at("data_stall", steps))

    def test_one_long_wait_in_an_epoch_is_no_stall(self):
        """Workers of a loader start anew with each epoch."""
        steps = [
            loop(s, data_wait_seconds=3.0 if s % 40 == 30 else 0.0, step_seconds=0.1)
            for s in range(100)
        ]

        assert [] == steps_at("data_stall", steps)


class TestRlCollapse:
    @staticmethod
    def _policy(steps, *, reward):
        return [
            scalars(s, policy_entropy=1.3 if s < 30 else 0.1, reward_mean=reward(s))
            for s in range(steps)
        ]

    def test_a_policy_that_is_sure_without_a_reason_is_found(self):
        noise = np.random.default_rng(0).standard_normal(80)

        assert [39] == steps_at("rl_collapse", self._policy(80, reward=lambda s: noise[s]))

    def test_a_policy_that_has_learnt_is_let_be(self):
        """Its reward rose."""
        assert [] == steps_at("rl_collapse", self._policy(80, reward=lambda s: s / 80))

    def test_a_cross_entropy_is_no_policy(self):
        steps = [scalars(s, cross_entropy=2.0 / (1 + s)) for s in range(80)]

        assert "NotEvaluated" == judged("rl_collapse", steps)[1].status

    def test_the_entropy_of_a_classifier_falls_as_it_learns(self):
        """Nothing tells it from a policy's but the reward that is logged beside it."""
        steps = [scalars(s, entropy=2.0 / (1 + s)) for s in range(80)]
        status = judged("rl_collapse:only_with_reward=true", steps)[1]

        assert ("NotEvaluated", True) == (status.status, status.idle)
        assert [] != steps_at("rl_collapse", steps)

    def test_the_share_of_groups_that_do_not_vary_is_no_spread(self):
        """As trainers of language models log it: 0 is what it should be."""
        steps = [scalars(s, reward=0.5, frac_reward_zero_std=0.0) for s in range(60)]

        assert [] == steps_at("rl_collapse", steps)

    def test_rewards_that_do_not_vary_are_found(self):
        steps = [scalars(s, reward_std=0.5 if s < 40 else 0.0) for s in range(60)]

        assert [49] == steps_at("rl_collapse", steps)

    def test_a_rollout_by_another_policy_is_found(self):
        steps = [scalars(s, k3=0.05) for s in range(20)]

        assert [9] == steps_at("rl_collapse", steps)


class TestActivationOutlier:
    @staticmethod
    def _steps(largest, dtype=np.float32):
        for step, size in enumerate(largest):
            output = np.full(100, 0.5, dtype)
            output[0] = size
            quantiles = np.array([0, 0, 0.5, 0.5, 0.5, 0.5, 3], np.float32)
            yield StepView(
                [
                    full_record(
                        {
                            "outputs": {"output/mlp": output},
                            "quantiles": {"quantiles/output/mlp": quantiles},
                        },
                        step,
                    )
                ]
            )

    def test_one_that_grows_is_found(self):
        steps = list(self._steps(np.geomspace(100, 3000, 12)))

        assert "massive output/mlp" == judged("activation_outlier", steps)[0][0].condition

    def test_one_that_stays_is_let_be(self):
        """Some models live well with massive activations."""
        assert [] == steps_at("activation_outlier", list(self._steps([3000] * 12)))

    @pytest.mark.parametrize(("largest", "fires"), [(40_000, True), (65_504, False), (100, False)])
    def test_one_near_the_end_of_its_dtype_is_found_but_for_a_mask(self, largest, fires):
        steps = list(self._steps([largest] * 3, np.float16))

        assert fires == bool(steps_at("activation_outlier", steps))


class TestLowPrecisionLoss:
    def test_a_scaler_that_skips_most_steps_is_found(self):
        steps = [
            StepView(
                [
                    full_record(
                        {
                            "optimizer": {
                                "optimizer/skipped": np.float64(s % 4 != 0),
                                "optimizer/loss_scale": np.float64(2.0**16),
                            }
                        },
                        s,
                    )
                ]
            )
            for s in range(60)
        ]

        assert [39] == steps_at("low_precision_loss", steps)

    @pytest.mark.parametrize(("size", "fires"), [(1e-6, True), (1e-2, False)])
    def test_float16_gradients_that_underflow_are_found(self, size, fires):
        """Zeros alone are not: a ReLU makes them, too."""
        gradient = np.where(np.arange(100) % 4 == 0, size, 0).astype(np.float16)
        steps = [
            StepView([full_record({"gradients": {"gradient/fc.weight": gradient}}, s)])
            for s in range(8)
        ]

        assert fires == bool(steps_at("low_precision_loss", steps))


class TestLabelLeak:
    def test_a_column_that_is_the_target_is_found_where_values_are_saved(self):
        rng = np.random.default_rng(0)
        steps = []
        for step in range(6):
            inputs = rng.standard_normal((32, 4)).astype(np.float32)
            tensors = {
                "batches": {"batch/0": inputs},
                "labels": {"label/mse_loss": 3 * inputs[:, 2:3] + 1},
            }
            steps.append(StepView([full_record(tensors, step)]))

        (found,), _ = judged("label_leak", steps)

        assert ("feature", True) == (found.condition, "column 2" in found.message)

    @pytest.mark.parametrize(("also", "found"), [((), [4]), (("batch/1",), [])])
    def test_a_model_may_be_given_its_targets(self, also, found):
        """It then computes the loss itself; as the only input they are a leak."""
        tokens = np.arange(32).reshape(4, 8)
        steps = [
            StepView(
                [
                    full_record(
                        {
                            "batches": dict.fromkeys(("batch/0", *also), tokens),
                            "labels": {"label/cross_entropy": tokens},
                        },
                        step,
                    )
                ]
            )
            for step in range(8)
        ]

        assert found == steps_at("label_leak", steps)

    def test_samples_that_repeat_by_nature_are_not_judged(self):
        """Of four possible inputs all are seen in training."""
        samples = np.arange(32, dtype=np.uint64) % 4
        modes = itertools.cycle([Mode.TRAIN, Mode.TRAIN, Mode.EVAL])
        steps = [
            StepView([full_record({"samples": {"sample/0": samples}}, s, mode)])
            for s, mode in zip(range(30), modes, strict=False)
        ]

        assert [] == steps_at("label_leak", steps)


class TestArithmetic:
    def test_guessing_two_equal_classes_costs_ln_2(self):
        assert np.log(2) == pytest.approx(entropy(np.array([5.0, 5.0, 0.0])))

    def test_guesses_that_are_right_are_no_chance(self):
        assert agreement_z(np.diag([50.0, 50.0])) > 9
        assert pytest.approx(0.0) == agreement_z(np.full((2, 2), 25.0))
        assert 0.0 == agreement_z(np.array([[7.0, 0.0], [3.0, 0.0]])[:, :2] * [[1, 1], [0, 0]])

    def test_an_even_load_violates_nothing(self):
        assert (0.0, 3.0) == (max_violation(np.ones(4)), max_violation(np.array([1.0, 0, 0, 0])))

    def test_a_constant_column_correlates_with_nothing(self):
        columns = np.stack([np.ones(5), np.arange(5.0)], axis=1)

        assert [0.0, pytest.approx(1.0)] == correlations(columns, -np.arange(5.0)).tolist()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("training_mode", {"consecutive": 0}),
        ("stale_gradients", {"consecutive": 0}),
        ("grad_accumulation_scale", {"tolerance": 0.0}),
        ("loss_input", {"patience": 0}),
        ("chance_level", {"worse_ratio": 1.0}),
        ("learning_rate_anomaly", {"ended_ratio": 0.9}),
        ("stale_optimizer_state", {"max_rms": 0.0}),
        ("low_precision_loss", {"max_lost": 1.5}),
        ("low_precision_loss", {"target": "float64"}),
        ("attention_instability", {"min_entropy": -0.1}),
        ("output_logit_drift", {"min_offset": 0.0}),
        ("activation_outlier", {"min_growth": 1.0}),
        ("embedding_drift", {"max_cosine": 2.0}),
        ("router_collapse", {"dead_share": 0.0}),
        ("label_leak", {"min_correlation": 0.0}),
        ("replica_divergence", {"consecutive": 0}),
        ("straggler", {"max_share": 0.0}),
        ("dependence", {"min_share": 0.0}),
        ("initial_state", {"min_slope": 0.9}),
        ("initial_state", {"loud": 1.0}),
        ("memory_growth", {"consecutive": 0}),
        ("gan_collapse", {"window": 1}),
        ("chance_level", {"rest": 0.0}),
        ("attention_instability", {"flat_looks": 0}),
        ("learning_rate_anomaly", {"slow_steps": 0}),
        ("data_stall", {"max_share": 1.5}),
        ("rl_collapse", {"entropy_regex": "("}),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused(name, parameters):
    """The message names the rule and the parameter."""
    with pytest.raises(ConfigError, match=f"{name}: {next(iter(parameters))}"):
        build(name, parameters)
