"""The rules on records by hand: nan as evidence, empty tensors, missing modes, several workers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules import StepView, Watch
from tests.support.rules.rule_records import info, record, step_of

nan, inf = math.nan, math.inf


def run(spec, steps):
    engine = Watch(spec)
    found = [finding for step in steps for finding in engine.evaluate(step)]
    return found + engine.finish()


def steps_at(found):
    return [finding.step for finding in found]


def gradients(named, step=1, frozen=(), **settings):
    tensors = [(info(n, "weights", v, trainable=n not in frozen), v) for n, v in named.items()]
    tensors += [(info(f"gradient/{n}", "gradients", v), v) for n, v in named.items()]
    return StepView([record(tensors, step=step, **settings)])


class TestVanishingGradient:
    @pytest.mark.parametrize(
        ("values", "fires"),
        [
            ([0.0, 0.0], True),
            ([9e-8, -9e-8], True),
            ([1e-7, 1e-7], False),  # strictly below
            ([1e-9, nan], True),  # the finite part is judged
            ([nan, nan], False),
            ([], False),
            ([0.0] * 99 + [1e-3], False),  # an embedding of which one row was touched
        ],
    )
    def test_mean_magnitude_is_compared_with_the_threshold(self, values, fires):
        assert fires == bool(run("vanishing_gradient", [gradients({"w": values})]))

    def test_zero_at_the_very_first_step_is_let_be(self):
        steps = [gradients({"w": [0.0]}, step) for step in range(2)]
        assert [1] == steps_at(run("vanishing_gradient", steps))
        assert [0] == steps_at(run("vanishing_gradient:ignore_zero_init=false", steps))

    def test_frozen_parameters_are_left_out(self):
        assert [] == run("vanishing_gradient", [gradients({"w": [0.0], "v": [1.0]}, frozen={"w"})])

    def test_one_finding_names_the_worst_and_the_first_in_depth(self):
        step = gradients({"a": [1e-8], "b": [1e-12], "c": [1.0]})
        (finding,) = run("vanishing_gradient", [step])
        assert "gradient/b" == finding.tensor
        assert (2, "gradient/a") == (finding.evidence["below"], finding.evidence["first_in_depth"])
        assert [] == run("vanishing_gradient:min_tensors=3", [step])

    def test_the_shift_before_a_normalization_is_let_be(self):
        """By itself: it has no gradient by nature, whatever it is called."""
        spec = "vanishing_gradient:vectors=false"
        weight, shift = [[1.0, 1.0]], [1e-12, 1e-12]

        assert [] == run(spec, [gradients({"0": weight, "1": shift})])
        assert [1] == steps_at(run(spec, [gradients({"0": [[1e-12, 0]], "1": shift})]))
        assert [1] == steps_at(run(spec, [gradients({"1": shift})]))  # there is nothing else

    def test_consecutive_is_counted_for_each_tensor(self):
        steps = [gradients({"w": [0.0], "v": [float(n % 2)]}, n) for n in range(1, 8)]
        (finding,) = run("vanishing_gradient:consecutive=4", steps)
        assert (4, "gradient/w", 1) == (finding.step, finding.tensor, finding.evidence["below"])

    @pytest.mark.parametrize(
        ("scores", "gradient", "is_told"),
        [
            ([[[-0.5], [0.4]]], [[0.0], [0.0]], True),
            ([[[-0.5], [0.4]]], [[1e-9], [0.0]], False),
            ([[[-0.5, 0.1], [0.4, 0.2]]], [[0.0], [0.0]], False),  # two units
            ([[[-0.5], [-0.4]]], [[0.0], [0.0]], False),  # a ReLU after them is flat, too,
            ([[[-50.0], [40.0]]], [[0.0], [0.0]], False),  # and so is a sigmoid
            ([[[0.4], [0.4]]], [[0.0], [0.0]], False),  # nor do they vary
        ],
    )
    @pytest.mark.parametrize("parameter", ["pool/score/kernel", "pool.score.weight"])
    def test_scores_without_a_gradient_are_those_of_a_softmax_of_one(
        self, parameter, scores, gradient, is_told
    ):
        """Over the axis of the one unit each weight of an attention is 1."""
        layer = parameter.removesuffix("/kernel").removesuffix(".weight")
        step = step_of(
            {
                "outputs": {f"output/{layer}": np.array(scores, np.float32)},
                "gradients": {f"gradient/{parameter}": np.array(gradient), "gradient/v": [1.0]},
            },
            1,
        )
        (found,) = run("vanishing_gradient", [step])

        assert is_told == ("softmax" in found.message)
        assert is_told == ("over the axis of the positions" in found.remedy)


class TestExplodingTensor:
    def test_minus_infinity_of_masks_is_let_be_by_name(self):
        assert [] == run("exploding_tensor", [step_of({"outputs": {"output/attn_mask": [-inf]}})])

    @pytest.mark.parametrize(("loss", "settings", "found"), [
        (1.0, "", []), (nan, "", [0]), (1.0, ":skip_unlabeled=false", [0]),
    ])  # fmt: skip
    def test_labels_that_a_mask_leaves_out_may_be_nan(self, loss, settings, found):
        """Then the loss is finite."""
        step = step_of({"labels": {"label/L": [nan, 1.0]}, "losses": {"loss/L": [loss]}})

        assert found == steps_at(run(f"exploding_tensor{settings}", [step]))

    def test_only_nan(self):
        step = step_of({"outputs": {"output/fc": [inf]}})
        assert [0] == steps_at(run("exploding_tensor", [step]))
        assert [] == run("exploding_tensor:only_nan=true", [step])

    def test_a_gradient_scaler_may_skip_now_and_then(self):
        def step(number, skipped):
            bad = inf if skipped else 1.0
            named = {"gradients": {"gradient/w": [bad]},
                     "optimizer": {"optimizer/skipped": float(skipped)}}  # fmt: skip
            return step_of(named, number)

        now_and_then = [step(n, n in (0, 1, 5)) for n in range(8)]
        assert [] == run("exploding_tensor;non_finite_origin", now_and_then)
        for_good = [step(n, n > 2) for n in range(8)]
        assert [5] == steps_at(run("exploding_tensor", for_good))
        assert [5] == steps_at(run("non_finite_origin", for_good))

    def test_forward_comes_before_backward(self):
        named = {"gradients": {"gradient/w": [nan]}, "outputs": {"output/fc": [1.0, nan]}}
        (finding,) = run("exploding_tensor", [step_of(named)])
        assert ("output/fc", 1.0) == (finding.tensor, finding.value)
        assert "2 tensors" in finding.message

    def test_one_finding_for_all_workers(self):
        """It is of the worker in whom it came first, and stays with it when others follow."""
        averaged = step_of({"gradients": {"gradient/w": [nan]}}).records[0]
        named = {"outputs": {"output/fc": [nan]}, "gradients": {"gradient/w": [nan]}}
        first = step_of(named, worker="worker_1").records[0]
        later = [step_of({"weights": {"w": [nan]}}, n) for n in range(1, 4)]
        (finding,) = run("exploding_tensor", [StepView([averaged, first]), *later])

        assert ("worker_1", "output/fc") == (finding.worker, finding.tensor)
        assert "2 tensors in 2 workers are affected" in finding.message
        assert ["output/fc", "gradient/w"] == sorted(finding.evidence["tensors"], reverse=True)


class TestNonFiniteOrigin:
    def origin(self, named, **settings):
        (finding,) = run("non_finite_origin", [step_of(named, **settings)])
        return finding.evidence["cause"], finding.tensor

    def test_parameters_from_before_the_step_come_first(self):
        named = {"weights": {"fc.weight": [nan]}, "outputs": {"output/fc": [nan]},
                 "inputs": {"input/fc/0": [1.0]}}  # fmt: skip
        assert ("previous update", "fc.weight") == self.origin(named, step=3)

    def test_a_loss_of_finite_outputs(self):
        named = {"outputs": {"output/Net": [1.0]}, "losses": {"loss/L": nan}}
        assert ("loss", "loss/L") == self.origin(named)

    @pytest.mark.parametrize(
        ("values", "said"),
        [([inf], "output/div is infinite"), ([1.0, nan], "output/div has 1 NaN of 2 elements")],
    )
    def test_of_one_element_it_says_what_that_is(self, values, said):
        named = {"inputs": {"input/div/0": [1.0]}, "outputs": {"output/div": values}}
        (finding,) = run("non_finite_origin", [step_of(named)])
        assert f": {said} at step 0" in finding.message

    def test_one_nan_micro_batch_is_enough(self):
        named = {"outputs": {"output/Net": [1.0]}, "losses": {"loss/L": [1.0, nan]}}
        assert ("loss", "loss/L") == self.origin(named)

    def test_the_backward_pass_starts_at_the_last_layer_in_order_of_execution(self):
        """Parameters are registered in another order than they are used in."""
        named = {
            "gradients": {"gradient/last.weight": [1.0], "gradient/late.weight": [nan],
                          "gradient/early.weight": [nan]},
            "outputs": {"output/early": [1.0], "output/late": [1.0], "output/last": [1.0],
                        "output/Net": [1.0]},
        }  # fmt: skip
        assert ("gradient", "gradient/late.weight") == self.origin(named)

    def test_averaged_gradients_may_be_those_of_another_worker(self):
        """A worker that is not alone cannot tell, and says who can; one that is alone can."""
        named = {"gradients": {"gradient/fc.weight": [nan]}, "outputs": {"output/fc": [1.0]}}
        record = step_of(named).records[0]
        (alone,) = run("non_finite_origin", [StepView([record])])
        (finding,) = run("non_finite_origin", [StepView([record], others=True)])

        assert "worker" not in alone.message + alone.remedy
        assert "came from another worker, if gradients are averaged, or arose" in finding.message
        assert finding.remedy.startswith("ask stepwatch check RUN")
        assert finding.evidence["or_another_worker"]

    def test_what_is_not_finite_before_the_backward_is_a_workers_own(self):
        named = {"outputs": {"output/Net": [1.0]}, "losses": {"loss/L": nan}}
        record = step_of(named).records[0]
        (finding,) = run("non_finite_origin", [StepView([record], others=True)])
        assert "worker" not in finding.message + finding.remedy

    def test_where_all_workers_have_only_gradients_none_is_blamed(self):
        """There is nobody else to ask."""
        named = {"gradients": {"gradient/fc.weight": [nan]}, "outputs": {"output/fc": [1.0]}}
        records = [step_of(named, worker=f"worker_{n}").records[0] for n in range(2)]
        (finding,) = run("non_finite_origin", [StepView(records)])
        assert "came from another worker" in finding.message
        assert "stepwatch check" not in finding.remedy

    def test_a_propagator_is_not_the_producer(self):
        named = {
            "outputs": {"output/a": [1.0], "output/b": [nan], "output/c": [nan],
                        "output/Net": [nan]},
            "inputs": {"input/b/0": [1.0], "input/c/0": [nan], "input/Net/0": [1.0]},
        }  # fmt: skip
        assert ("output", "output/b") == self.origin(named)

    def test_data_in_a_model_so_large_that_not_all_inputs_were_captured(self):
        named = {
            "outputs": {"output/a": [nan], "output/b": [nan], "output/Net": [nan]},
            "inputs": {"input/a/0": [nan]},
        }
        assert ("data", "input/a/0") == self.origin(named)

    def test_infinity_that_the_next_module_made_nan_of(self):
        named = {
            "outputs": {"output/log": [-inf], "output/fc": [nan], "output/Net": [nan]},
            "inputs": {"input/log/0": [0.0], "input/fc/0": [-inf], "input/Net/0": [0.0]},
        }
        assert ("output", "output/log") == self.origin(named)

    def test_a_mask_on_the_way_is_not_blamed_for_what_comes_later(self):
        named = {
            "outputs": {"output/scores": [-inf], "output/b.fc": [nan], "output/b": [nan],
                        "output/Net": [nan]},
            "inputs": {"input/scores/0": [0.0], "input/b.fc/0": [1.0], "input/b/0": [1.0],
                       "input/Net/0": [0.0]},
        }  # fmt: skip
        assert ("output", "output/b.fc") == self.origin(named)

    def test_a_mask_among_the_inputs_is_not_bad_data(self):
        named = {
            "outputs": {"output/fc": [nan], "output/Net": [nan]},
            "inputs": {"input/fc/0": [1.0], "input/Net/0": [1.0], "input/Net/1": [-inf]},
        }
        assert ("output", "output/fc") == self.origin(named)

    def test_without_inputs_the_first_bad_output_is_named_as_such(self):
        (finding,) = run("non_finite_origin", [step_of({"outputs": {"output/fc": [nan]}})])
        assert "inputs were not captured" in finding.message

    def test_headroom_is_told_where_it_is_short(self):
        tensors = [(info("input/fc/0", "inputs"), [30000.0]), (info("output/fc", "outputs"), [inf])]
        tensors = [(t.__class__(t.name, t.collection, "float16", (1,)), v) for t, v in tensors]
        (finding,) = run("non_finite_origin", [StepView([record(tensors)])])
        assert 1 < finding.evidence["headroom_bits"] < 2
        assert "bits of overflow" in finding.message

    @pytest.mark.parametrize(("between", "expected"), [(1.0, [0, 300]), (nan, [0]), (None, [0])])
    @pytest.mark.parametrize("rule", ["non_finite_origin", "exploding_tensor"])
    def test_it_is_said_again_only_after_values_were_finite(self, rule, between, expected):
        """Steps that do not show what was not finite do not end it, however many there are."""
        steps = [step_of({"weights": {"w": [nan]}})]
        steps += [step_of({"learning_rates": {"learning_rate/0": 0.1}}, at) for at in range(1, 150)]
        if between is not None:
            steps.append(step_of({"weights": {"w": [between]}}, 150))
        steps += [step_of({"scalars": {"x": 1.0}}, at) for at in range(151, 300)]
        steps.append(step_of({"weights": {"w": [nan]}, "losses": {"loss/L": nan}}, 300))

        assert expected == steps_at(run(rule, steps))

    def test_one_finding_for_a_nan_that_spreads(self):
        """Downstream steps and other workers are the same episode."""
        first = step_of({"outputs": {"output/fc": [nan]}}).records[0]
        other = step_of({"gradients": {"gradient/fc.w": [nan]}}, worker="worker_1").records[0]
        later = [step_of({"weights": {"fc.w": [nan]}}, n, worker="worker_1") for n in range(1, 9)]
        (finding,) = run("non_finite_origin", [StepView([other, first]), *later])
        assert ("worker_0", "output/fc") == (finding.worker, finding.tensor)


class TestAllZero:
    @pytest.mark.parametrize(
        ("values", "settings", "fires"),
        [
            ([0.0, -0.0], "", True),
            ([0.0, 1e-9], "", False),
            ([0.0, 1e-9], ",atol=1e-6", True),
            ([0.0, 1.0], ",threshold=50", True),
            ([0.0, nan], "", False),
            ([0.0, nan], ",atol=1e-6", False),
            ([nan], "", False),
            ([], "", False),
            (0.0, "", True),
        ],
    )
    def test_share_of_zeros(self, values, settings, fires):
        step = step_of({"weights": {"w": values}})
        assert fires == bool(run(f"all_zero:collection_names=weights{settings}", [step]))

    def test_biases_may_start_at_zero(self):
        steps = [step_of({"weights": {"fc.bias": [0.0]}}, n) for n in range(2)]
        assert [1] == steps_at(run("all_zero:tensor_regex=bias", steps))
        assert [0] == steps_at(run("all_zero:tensor_regex=bias,skip_initial=false", steps))

    def test_what_is_evaluated_before_anything_was_trained_may_be_zero(self):
        """As the last layer of a policy that begins with no action."""
        zero = {"outputs": {"o": [0.0]}}
        steps = [step_of(zero, n, Mode.EVAL, mode_step=n) for n in range(3)]
        steps += [step_of(zero, 3, Mode.TRAIN, mode_step=0)]
        assert [3] == steps_at(run("all_zero:collection_names=outputs", steps))
        steps += [step_of(zero, 4, Mode.EVAL, mode_step=3)]
        assert [4] == steps_at(run("all_zero:collection_names=outputs,start_step=4", steps))

    @pytest.mark.parametrize(
        ("outputs", "settings", "expected"),
        [
            ({"a/0": 1.0, "a/1": 0.0}, "", []),
            ({"a/0": 1.0, "a/1": 0.0}, ",skip_further=false", ["output/a/1"]),
            ({"a/0": 0.0, "a/1": 0.0}, "", ["output/a/0"]),
            ({"a/0/h": 1.0, "a/1/0": 0.0, "a/1/1": 0.0}, "", []),
            ({"a/1": 0.0}, "", ["output/a/1"]),
            ({"0": 1.0, "1": 0.0}, "", ["output/1"]),
            ({"a.0": 1.0, "a.1": 0.0}, "", ["output/a.1"]),
            ({"a/0": 1.0, "a/1": 0.0, "a": 1.0}, "", ["output/a/1"]),
        ],
        ids=["second", "compat", "first", "nested", "only", "at_the_root", "dots", "layers"],
    )
    def test_what_else_a_module_returns_may_be_zero(self, outputs, settings, expected):
        """A layer is dead if the first thing that it returns is zero; "1" may be its name."""
        step = step_of({"outputs": {f"output/{name}": [one] for name, one in outputs.items()}})
        found = run(f"all_zero:collection_names=outputs{settings}", [step])
        assert expected == [finding.tensor for finding in found]

    @pytest.mark.parametrize(("zero_from", "onset"), [(0, 0), (1, 1), (3, 3), (5, 5)])
    def test_the_onset_may_lie_before_the_first_judged_step(self, zero_from, onset):
        """It counts from step 3 on, and fires as late; what was so before that is not forgotten."""
        values = [[0.0 if step >= zero_from else 1.0] for step in range(9)]
        steps = [step_of({"outputs": {"o": [value]}}, n) for n, value in enumerate(values)]
        (found,) = run("all_zero:collection_names=outputs,start_step=3,consecutive=2", steps)

        assert (max(3, zero_from) + 1, onset) == (found.step, found.onset)

    @pytest.mark.parametrize(("norm", "remedy"), [(4.0, "learning rate a hundred"), (1.1, "dead")])
    def test_a_jump_of_the_weights_before_is_the_cause(self, norm, remedy):
        """Also in a step before the first that is judged."""

        def step(number):
            size = norm if number >= 1 else 1.0
            return step_of(
                {
                    "weights": {"fc.weight": np.full((2, 2), size / 2)},
                    "learning_rates": {"learning_rate/0": 0.1},
                    "outputs": {"output/fc": [0.0 if number >= 3 else 1.0]},
                },
                number,
            )

        spec = "all_zero:collection_names=outputs,start_step=3"
        (found,) = run(spec, [step(n) for n in range(9)])

        assert remedy in found.remedy
        assert ("weights from 1 to 4 by step 1" in found.message) == (norm == 4)

    @pytest.mark.parametrize(("is_frozen", "severity"), [(True, "info"), (False, "warning")])
    def test_a_layer_that_is_frozen_at_zero_is_information(self, is_frozen, severity):
        """Also where it is seen in a step that has no weights, such as one of an evaluation."""
        own = {} if is_frozen else {"gradient/pos.weight": [1.0]}
        trained = step_of(
            {
                "weights": {"pos.weight": [0.0], "fc.weight": [1.0]},
                "gradients": {"gradient/fc.weight": [1.0], **own},
                "outputs": {"output/fc": [1.0]},
            }
        )
        later = step_of({"outputs": {"output/pos": [0.0]}}, 1)
        (found,) = run("all_zero:collection_names=outputs", [trained, later])

        assert severity == found.severity
        assert ("zero and frozen" in found.message) == is_frozen

    def test_tensors_that_die_together_are_one_finding(self):
        def step(number):
            late = 0.0 if number >= 5 else 1.0
            return step_of({"outputs": {"a": [0.0], "b": [0.0], "c": [late]}}, number)

        found = run("all_zero:collection_names=outputs", [step(n) for n in range(9)])
        assert [(0, "a"), (5, "c")] == [(finding.step, finding.tensor) for finding in found]


class TestGradNormSpike:
    def norms(self, values, **scalars):
        return [
            step_of({"gradients": {"gradient/a": [norm * 0.6], "gradient/b": [norm * 0.8]},
                     "optimizer": {f"optimizer/{n}": v for n, v in scalars.items()}}, step)
            for step, norm in enumerate(values)
        ]  # fmt: skip

    def noise(self, number=500):
        return 1 + 0.1 * np.random.default_rng(0).normal(size=number)

    def test_five_times_the_usual_is_a_spike_and_noise_is_none(self):
        values = self.noise()
        assert [] == run("grad_norm_spike", self.norms(values))
        values[400] *= 5
        (finding,) = run("grad_norm_spike", self.norms(values))
        assert (400, "gradient/b") == (finding.step, finding.tensor)
        assert 0.64 == pytest.approx(finding.evidence["shares"][0][1])

    def test_the_norm_before_clipping_counts(self):
        values = self.noise(100)
        steps = self.norms(values, gradient_norm_before_clipping=1.0, max_norm=2.0)
        steps[80] = self.norms([1.0] * 81, gradient_norm_before_clipping=9.0, max_norm=2.0)[80]
        assert [80] == steps_at(run("grad_norm_spike", steps))

    def test_steps_of_infinite_norm_are_passed_over(self):
        values = self.noise(100)
        values[50] = inf
        assert [] == run("grad_norm_spike", self.norms(values))

    def test_memory_is_bounded(self):
        from stepwatch.rules.history import Norms

        norms = Norms(0.97, 6.0, 25, clip_window=500)
        for step in range(30_000):
            norms.add(step, 1.001 ** max(0, step - 27_000))
        assert 4096 >= len(norms._history)
        assert 1.001**3000 == pytest.approx(norms.growth(0.1), rel=0.05)


class TestUntrainedParameter:
    def step(self, number, weight=1.0, gradient=None, rate=0.1, **facts):
        facts = {"trainable": True, "optimizer_groups": 1, **facts}
        tensors = [(info("w", "weights", **facts), [weight]), (info("v", "weights"), [number])]
        if gradient is not None:
            tensors.append((info("gradient/w", "gradients"), [gradient]))
        tensors.append((info("gradient/v", "gradients"), [1.0]))
        tensors.append((info("learning_rate/0", "learning_rates"), [rate]))
        return StepView([record(tensors, step=number)])

    def causes(self, steps):
        return [(f.condition, f.step, f.tensor) for f in run("untrained_parameter", steps)]

    def test_never_a_gradient(self):
        assert [("no_gradient", 9, "w")] == self.causes([self.step(n) for n in range(20)])

    def test_a_gradient_now_and_then_is_enough(self):
        """Layers are dropped at random, experts are chosen."""
        steps = [self.step(n, n, 1.0 if n == 5 else None) for n in range(40)]
        assert [] == self.causes(steps)

    def test_frozen_on_purpose(self):
        steps = [self.step(n, trainable=False, optimizer_groups=0) for n in range(20)]
        assert [] == self.causes(steps)

    def test_an_unknown_optimizer_is_no_evidence(self):
        assert [] == self.causes([self.step(n, n, 1.0, optimizer_groups=None) for n in range(20)])

    @pytest.mark.parametrize(("groups", "cause"), [(0, "not_in_optimizer"), (2, "in_two_groups")])
    def test_groups(self, groups, cause):
        steps = [self.step(n, n * groups, 1.0, optimizer_groups=groups) for n in range(20)]
        assert [(cause, 9, "w")] == self.causes(steps)

    def test_what_is_updated_by_hand_needs_no_optimizer(self):
        """It changes."""
        assert [] == self.causes([self.step(n, n, 1.0, optimizer_groups=0) for n in range(20)])

    def test_what_has_a_gradient_of_zero_needs_none_either(self):
        """As the bias of a critic that compares two scores; its optimizer may not be of torch."""
        assert [] == self.causes([self.step(n, 1.0, 0.0, optimizer_groups=0) for n in range(20)])

    def test_what_is_let_go_of_between_full_steps(self):
        """It was trained, as a teacher before its student, and is far from what was seen last."""
        steps = [self.step(n, 1.0 + n, 1.0, optimizer_groups=1) for n in range(20)]
        steps += [self.step(n, 90.0, optimizer_groups=0) for n in range(300, 330)]
        assert [] == self.causes(steps)

    def test_another_of_the_same_name(self):
        """No step makes one so much larger: the optimizer holds the one before."""
        steps = [self.step(n, 1.0 + n / 100, 1.0, optimizer_groups=1) for n in range(20)]
        steps += [self.step(n, 90.0, 1.0, optimizer_groups=0) for n in range(20, 50)]
        assert ["not_in_optimizer"] == [cause for cause, *_ in self.causes(steps)]

    def test_a_model_that_did_not_run_may_keep_its_last_gradients(self):
        """It was adapted by an optimizer that is gone."""
        for owner, expected in (("old", []), ("new", ["nothing_trained"])):
            held = info(f"{owner}.weight", "weights", [1.0], optimizer_groups=0)
            tensors = [
                (held, [1.0]),
                (info(f"gradient/{owner}.weight", "gradients"), [1.0]),
                (info("output/new", "outputs"), [1.0]),
            ]
            steps = [StepView([record(tensors, step=at)]) for at in range(20)]

            assert expected == [cause for cause, *_ in self.causes(steps)]

    @pytest.mark.parametrize(
        ("held", "said"),
        [
            ({"optimizer/0/0/0": True}, "the 1 that the optimizer holds belong to no model"),
            ({"a.weight": False}, "the 1 that the optimizer holds are frozen or got no gradient"),
            (
                {"optimizer/0/0/0": True, "a.weight": False},
                "the 2 that the optimizer holds belong to no model that ran or are frozen",
            ),
            ({}, "no optimizer holds any"),
        ],
    )
    def test_what_the_optimizer_holds_instead_is_said(self, held, said):
        """What belongs to no model is none of the model's parameters."""
        tensors = [
            (info("w", "weights", [1.0], optimizer_groups=0), [1.0]),
            (info("gradient/w", "gradients"), [1.0]),
            *(
                (info(name, "weights", [1.0], trainable=trainable, optimizer_groups=1), [1.0])
                for name, trainable in held.items()
            ),
        ]
        steps = [StepView([record(tensors, step=at)]) for at in range(20)]
        (found,) = (
            one for one in run("untrained_parameter", steps) if one.condition == "nothing_trained"
        )

        own = sum(not name.startswith("optimizer/") for name in held) + 1
        assert found.message.startswith(f"1 of {own} parameter")
        assert f"had gradients and is in no optimizer, and {said}" in found.message

    @pytest.mark.parametrize(("groups", "is_told"), [(None, True), (1, False)])
    def test_new_parameters_may_have_been_thrown_away_where_optimizers_are_functions(
        self, groups, is_told
    ):
        """Those of JAX are; an optimizer that is known changes parameters in place."""
        steps = [self.step(n, 1.0, 0.5, optimizer_groups=groups) for n in range(20)]
        (found,) = run("untrained_parameter", steps)

        assert is_told == ("optax.apply_updates" in found.remedy)

    def test_gradients_that_change_nothing(self):
        assert [("unchanged", 10, "w")] == self.causes([self.step(n, 1.0, 0.5) for n in range(20)])

    def test_a_learning_rate_that_rises_may_have_been_too_small(self):
        """Nothing is said while it warms up."""
        steps = [self.step(n, 1.0, 0.5, rate=1e-9 * (n + 1)) for n in range(20)]
        assert [] == self.causes(steps)

    def test_zero_gradients_change_nothing_as_they_should(self):
        assert [] == self.causes([self.step(n, 1.0, 0.0) for n in range(20)])

    def test_what_rounding_leaves_of_no_gradient_is_none(self):
        """As of a shift before a normalization; all the others are of size one."""
        assert [] == self.causes([self.step(n, 1.0, 1e-8) for n in range(20)])

    def test_what_changed_once_may_rest(self):
        """The end of a schedule, a converged model: they were trained."""
        assert [] == self.causes([self.step(n, min(n, 3), 0.5) for n in range(60)])

    def test_the_smallest_change_counts(self):
        one = np.nextafter(np.float32(1), np.float32(2))
        steps = [self.step(n, 1.0 if n < 8 else one, 0.5) for n in range(20)]
        assert [] == self.causes(steps)

    def test_eval_steps_are_not_counted(self):
        steps = [step_of({"weights": {"w": 1.0}}, n, Mode.EVAL) for n in range(30)]
        assert [] == self.causes(steps)

    def test_missing_zero_grad(self):
        named = {"optimizer": {"optimizer/stale_gradients": 4.0}}
        steps = [step_of(named, n) for n in range(1, 20)]
        assert [("zero_grad", 10, "optimizer/stale_gradients")] == self.causes(steps)
