"""Rules on the size of steps, on weights that others move, and on data that is not what it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import ConfigError
from stepwatch.judge.step_view import StepView
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.rules import parse_rules
from stepwatch.rules.data import dependence
from stepwatch.rules.untrained import frozen_inside
from stepwatch.rules.weight_updates import least_change
from tests.support.rules.made_steps import full_step, judged
from tests.support.rules.rule_records import info, record, row_of, step_of
from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.scenarios import first_of_each_rule
from tests.support.rules.step_programs import STEPS, clips_by_hand

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(scenario):
    program = scenario.program
    function = getattr(program, "func", program).__name__
    given_options = getattr(program, "args", ()), getattr(program, "keywords", {})
    shown = [
        f"{key}={getattr(getattr(value, 'func', value), '__name__', value)}"
        for key, value in given_options[1].items()
    ]
    return f"{scenario.rule}-{function}-{given_options[0]}-{shown}"[:90]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", first_of_each_rule(STEPS), ids=_name)
def test_a_fault_is_found_and_its_twin_is_not(scenario, tmp_path):
    """A fault gives a finding and its twin none, live as from the files."""
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, scenario.must_fire) == (statuses[0].status, bool(found)), (
        found,
        statuses[0].details,
    )
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)


def test_clipping_before_an_update_by_hand_is_not_judged(tmp_path):
    """Nobody sees which gradients a script uses itself: those after ``backward()`` say nothing."""
    found, statuses = judge(clips_by_hand, "gradient_clipping", tmp_path / "run")

    assert ([], "NotEvaluated") == (found, statuses[0].status)
    assert_live_is_replay(tmp_path / "run", "gradient_clipping", found, statuses)


class TestLeastChange:
    @given(
        st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
        st.integers(0, 2**32 - 1),
    )
    @settings(max_examples=100, deadline=None)
    def test_it_is_no_more_than_the_change(self, values, seed):
        """The triangle inequality: statistics never tell of more change than there was."""
        before = np.array(values)
        after = before + np.random.default_rng(seed).normal(size=before.shape)

        least = least_change(row_of(before)[None], row_of(after)[None])[0]

        change = np.linalg.norm(after - before)
        assert least <= change * (1 + 1e-9) + 1e-9

    def test_a_tensor_that_is_scaled_tells_all_of_it(self):
        before = np.array([3.0, 4.0])

        assert [5.0] == least_change(row_of(before)[None], row_of(2 * before)[None]).tolist()

    def test_nothing_is_known_of_what_is_not_finite(self):
        before, after = row_of([1.0, 2.0]), row_of([1.0, np.nan])

        assert np.isnan(least_change(before[None], after[None])).all()


class TestDependence:
    def test_one_class_a_step_is_all_there_can_be(self):
        assert dependence(32.0 * np.eye(4)) == pytest.approx(1.0, abs=0.05)

    def test_random_samples_depend_on_nothing(self):
        """Whatever the size of the batch and however rare a class is."""
        generator = np.random.default_rng(0)
        for size in (4, 32, 256):
            counts = generator.multinomial(size, [0.6, 0.2, 0.1, 0.1], size=10)

            assert dependence(counts.astype(float)) < 0.1

    def test_a_single_step_or_class_depends_on_nothing(self):
        assert (0.0, 0.0) == (dependence(np.ones((1, 3))), dependence(np.ones((3, 1))))


def _parameters(*names, shape=(2, 2), frozen=(), held=1):
    return [
        info(name, "weights", np.zeros(shape), trainable=not name.startswith(tuple(frozen)),
             optimizer_groups=held)
        for name in names
    ]  # fmt: skip


class TestFrozenInside:
    NAMES = ("embed.w", "blocks.0.w", "blocks.1.w", "blocks.2.w", "head.w")

    @pytest.mark.parametrize(
        ("frozen", "expected"),
        [
            (["blocks.1"], ["blocks.1.w"]),
            (["blocks.2"], ["blocks.2.w"]),
            (["blocks.0"], []),
            (["embed", "blocks.0", "blocks.1"], []),
            (["blocks"], []),
            (["blocks.2", "head"], []),
        ],
    )
    def test_only_a_block_between_two_that_train(self, frozen, expected):
        """The beginning of a model, and all up to its end, are frozen on purpose."""
        parameters = _parameters(*self.NAMES, frozen=frozen)

        met = frozen_inside(parameters)

        assert expected == [self.NAMES[row] for row in np.flatnonzero(met)]

    def test_what_no_optimizer_was_given_is_meant(self):
        parameters = _parameters(*self.NAMES, frozen=["blocks.1"], held=0)

        assert not frozen_inside(parameters).any()

    def test_another_kind_of_layer_is_no_such_block(self):
        """A frozen normalization after a convolution is not one of several equal blocks."""
        parameters = [
            *_parameters("net.0.weight", shape=(8, 1, 3, 3)),
            *_parameters("net.1.weight", shape=(8,), frozen=["net.1"]),
            *_parameters("net.2.weight", shape=(8, 8, 3, 3)),
        ]

        assert not frozen_inside(parameters).any()

    def test_a_layer_that_is_frozen_in_every_block_is_meant(self):
        names = ("blocks.0.base", "blocks.0.lora", "blocks.1.base", "blocks.1.lora", "head.w")
        parameters = _parameters(*names, frozen=["blocks.0.base", "blocks.1.base"])

        assert not frozen_inside(parameters).any()


def _trained(step, *, weight, loss=1.0, rate=0.1, ratio=1e-2, **more):
    collections = {
        "weights": {"a": np.full(4, weight), "b": np.full(4, -weight)},
        "losses": {"loss/L": loss},
        "learning_rates": {"learning_rate/0": rate},
        "updates": {"update_ratio/a": ratio, "update_ratio/b": ratio},
    }
    return step_of({**collections, **more}, step)


class TestWeightsMoved:
    def test_a_larger_learning_rate_may_move_them_farther(self):
        """A tenfold rate moves weights ten times as far, and that is the optimizer."""
        weights = [1.0, 1.01, 1.02, 1.03, 1.13]
        grows = [
            _trained(at, weight=w, rate=1.0 if at > 2 else 0.1) for at, w in enumerate(weights)
        ]
        jumps = [_trained(at, weight=w) for at, w in enumerate(weights)]

        assert ([], [4]) == tuple(
            [one.step for one in judged("weights_moved", steps)[0]] for steps in (grows, jumps)
        )

    def test_it_names_when_and_by_how_much(self):
        steps = [_trained(at, weight=3.0 if at == 6 else 1.0) for at in range(7)]

        (found,), _ = judged("weights_moved", steps)

        assert ("replaced", 6, 5) == (found.condition, found.step, found.evidence["last_step"])
        assert found.value == pytest.approx(200.0)

    def test_a_weight_that_passes_zero_in_equal_steps_is_moved_by_its_optimizer(self):
        """As Adam moves a single number: at zero each step is many times as large as it is."""
        values = [0.1001 - 0.01 * at for at in range(20)]
        steps = [
            _trained(at, weight=1.0 + at / 1e4, weights={"gain": [value]}, updates={
                "update_ratio/gain": abs(0.01 / value) if at < 5 else np.nan})
            for at, value in enumerate(values)
        ]  # fmt: skip

        assert [] == judged("weights_moved", steps)[0]

    @pytest.mark.parametrize(
        ("states", "found"), [({}, [5]), ({"optimizer_state/a/exp_avg_sq": 1.0}, [])]
    )
    def test_adam_may_move_each_element_by_the_learning_rate(self, states, found):
        """As after steps with next to no gradient."""
        weights = [1.0, 1.001, 1.002, 1.003, 1.004, 1.2]
        steps = [
            _trained(at, weight=weight, ratio=1e-3, optimizer_states=states)
            for at, weight in enumerate(weights)
        ]

        assert found == [one.step for one in judged("weights_moved", steps)[0]]

    @pytest.mark.parametrize(("loss", "severity"), [(1.0, "warning"), (5.0, "error")])
    def test_a_single_weight_is_an_error_only_where_the_loss_jumps(self, loss, severity):
        """To throw work away takes two pieces of evidence that do not depend on each other."""
        steps = [
            step_of(
                {
                    "weights": {"a": [40.0 if at == 6 else 1.0], "b": [1.0], "c": [1.0]},
                    "updates": {f"update_ratio/{name}": 1e-2 for name in "abc"},
                    "losses": {"loss/L": loss if at == 6 else 1.0},
                    "learning_rates": {"learning_rate/0": 0.1},
                },
                at,
            )
            for at in range(7)
        ]

        (found,), _ = judged("weights_moved", steps)

        assert ("changed", severity) == (found.condition, found.severity)

    @pytest.mark.parametrize(("loss", "expected"), [(1.0, [6]), (np.nan, []), (np.inf, [])])
    def test_what_moves_weights_after_a_loss_that_is_not_finite_follows_from_it(
        self, loss, expected
    ):
        steps = [
            _trained(at, weight=9.0 if at == 6 else 1.0, loss=loss if at == 5 else 1.0)
            for at in range(7)
        ]

        assert expected == [one.step for one in judged("weights_moved", steps)[0]]

    @pytest.mark.parametrize(("now_and_then", "expected"), [(1.0, [2300]), (500.0, [])])
    def test_steps_between_looks_may_have_been_as_large_as_losses_scatter(
        self, now_and_then, expected
    ):
        """Those of single samples do, and updates with them: the last looks show small ones."""
        steps = [
            _trained(
                at,
                weight=60.0 if at == 2300 else 1.0,
                loss=now_and_then if at % 600 == 0 else 1.0,
                ratio=1e-3,
            )
            for at in range(0, 2400, 100)
        ]

        assert expected == [one.step for one in judged("weights_moved", steps)[0]]

    def test_without_updates_there_is_no_judgement(self):
        steps = [step_of({"weights": {"a": [1.0]}}, at) for at in range(5)]

        assert "NotEvaluated" == judged("weights_moved", steps)[1].status


class TestImpossibleMoments:
    @pytest.mark.parametrize(
        ("seen", "moment", "expected"),
        [(range(6), 1e-3, [5]), ((0, 1, 5), 1e-3, []), ((0, 1, 5), 1e9, [5])],
    )
    def test_a_gradient_that_was_not_seen_may_have_been_as_large_as_any(
        self, seen, moment, expected
    ):
        """As that of a bias which is zero wherever the observed steps look."""
        steps = [
            step_of(
                {
                    "gradients": {"gradient/a": [0.0], "gradient/b": [0.3]},
                    "optimizer_states": {
                        "optimizer_state/a/exp_avg_sq": [moment if at == 5 else 0.0]
                    },
                },
                at,
            )
            for at in seen
        ]

        found, _ = judged("stale_optimizer_state", steps)

        assert expected == [one.step for one in found if one.condition == "impossible"]


class TestNothingLeft:
    @pytest.mark.parametrize(("lowest", "found"), [(1e-5, False), (0.1, True)])
    def test_gradients_of_what_was_learned_to_the_last_bits_may_be_any(self, lowest, found):
        """A loss of next to nothing spikes now and then, and comes back."""
        steps = [
            step_of(
                {
                    "losses": {"loss/mse_loss": [1.0 if at < 5 else lowest if at < 30 else 0.2]},
                    "optimizer_states": {"update_rms/fc.weight": [1.0 if at < 30 else 6.0]},
                },
                at,
            )
            for at in range(60)
        ]

        assert found == any(
            one.condition == "rms" for one in judged("stale_optimizer_state", steps)[0]
        )


class TestStepSize:
    def test_weights_that_grow_while_the_loss_falls_are_well(self):
        """A long training may make weights large; what counts is that it gets nowhere."""
        for fall, expected in ((1.0, []), (0.5, ["too_large"])):
            steps = [
                _trained(at, weight=1.0 + at, loss=1.0 - (at / 60 if fall == 1.0 else 0.0))
                for at in range(50)
            ]
            found, _ = judged("step_size:num_steps=30", steps)

            assert expected == [one.condition for one in found]

    @pytest.mark.parametrize(("apart", "found"), [(1, ["diverged"]), (200, [])])
    def test_what_happened_between_full_steps_is_not_within_a_few(self, apart, found):
        """A second loss may well come up while weights grow, over thousands of steps."""
        steps = [
            _trained(apart * at, weight=1.0 + 0.4 * at, loss=1e-4 if at < 5 else 0.5)
            for at in range(8)
        ]

        assert found == [one.condition for one in judged("step_size", steps)[0]]

    def test_weights_that_grow_are_not_judged_without_a_loss(self):
        steps = [step_of({"weights": {"a": [1.0 + at]}}, at) for at in range(50)]

        assert [] == judged("step_size:num_steps=30", steps)[0]

    def test_weights_that_fade_are_decay(self):
        steps = [_trained(at, weight=0.9**at) for at in range(50)]

        assert ["decay"] == [one.condition for one in judged("step_size:num_steps=30", steps)[0]]

    @pytest.mark.parametrize(
        ("survivors", "decay", "found"), [(8, 1.0, []), (8, 0.9, ["decay"]), (0, 1.0, ["decay"])]
    )
    def test_weights_that_are_pruned_do_not_fade(self, survivors, decay, found):
        """A script sets all but a few to zero, round by round; the others are as large as ever.

        Told are survivors that fade, and a model of which nothing survives.
        """
        steps = []
        for at in range(60):
            weights = np.full(200, decay**at)
            weights[survivors if at >= 40 else 100 if at >= 20 else 200 :] = 0.0
            kinds = {"weights": {"a": weights}, "losses": {"loss/loss": [1.0]}}
            steps.append(step_of(kinds, at))

        assert found == [one.condition for one in judged("step_size:num_steps=30", steps)[0]]

    def test_so_are_those_of_which_nothing_is_left_though_the_loss_falls(self):
        """A loss with a penalty on the weights falls with them."""
        steps = [_trained(at, weight=0.9**at, loss=1 + 10 * 0.9**at) for at in range(50)]

        (found,) = judged("step_size:num_steps=30", steps)[0]

        assert ("decay", 0.05) == (found.condition, found.threshold)

    @pytest.mark.parametrize(
        ("penalty", "rest", "found"), [(0.6, 1.4, True), (0.1, 1.4, False), (0.6, 0.3, False)]
    )
    def test_a_penalty_that_outweighs_the_loss_is_decay_at_the_end(self, penalty, rest, found):
        """Not where it is next to nothing by then, or where the loss fell all the same."""
        steps = []
        for at in range(50):
            of_penalty = penalty + 30 * 0.8**at
            loss = of_penalty + rest + (2 - rest) * 0.9**at
            more = {"weights": {"a": [max(0.9**at, 0.3)]}, "losses": {"loss/loss": [loss]}}
            steps.append(step_of(more | {"loop": {"loop/penalty": [of_penalty]}}, at))

        decays = ["decay"] if found else []
        assert decays == [one.condition for one in judged("step_size:num_steps=30", steps)[0]]

    def test_a_rate_on_its_way_up_is_given_time(self):
        warms_up, stays = (
            [_trained(at, weight=1.0, ratio=1e-7, rate=1e-6 * (1 + at * up)) for at in range(40)]
            for up in (1, 0)
        )

        assert (0, 1) == tuple(
            len(judged("step_size:num_steps=30", steps)[0]) for steps in (warms_up, stays)
        )

    @pytest.mark.parametrize(
        ("ratio", "loss", "expected"),
        [(0.4, 3.0, ["far_too_high"]), (0.4, 0.8, []), (0.01, 3.0, [])],
    )
    def test_a_rate_that_throws_a_model_off_at_once_is_named(self, ratio, loss, expected):
        """Both the size of a step and the loss after it say so; either alone is no fault."""
        steps = [
            _trained(at, weight=1.0, ratio=ratio if at < 3 else 1e-3, loss=loss if at else 1.0)
            for at in range(20)
        ]

        found = judged("step_size", steps)[0]
        assert expected == [one.condition for one in found]
        assert all("loss/L" in one.evidence for one in found)

    @pytest.mark.parametrize("first", [0.0, 1e-8])
    def test_weights_that_begin_at_zero_or_next_to_it_say_nothing_of_the_rate(self, first):
        """Their first step is all that there is of them."""
        steps = [
            _trained(at, weight=first + 0.1 * at, ratio=1 / max(at, 1), loss=3.0 if at else 1.0)
            for at in range(20)
        ]

        assert [] == [one.condition for one in judged("step_size", steps)[0]]

    @pytest.mark.parametrize(("stale", "expected"), [(0, ["far_too_high"]), (2, [])])
    def test_of_gradients_that_add_up_the_rate_says_nothing(self, stale, expected):
        def added_up(at):
            counted = {"optimizer/stale_gradients": float(stale)}
            loss = 3.0 if at else 1.0
            return _trained(at, weight=1.0, ratio=0.4, loss=loss, optimizer=counted)

        steps = [added_up(at) for at in range(20)]

        assert expected == [one.condition for one in judged("step_size", steps)[0]]

    def test_too_few_steps_are_no_judgement(self):
        found, status = judged("step_size", [_trained(at, weight=1.0) for at in range(5)])

        assert ([], "NotEvaluated") == (found, status.status)


class TestInputDrift:
    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            (0.05, ["shrunk batch/0"]),
            (20.0, ["outlier batch/0", "grown batch/0"]),
            (2.0, []),
        ],
    )
    def test_it_is_compared_with_the_first_steps(self, size, expected):
        steps = [
            step_of({"batches": {"batch/0": np.full((2, 2), 1.0 if at < 20 else size)}}, at)
            for at in range(45)
        ]

        assert expected == [one.condition for one in judged("input_drift", steps)[0]]

    def test_one_batch_far_larger_than_all_before_is_told_at_once(self):
        """What a single broken batch does to a training cannot be undone twenty steps later."""
        steps = [
            step_of({"batches": {"batch/0": np.full((2, 2), 11.0 if at == 30 else 1.0)}}, at)
            for at in range(45)
        ]

        (found,) = judged("input_drift", steps)[0]

        assert (30, "outlier batch/0") == (found.step, found.condition)

    @pytest.mark.parametrize(("at_first", "onset"), [(50.0, 5), (0.0, 35)])
    def test_what_is_evaluated_differs_since_the_first_evaluation_that_did(self, at_first, onset):
        """Though one is only judged once twenty steps of training are known."""
        rng, at, steps = np.random.default_rng(0), 0, []
        for mode, count, away in (
            (Mode.TRAIN, 5, 0.0),
            (Mode.EVAL, 5, at_first),
            (Mode.TRAIN, 25, 0.0),
            (Mode.EVAL, 5, 50.0),
        ):
            for _ in range(count):
                inputs = rng.normal(away, 1, (16, 4)).astype(np.float32)
                steps.append(full_step({"batches": {"batch/0": inputs}}, at, mode))
                at += 1

        (found,) = judged("input_drift", steps)[0]

        assert ("evaluated batch/0", onset) == (found.condition, found.onset)

    @pytest.mark.parametrize(
        ("first", "evaluated", "severity"),
        [(1.0, 0.11, "info"), (1.0, 0.3, "warning"), (0.15, 0.11, "warning")],
        ids=["as low", "higher", "not learned"],
    )
    def test_other_inputs_do_no_harm_where_what_was_learned_holds(self, first, evaluated, severity):
        """As of a series whose level rises, where its changes are predicted."""
        rng, steps = np.random.default_rng(0), []
        for at in range(35):
            is_evaluated = at >= 30
            loss = evaluated if is_evaluated else first if at == 0 else 0.1
            inputs = rng.normal(50.0 if is_evaluated else 0.0, 1, (16, 4)).astype(np.float32)
            tensors = {"batches": {"batch/0": inputs}, "losses": {"loss/L": loss}}
            steps.append(full_step(tensors, at, Mode.EVAL if is_evaluated else Mode.TRAIN))

        assert [severity] == [one.severity for one in judged("input_drift", steps)[0]]

    @pytest.mark.parametrize(("samples", "count"), [(16, 0), (64, 1)])
    def test_a_test_set_at_once_counts_as_the_batches_that_it_would_be(self, samples, count):
        """One batch may be an odd one."""
        rng = np.random.default_rng(0)
        steps = [
            full_step({"batches": {"batch/0": rng.normal(away, 1, (size, 4))}}, at, mode)
            for at, (mode, size, away) in enumerate(
                [(Mode.TRAIN, 16, 0.0)] * 25 + [(Mode.EVAL, samples, 50.0)]
            )
        ]

        assert count == len(judged("input_drift", steps)[0])

    @pytest.mark.parametrize(("is_sorted", "count"), [(True, 0), (False, 1)])
    def test_samples_that_lie_class_by_class_are_not_compared(self, is_sorted, count):
        """As those of one class are alike, and others come after them."""
        rng = np.random.default_rng(0)
        steps = [
            full_step(
                {
                    "batches": {"batch/0": rng.normal(away, 1, (16, 4))},
                    "labels": {"label/mse_loss": labels},
                },
                *(at, mode),
            )
            for at, (mode, away, labels) in enumerate(
                [(Mode.TRAIN, 0.0, np.arange(16.0) % 2)] * 25
                + [(Mode.EVAL, 50.0, np.zeros(16) if is_sorted else np.arange(16.0) % 2)] * 5
            )
        ]

        assert count == len(judged("input_drift", steps)[0])

    @pytest.mark.parametrize(("last", "found"), [(99.0, ["range batch/1"]), (0.99, []), (1.9, [])])
    def test_one_number_for_all_of_a_batch_is_compared_with_the_range_in_training(
        self, last, found
    ):
        """As a time step is, by which a diffusion model is asked for samples."""
        rng = np.random.default_rng(0)
        steps = [
            full_step({"batches": {"batch/1": rng.uniform(0, 1, 16).astype("float32")}}, at)
            for at in range(12)
        ]
        steps += [
            full_step({"batches": {"batch/1": np.full(64, last * part, "float32")}}, at, Mode.EVAL)
            for at, part in enumerate((1.0, 0.98, 0.97), 12)
        ]

        assert found == [one.condition for one in judged("input_drift", steps)[0]]

    def test_without_inputs_there_is_no_judgement(self):
        steps = [step_of({"batches": {"batch/0": [1.0]}}, at) for at in range(45)]

        assert "NotEvaluated" == judged("input_drift", steps)[1].status


class TestInputScale:
    def _first(self, prediction, label, size=100.0):
        given_to_loss = {
            "batches": {"batch/0": np.full((4, 2), size)},
            "losses": {"loss/mse_loss": 1.0},
            "predictions": {"prediction/mse_loss": [prediction]},
            "labels": {"label/mse_loss": [label]},
        }
        return [step_of(given_to_loss, 0)]

    @pytest.mark.parametrize(
        ("prediction", "label", "size", "expected"),
        [(60.0, 1.0, 100.0, 1), (60.0, 50.0, 100.0, 0), (1.0, 1.0, 100.0, 0), (60.0, 1.0, 1.0, 0)],
    )
    def test_large_inputs_matter_where_outputs_are_large_for_the_targets(
        self, prediction, label, size, expected
    ):
        found, _ = judged("input_scale", self._first(prediction, label, size))

        assert expected == len(found)

    @pytest.mark.parametrize(
        ("outputs", "size", "expected"),
        [
            ([-1.0, 1.0, 0.99, -0.98], 100.0, 1),
            ([-1.0, 1.0, 0.99, -0.98], 1.0, 0),
            ([-1.0, 1.0, 0.1, -0.2], 100.0, 0),
            ([1.0, 1.0, 1.0, 1.0], 100.0, 0),
            ([-9.0, 9.0, 9.0, -9.0], 100.0, 0),
        ],
    )
    def test_large_inputs_matter_where_they_saturate(self, outputs, size, expected):
        """A layer of which all is at -1 or 1 lets no gradient through."""
        step = step_of(
            {"batches": {"batch/0": np.full((4, 2), size)}, "outputs": {"output/tanh": outputs}}
        )

        assert expected == len(judged("input_scale", [step])[0])

    @pytest.mark.parametrize(("loss", "expected"), [(10.0, 1), (1.0, 0)])
    def test_probabilities_are_far_off_where_their_loss_is(self, loss, expected):
        """As where a sigmoid is at its ends, and wrong; guessing one of two costs 0.69."""
        given_to_loss = {
            "batches": {"batch/0": np.full((4, 2), 100.0)},
            "losses": {"loss/binary_cross_entropy": loss},
            "predictions": {"prediction/binary_cross_entropy": [[0.0], [1.0]]},
            "labels": {"label/binary_cross_entropy": [[1.0], [0.0]]},
        }
        found, _ = judged("input_scale", [step_of(given_to_loss, 0)])

        assert ["far off as guessing" in one.message for one in found] == [True] * expected

    @pytest.mark.parametrize(
        ("given", "scaled", "hidden", "expected"),
        [
            ((0.0, 1.0), (0.0, 1 / 255), 0.004, ["scaled_twice batch"]),
            ((0.0, 1.0), (-1.0, -1 + 1 / 127.5), 0.05, ["scaled_twice batch"]),
            ((-0.8, 1.0), (-0.8 / 255, 1 / 255), 0.004, ["scaled_twice batch"]),
            ((0.0, 1 / 255), (0.0, 1 / 255), 0.004, ["scaled_twice batch"]),
            ((0.0, 1.0), (0.0, 1 / 255), 3.0, []),
            ((0.0, 255.0), (0.0, 1.0), 1.5, []),
            ((0.0, 1.0), (0.0, 0.02), 0.05, []),
            ((0.0, 0.0042), (0.0, 0.0042), 0.004, []),
            ((-1 / 255, 1 / 255), (0.0, 1 / 255), 0.004, []),
        ],
        ids=[
            *("by a layer", "to -1 and 1", "both signs", "before", "normalized after that"),
            *("once", "by another number", "small", "small, both signs"),
        ],
    )
    def test_pictures_that_are_divided_twice_are_next_to_nothing(
        self, given, scaled, hidden, expected
    ):
        """As ``convert_image_dtype`` does, and a ``Rescaling`` of the model."""
        batch, after = (np.linspace(*ends, 32).reshape(2, 4, 4, 1) for ends in (given, scaled))
        step = step_of(
            {
                "batches": {"batch": batch},
                "outputs": {"output/rescaling": after, "output/conv": [0.0, hidden]},
            }
        )

        assert expected == [one.condition for one in judged("input_scale", [step])[0]]


class TestRepeatedData:
    def _found(self, counts):
        """Return the conditions that are met with these labels of eight samples at each step."""
        steps = [
            full_step(
                {
                    "batches": {"batch/0": np.full((8, 2), float(at))},
                    "classes": {"class_count/cross_entropy": np.array(count)},
                },
                at,
            )
            for at, count in enumerate(counts)
        ]
        return [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            ([[8, 0, 0]] * 30, ["one_class"]),
            ([[8, 0, 0]] * 5 + [[7, 1, 0]] + [[8, 0, 0]] * 24, []),
            ([[8, 0, 0]] * 9, []),
            ([[8, 0, 0], [0, 8, 0], [0, 0, 8]] * 4, ["class_by_class"]),
            ([[3, 3, 2], [2, 3, 3]] * 10, []),
            ([[8, 0], [0, 8]] * 10, []),
            ([[80, 0, 0]] * 30, []),
        ],
        ids=["one", "one rare", "few looks", "by class", "shuffled", "two classes", "tokens"],
    )
    def test_classes_are_judged_by_what_each_step_holds(self, counts, expected):
        """One class of three; a rare class, two classes and tokens are no fault."""
        assert expected == self._found(counts)

    @pytest.mark.parametrize(
        ("function", "masks", "expected"),
        [
            ("cross_entropy", [0] * 9, ["one_class"]),
            ("cross_entropy", [0] * 8, []),  # 96 samples
            ("cross_entropy", [0] * 8 + [1] * 8, []),
            ("cross_entropy", [0.1] * 9, []),  # shares, to be as unsure as can be
            ("mse_loss", [0] * 9, []),
        ],
    )
    def test_masks_of_one_class_are_no_data(self, function, masks, expected):
        """As those that were divided by 255 with their pictures, and then made whole numbers."""
        steps = []
        for at, mask in enumerate(masks):
            label = np.full((12, 6, 6), mask, np.int64 if isinstance(mask, int) else np.float32)
            made = TensorInfo(
                "label/loss", "labels", label.dtype.name, label.shape, function=function
            )
            steps.append(StepView([record([(made, label)], step=at)]))
        assert expected == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            ([[0], [0], [0, 1], [1], [2], [2]] * 4, ["class_by_class cross_entropy"]),
            ([[0]] * 12 + [[1]] * 12, ["class_by_class cross_entropy"]),
            ([[0]] * 12 + [[1]] * 7, []),
            ([[0], [1]] * 12, []),
            ([[0], [0], [0], [0, 1], [0], [0, 2]] * 6, []),
            ([[0, 1], [0, 2], [1, 2], [0]] * 9, []),
        ],
        ids=["sorted", "halves", "a short end", "two classes", "a frequent class", "shuffled"],
    )
    @pytest.mark.parametrize(
        "function",
        ["cross_entropy", "cross_entropy_of_probabilities", "binary_cross_entropy_with_logits"],
    )
    def test_batches_of_one_class_each_are_of_data_that_is_not_shuffled(
        self, labels, expected, function
    ):
        """By the least and the largest label of each batch, as where only batches are shuffled."""
        steps = []
        for at, held in enumerate(labels):
            label = np.resize(np.array(held, np.int64), 16)
            made = TensorInfo("label/cross_entropy", "labels", "int64", (16,), function=function)
            steps.append(StepView([record([(made, label)], step=at)]))

        assert expected == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("num_classes", "is_found"), [(5, True), (2, False)])
    def test_looks_that_meet_two_of_several_classes_tell_that_data_is_sorted(
        self, num_classes, is_found
    ):
        """Those at each fiftieth step, of epochs of fifty, see the same places of each epoch."""
        steps = []
        for at, held in enumerate([0] * 10 + [1] + [0] * 10):
            tensors = [
                (TensorInfo(name, kind, dtype, shape, function="cross_entropy"), array)
                for name, kind, dtype, shape, array in (
                    ("label/loss", "labels", "int64", (16,), np.full(16, held)),
                    ("prediction/loss", "predictions", "float32", (16, num_classes),
                     np.zeros((16, num_classes), np.float32)),
                )
            ]  # fmt: skip
            steps.append(StepView([record(tensors, step=at)]))
        found = [one.condition for one in judged("repeated_data", steps)[0]]

        assert (["class_by_class loss"] if is_found else []) == found

    @pytest.mark.parametrize(
        ("trained", "evaluated", "found"),
        [
            ([4, 4, 0], [0, 0, 8], ["unseen_class class_count/L"]),
            ([4, 3, 1], [0, 0, 8], []),
            ([4, 4, 0], [90, 90, 1], []),
        ],
        ids=["unseen", "rare", "too few to tell"],
    )
    def test_classes_that_are_evaluated_are_trained(self, trained, evaluated, found):
        """As where sorted data is split before it is shuffled."""
        steps = [
            full_step(
                {"batches": {"batch/0": np.ones((8, 2))}, "classes": {"class_count/L": count}},
                at,
                mode,
            )
            for at, (count, mode) in enumerate(
                [(np.array(trained), Mode.TRAIN)] * 12 + [(np.array(evaluated), Mode.EVAL)]
            )
        ]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(
        ("trained", "found"),
        [
            ([(at, [4, 2, 1, 1, 0]) for at in range(200)], ["unseen_class class_count/L"]),
            ([(at, [4, 2, 1, 1, 0]) for at in range(12)], []),
            ([(at, [4, 4, 0, 0, 0] if at < 99 else [0, 0, 4, 4, 0]) for at in range(200)], []),
        ],
        ids=["always looked at", "not looked at later on", "in tasks"],
    )
    def test_classes_may_be_trained_between_two_looks(self, trained, found):
        """Where classes come in tasks, one look in many may miss some."""
        looks = [(at, count, Mode.TRAIN) for at, count in trained]
        looks.append((200, [0, 0, 0, 0, 8], Mode.EVAL))
        steps = [
            full_step(
                {
                    "batches": {"batch/0": np.full((8, 2), float(at))},
                    "classes": {"class_count/L": np.array(count)},
                },
                at,
                mode,
                mode_step=0 if mode is Mode.EVAL else at,
            )
            for at, count, mode in looks
        ]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("apart", "found"), [(1, ["same_batch"]), (25, [])])
    def test_the_same_batch_an_epoch_later_is_no_repetition(self, apart, found):
        """As a budget may look at one step of each epoch, where nothing is shuffled."""
        same, all_of_it = ({"batches": {"batch/0": np.ones((n, 2))}} for n in (8, 40))
        steps = [step_of(all_of_it, 0, Mode.EVAL)]
        steps += [step_of(same, 1 + apart * at, mode_step=apart * at) for at in range(50)]
        for step in steps:
            for tensor in step.tensors("batches"):
                tensor.record.digests[tensor.name] = 7 + tensor.info.shape[0]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("many", "found"), [(False, []), (True, ["same_batch"])])
    def test_samples_that_are_evaluated_again_are_no_more(self, many, found):
        """All that are trained on may be one batch; fewer are evaluated, and again and again."""
        steps, number = [], 0
        for at in range(60):
            sizes = [(40, Mode.TRAIN)] + [(25, Mode.EVAL)] * 3 * (at % 10 == 9)
            for count, mode in sizes:
                step = step_of(
                    {"batches": {"batch/0": np.ones((count, 2))}},
                    number,
                    mode,
                    mode_step=at if mode is Mode.TRAIN else number - at - 1,
                )
                digest = 7 + count + number * (many and mode is Mode.EVAL)
                step.records[0].digests["batch/0"] = digest
                steps.append(step)
                number += 1

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("model", "found"), [("probe", ["same_batch"]), ("encoder", [])])
    def test_what_another_model_is_given_is_no_data(self, model, found):
        """As what an encoder makes features of, by which a probe is trained on few labels."""
        trained = {"batches": {"batch/probe/0": np.ones((40, 2))}}
        evaluated = {"batches": {f"batch/{model}/0": np.ones((60, 2))}}
        steps = [step_of(trained, at + (at >= 10), mode_step=at) for at in range(50)]
        steps.insert(10, step_of(evaluated, 10, Mode.EVAL, mode_step=0))
        for step in steps:
            for tensor in step.tensors("batches"):
                tensor.record.digests[tensor.name] = 7 + tensor.info.shape[0]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("width", "found"), [(2, ["same_batch"]), (16, [])])
    def test_what_one_part_of_a_model_gives_another_is_no_data(self, width, found):
        """As where a script calls the layers of a graph network one by one, on all of the graph."""
        graph = {"batches": {"batch/0": np.ones((40, 2))}}
        parts = {"batches": {"batch/0": np.ones((40, 2)), "batch_1/0": np.ones((60, width))}}
        steps = [step_of(graph, at + (at >= 10), mode_step=at) for at in range(50)]
        steps.insert(10, step_of(parts, 10, Mode.EVAL, mode_step=0))
        for step in steps:
            for tensor in step.tensors("batches"):
                tensor.record.digests[tensor.name] = 7 + tensor.info.shape[0]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("count", "found"), [(32, []), (50, ["same_batch"])])
    def test_a_few_steps_on_one_batch_adapt_a_model(self, count, found):
        """As those of a task in meta-learning; between full steps far apart it may stay as well."""
        same = {"batches": {"batch/0": np.ones((8, 2))}}
        steps = [step_of({"batches": {"batch/0": np.ones((40, 2))}}, 0, Mode.EVAL)]
        steps += [step_of(same, 1 + at, mode_step=at) for at in range(count) if at < 15 or at > 40]
        for step in steps:
            for tensor in step.tensors("batches"):
                tensor.record.digests[tensor.name] = 7 + tensor.info.shape[0]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize(("trainable", "found"), [(None, ["same_batch"]), (True, [])])
    def test_points_that_a_solution_is_differentiated_at_may_stay(self, trainable, found):
        def batch(n, at, mode):
            one = np.ones((n, 1))
            tensors = [(info("batch/0", "batches", one, trainable=trainable), one)]
            made = record(tensors, step=at, mode=mode, mode_step=max(0, at - 1))
            made.digests["batch/0"] = n
            return StepView([made])

        steps = [batch(40, 0, Mode.EVAL), *(batch(8, at, Mode.TRAIN) for at in range(1, 51))]

        assert found == [one.condition for one in judged("repeated_data", steps)[0]]

    @pytest.mark.parametrize("counts", [[[1] * 8] * 30 + [[1] * 5], [[1] * 5] + [[1] * 8] * 30])
    def test_samples_that_are_told_from_one_another_are_no_classes(self, counts):
        """As in a contrastive loss: there are as many as the batch has samples."""
        assert [] == self._found(counts)

    def test_steps_of_evaluation_are_not_counted_as_training(self):
        counts = {"classes": {"class_count/cross_entropy": np.array([8, 0, 0])}}
        steps = [step_of(counts, at, Mode.EVAL) for at in range(40)]

        found, status = judged("repeated_data", steps)

        assert ([], "NotEvaluated") == (found, status.status)


@pytest.mark.parametrize(
    "spec",
    [
        "weights_moved:ratio=1",
        "weights_moved:ratio=5,ratio_of_one=4",
        "weights_moved:share=0",
        "weights_moved:looks=0",
        "step_size:grown=1",
        "step_size:shrunk=1",
        "step_size:least_step=1",
        "step_size:fall=2",
        "step_size:num_steps=3",
        "loss_direction:consecutive=1",
        "repeated_data:num_steps=1",
        "repeated_data:looks=1",
        "repeated_data:depends=0",
        "input_drift:factor=1",
        "input_drift:first=0",
        "input_drift:consecutive=0",
        "input_scale:size=1",
        "input_scale:outputs=0.5",
        "grad_norm_spike:clip_ratio=0.5",
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused(spec):
    with pytest.raises(ConfigError):
        parse_rules([spec])


class TestSchedules:
    @pytest.mark.parametrize(("until", "found"), [(280, []), (420, ["short learning_rate/0"])])
    def test_a_schedule_that_is_over_is_known_by_few_steps(self, until, found):
        """A budget observes one step in ten; what lies between was no other rate."""
        at = [*range(100), *range(100, until, 10)]
        steps = [
            step_of(
                {
                    "learning_rates": {"learning_rate/0": [max(0.01, 1 - step / 100)]},
                    "loop": {"loop/optimizer_steps": [float(step)]},
                },
                step,
            )
            for step in at
        ]

        assert found == [
            one.condition for one in judged("learning_rate_anomaly:slow_steps=100", steps)[0]
        ]
