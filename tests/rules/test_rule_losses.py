"""The rules on losses, on records by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.rules import StepView, Watch
from tests.support.rules.made_steps import full_step
from tests.support.rules.rule_records import info, loss_steps, record, step_of

nan, inf = math.nan, math.inf


def run(spec, steps):
    engine = Watch(spec)
    found = [finding for step in steps for finding in engine.evaluate(step)]
    return found + engine.finish()


def steps_at(found):
    return [finding.step for finding in found]


class TestLossNotDecreasing:
    def test_the_schedule_is_of_saved_steps(self):
        """Losses of every third step and num_steps 10 are compared at 12, 24, 36."""
        steps = loss_steps([1.0] * 40)[::3]
        (finding,) = run("loss_not_decreasing", steps)
        assert (12, 0) == (finding.step, finding.evidence["since_step"])

    def test_it_is_told_again_only_after_it_fell(self):
        losses = [1.0] * 200 + [0.5] * 200
        found = run("loss_not_decreasing:cooldown_steps=0", loss_steps(losses))
        assert [10, 210] == steps_at(found)

    def test_a_loss_that_is_not_finite_fires(self):
        losses = [1 / (n + 1) for n in range(15)] + [nan] * 10
        found = run("loss_not_decreasing", loss_steps(losses))
        assert ["not finite"] == [finding.evidence["verdict"] for finding in found]

    def test_eval_losses_count_where_there_are_some(self):
        train = [step_of({"losses": {"L": 1.0}}, n, mode_step=n // 2) for n in range(0, 60, 2)]
        evaluation = [step_of({"losses": {"L": 1 / n}}, n, Mode.EVAL, mode_step=n // 2)
                      for n in range(1, 60, 2)]  # fmt: skip
        both = [step for pair in zip(train, evaluation, strict=True) for step in pair]
        assert [] == run("loss_not_decreasing", both)
        assert [20] == steps_at(run("loss_not_decreasing:mode=TRAIN", both))

    @pytest.mark.parametrize("parameters", ["mode=TRAIN", "num_steps=10", "mode=GLOBAL"])
    def test_a_training_that_said_nothing_of_modes_trains(self, parameters):
        """Runs of smdebug have such steps."""
        steps = [step_of({"losses": {"L": 1.0}}, n, Mode.GLOBAL, mode_step=n) for n in range(15)]
        assert [10] == steps_at(run(f"loss_not_decreasing:{parameters}", steps))
        assert [] == run("loss_not_decreasing:mode=EVAL", steps)

    def test_medians_see_through_noise(self):
        noise = np.random.default_rng(0).normal(size=400)
        losses = [2.0 * 0.998**n + 0.3 * x for n, x in enumerate(noise)]
        assert run("loss_not_decreasing", loss_steps(losses))
        assert [] == run("loss_not_decreasing:num_steps=100,smooth=25", loss_steps(losses))

    def test_a_noisy_plateau_is_one_finding(self):
        """Neither a rise nor a fall within the noise of single batches ends it."""
        noise = np.random.default_rng(0).normal(size=3000)
        found = run("loss_not_decreasing:num_steps=100,smooth=25", loss_steps(2.3 + 0.3 * noise))
        assert ["plateau"] == [finding.evidence["verdict"] for finding in found]

    def _turning(self, knots, values):
        """Return the findings of the rule as it runs by default, for a loss by its corners."""
        losses = np.interp(np.arange(knots[-1]), knots, values)
        noise = 1 + 0.02 * np.random.default_rng(0).normal(size=len(losses))
        spec = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9"
        return run(spec, loss_steps(losses * noise))

    @pytest.mark.parametrize(
        ("knots", "values"),
        [
            ([0, 60, 250, 320, 400], [0.09, 0.036, 0.055, 0.088, 0.07]),
            ([0, 30, 100, 250, 300, 600], [3.9, 1.2, 1.2, 2.8, 2.3, 1.7]),
        ],
        ids=["until the end", "for hundreds of steps"],
    )
    def test_a_rise_of_a_loss_that_had_fallen_and_falls_again_is_none(self, knots, values):
        """As where a task becomes harder on purpose, or targets are of a network that moves."""
        assert [] == self._turning(knots, values)

    @pytest.mark.parametrize(
        ("knots", "values", "step"),
        [
            ([0, 60, 150, 500], [1.5, 0.5, 1.3, 2.2], 324),
            ([0, 60, 180, 260], [1.5, 0.5, 1.4, 1.6], 259),
            ([0, 60, 150, 200, 500], [1.5, 0.5, 0.5, 1.3, 1.3], 324),
            ([0, 60, 150, 500], [1.5, 0.5, 0.5, 20.0], 224),
        ],
        ids=["on and on", "at the end", "for good", "far above what it began at"],
    )
    def test_a_rise_of_a_loss_that_had_fallen_is_found_where_it_stays(self, knots, values, step):
        (finding,) = self._turning(knots, values)
        assert ("rose", step) == (finding.evidence["verdict"], finding.step)

    @pytest.mark.parametrize(
        ("ratio", "after", "expected"),
        [(0.2, 4.5, ["lost"]), (0.2, 1.95, []), (0.01, 1.95, [])],
        ids=["lost", "within twice the best", "by steps of usual size"],
    )
    @pytest.mark.parametrize("best", [0.2, 1e-9])
    def test_large_steps_that_throw_away_what_was_learned_are_found(
        self, ratio, after, expected, best
    ):
        """As at the end of a warm-up that goes too high; of next to nothing nothing is lost."""
        expected = expected if best > 0.01 else []
        corners = [1.1, best, best, after * best, 0.7 * after * best]
        losses = np.interp(np.arange(600), [0, 40, 60, 90, 600], corners)
        steps = loss_steps(losses)
        for at in range(11):
            weights = np.ones(4)
            observed = {"weights": {"w": weights}, "gradients": {"gradient/w": weights}}
            updates = {"update_ratio/w": ratio if at == 10 else 1e-3}
            losses_of_step = {"losses": {"L": losses[at]}}
            steps[at] = step_of({**observed, **losses_of_step, "updates": updates}, at)
        spec = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9,diff_percent=0"

        found = [finding.condition for finding in run(spec, steps)]
        assert expected == [one for one in found if one]  # else it rose, as far as is known

    @pytest.mark.parametrize("factor", [1.1, 2.0])
    def test_a_rise_that_no_noise_explains_need_not_wait(self, factor):
        """Told once the last 25 losses are all above the first 25, however far apart they are."""
        losses = [factor**n for n in range(80)]
        (finding,) = run("loss_not_decreasing:num_steps=100,smooth=25", loss_steps(losses))
        assert ("rose", 49) == (finding.evidence["verdict"], finding.step)

    def test_a_loss_that_doubles_is_no_noise(self):
        """Its medians are far apart, and its losses scatter as far around them."""
        losses = [2 - 0.01 * n for n in range(125)] + [2.0**n for n in range(200)]
        found = run("loss_not_decreasing:num_steps=100,smooth=25", loss_steps(losses))
        assert "rose" in [finding.evidence["verdict"] for finding in found]

    def test_a_rise_within_the_noise_waits(self):
        """Batches scatter by more than the loss rose."""
        noise = np.random.default_rng(0).normal(size=80)
        losses = [2 + 0.01 * n + 0.5 * x for n, x in enumerate(noise)]
        assert [] == run("loss_not_decreasing:num_steps=100,smooth=25", loss_steps(losses))

    def test_another_model_is_judged_by_its_own_losses(self):
        """A script that trains one model after the other: the second begins where it begins."""
        first = [
            step_of({"losses": {"L": 1 / (n + 1)}, "gradients": {"gradient/a": [1.0]}}, n)
            for n in range(30)
        ]
        second = [
            step_of({"losses": {"L": 9 / (n + 1)}, "gradients": {"gradient/b": [1.0]}}, 30 + n)
            for n in range(30)
        ]
        assert [] == run("loss_not_decreasing", first + second)

    @pytest.mark.parametrize(("factor", "status"), [(0.9, "NoIssuesFound"), (1.0, "NotEvaluated")])
    def test_a_loss_that_fell_in_a_short_training_has_passed(self, factor, status):
        """Before there are steps enough to compare."""
        losses = loss_steps([2.0 * factor**n for n in range(50)])
        rule = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9"

        watch = Watch(rule)
        for step in losses:
            watch.evaluate(step)
        watch.finish()
        assert status == watch.statuses()[0].status

    @pytest.mark.parametrize(
        ("begins", "verdicts"),
        [([], ["plateau"]), ([1.2] * 10, ["plateau"]), ([2.0] * 10, []), ([1.0], [])],
        ids=["at once", "after a small fall", "converged", "few"],
    )
    def test_a_short_training_whose_loss_does_not_fall_is_found_at_its_end(self, begins, verdicts):
        """There will be no more steps to compare; one that fell by a tenth has learnt something."""
        noise = np.random.default_rng(0).normal(size=120 if len(begins) != 1 else 50)
        losses = [*begins, *(1.1 + 0.01 * noise)]
        rule = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9"
        watch = Watch(rule)
        found = [one for step in loss_steps(losses[:120]) for one in watch.evaluate(step)]
        assert [] == found
        assert verdicts == [one.evidence["verdict"] for one in watch.finish()]

    def test_models_that_take_turns_are_no_others(self):
        """As a generator and its discriminator: what was seen of both stays known."""
        steps = [
            step_of({"losses": {"L": 1.0}, "gradients": {f"gradient/{'ab'[n % 2]}": [1.0]}}, n)
            for n in range(30)
        ]
        assert run("loss_not_decreasing", steps)

    def test_converged_ratio_keeps_it_silent(self):
        losses = [max(2.0 - 0.1 * n, 1.0) for n in range(100)]
        assert run("loss_not_decreasing", loss_steps(losses))
        assert [] == run("loss_not_decreasing:converged_ratio=0.9", loss_steps(losses))

    @pytest.mark.parametrize(
        ("targets", "later", "found"),
        [
            ([0.4, 0.6, 0.8] * 10, [0.4, 0.6, 0.8] * 10, False),
            ([0.0, 1.0] * 15, [0.0, 1.0] * 15, True),
            ([0.0, 1.0] * 15, [0.4, 0.6, 0.8] * 10, True),  # what costs nothing is known from then
        ],
    )
    def test_what_soft_targets_cost_at_best_is_no_part_of_a_fall(self, targets, later, found):
        """Ratings between 0 and 1: a binary cross-entropy of 0.63 is well below that of guesses."""
        name = "binary_cross_entropy"
        steps = [
            step_of(
                {
                    "losses": {f"loss/{name}": [max(0.693 - 0.002 * n, 0.626)]},
                    "predictions": {f"prediction/{name}": [0.5] * len(targets)},
                    "labels": {f"label/{name}": later if n else targets},
                },
                n,
            )
            for n in range(300)
        ]

        assert found == bool(
            run("loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9", steps)
        )

    def test_a_loss_that_fell_at_once_has_converged_too(self):
        """Most of its fall is over before the first losses are smoothed; noise is no fall."""
        rng = np.random.default_rng(0)
        noise = 0.02 * rng.standard_normal(600)
        fast = [2.0 + 3.0 * 0.6**n for n in range(600)]
        rule = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9"

        assert [] == run(rule, loss_steps(np.add(fast, noise).tolist()))
        assert run(rule, loss_steps((2.0 + noise).tolist()))

    @pytest.mark.parametrize(("updates", "found"), [(1, [10]), (2, [])])
    def test_losses_of_optimizers_that_may_be_opposed_are_left_out(self, updates, found):
        """As of a generator and a discriminator: neither loss need fall."""
        steps = [
            step_of({"losses": {"L": [1.0]}, "loop": {"loop/optimizer_steps": [updates * n]}}, n)
            for n in range(12)
        ]
        assert found == steps_at(run("loss_not_decreasing:plain_only=true", steps))
        assert [10] == steps_at(run("loss_not_decreasing", steps))

    def test_they_are_where_one_of_them_steps_more_often(self):
        """As a critic, three times for each step of its generator: most steps are its own."""
        steps = [
            step_of(
                {
                    "losses": {"generator" if n % 3 == 2 else "critic": [1.0]},
                    "loop": {"loop/optimizer_steps": [float(n + n // 3)]},
                },
                n,
            )
            for n in range(60)
        ]
        assert [] == run("loss_not_decreasing:plain_only=true", steps)

    def test_losses_of_models_that_a_script_updates_in_turn_are_left_out(self):
        """As of a generator and a discriminator whose updates no optimizer of torch takes."""
        kinds = {"losses": {"L": [1.0]}, "loop": {"loop/takes_turns": [1.0]}}
        assert [] == run(
            "loss_not_decreasing:plain_only=true",
            [step_of(kinds if n == 3 else {"losses": {"L": [1.0]}}, n) for n in range(15)],
        )

    @pytest.mark.parametrize(("rates", "found"), [(1, [10]), (2, [])])
    def test_losses_of_optimizers_whose_updates_are_not_counted_are_left_out(self, rates, found):
        """As of two tapes in one step, each of which has an optimizer."""
        kinds = {
            "losses": {"loss/loss": 1.0, "loss/loss_1": 1.0},
            "learning_rates": {f"learning_rate/{number}": 0.1 for number in range(rates)},
        }
        steps = [step_of(kinds, n) for n in range(15)]
        rule = "loss_not_decreasing:num_steps=10,plain_only=true"
        assert found * 2 == steps_at(run(rule, steps))

    @pytest.mark.parametrize(("models", "found"), [(5, [104]), (6, [])])
    def test_losses_of_many_models_one_after_the_other_are_left_out(self, models, found):
        """As of copies that meta-learning trains; the last one of five is judged."""
        steps = [
            step_of(
                {"losses": {"L": [1.0]}, "gradients": {f"model{min(n // 10, models - 1)}": [1]}}, n
            )
            for n in range(120)
        ]
        rule = "loss_not_decreasing:num_steps=64,plain_only=true"
        assert found == steps_at(run(rule, steps))

    @pytest.mark.parametrize(
        ("end", "scatter", "found"),
        [(0.6932, 2e-3, ["plateau"]), (0.6932, 2e-2, []), (0.72, 2e-3, []), (0.5, 2e-3, [])],
    )
    def test_what_hardly_rises_is_a_plateau_where_losses_hardly_scatter(self, end, scatter, found):
        """A loss that stays where it is rises as often as it falls; and there may be one look."""
        noise = scatter * np.random.default_rng(0).normal(size=190)
        losses = np.interp(np.arange(190), [0, 40, 60, 190], [0.75, 0.75, 0.693, end]) + noise
        rule = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9,plain_only=true"

        assert found == [one.evidence["verdict"] for one in run(rule, loss_steps(losses))]

    @pytest.mark.parametrize(("boosting", "found"), [("rf", []), ("gbdt", [10])])
    def test_the_loss_of_a_forest_is_left_out(self, boosting, found):
        """Its trees are averaged; other boosted models are judged."""
        begins = {"hyperparameters": {"hyperparameters/boosting": np.array(boosting)}}
        losses = {"losses": {"loss/L": np.float64(1)}}
        steps = [full_step(losses | (begins if n == 0 else {}), n) for n in range(15)]
        assert found == steps_at(run("loss_not_decreasing:plain_only=true", steps))

    @pytest.mark.parametrize(
        ("name", "end", "found"),
        [("boosting/round", 0.95, 0), ("boosting/round", 0.995, 1), ("loop/epoch", 0.95, 1)],
    )
    def test_boosted_trees_add_less_and_less(self, name, end, found):
        """Once their loss has fallen by 1% it may come to rest."""
        losses = np.interp(np.arange(700), [0, 60, 699], [1.0, end, end - 1e-5])
        steps = [
            step_of({"losses": {"train-logloss": [one]}, "boosting": {name: [float(n)]}}, n)
            for n, one in enumerate(losses)
        ]
        rule = "loss_not_decreasing:num_steps=100,smooth=25,converged_ratio=0.9,plain_only=true"

        assert found == len(run(rule, steps))

    @pytest.mark.parametrize(
        ("given", "found"), [([], [10]), ([4], [14]), ([8], [18]), ([2, 4, 6], []), ([3, 12], [22])]
    )
    def test_a_model_that_is_given_other_weights_begins_anew(self, given, found):
        """As a lottery ticket; one that is so again and again learns one task after the other."""
        weights = {"checkpoints": {"checkpoint/given/Net": [5.0]}}
        steps = [
            step_of({"losses": {"L": [1.0]}, **(weights if n in given else {})}, n)
            for n in range(24)
        ]
        assert found[:1] == steps_at(run("loss_not_decreasing:plain_only=true", steps))[-1:]

    def test_a_loss_that_was_negative_is_left_out(self):
        """A policy gradient's may do what it likes; and that is said."""
        engine = Watch("loss_not_decreasing:plain_only=true")
        found = [one for step in loss_steps([-0.1] + [1.0] * 30) for one in engine.evaluate(step)]
        engine.finish()
        assert [] == found
        assert "was negative" in engine.statuses()[0].details

    @pytest.mark.parametrize(("whole", "found"), [(-0.1, []), (1.5, [10])])
    def test_a_term_of_what_was_negative_is_left_out(self, whole, found):
        """As of a likelihood whose normalizing constant is no function of torch."""
        steps = [
            step_of({"losses": {"L": [1.0]}, "loop": {"loop/objective": [whole]}}, n)
            for n in range(12)
        ]
        assert found == steps_at(run("loss_not_decreasing:plain_only=true", steps))

    @pytest.mark.parametrize(("weight", "found"), [(10.0, []), (1.0, ["H"])])
    def test_a_term_may_rise_where_what_is_minimized_is_learned(self, weight, found):
        """As labels in a distillation; of a sum without weights it is told."""
        steps = []
        for n in range(12):
            hard, soft = 1 + n / 40, 0.9**n / 2
            values = {"losses": {"H": [hard], "S": [soft]}}
            values["loop"] = {"loop/objective": [hard + weight * soft]}
            steps.append(step_of(values, n))

        told = run("loss_not_decreasing:plain_only=true,converged_ratio=0.9", steps)
        assert found == [one.tensor for one in told]

    def test_a_loss_that_is_a_small_part_is_left_out(self):
        """What is learnt is what makes the large one smaller."""
        steps = [step_of({"losses": {"L": [50.0 / (n + 1)], "S": [0.1]}}, n) for n in range(12)]
        assert [] == run("loss_not_decreasing:plain_only=true", steps)
        assert ["S"] == [one.tensor for one in run("loss_not_decreasing", steps)]

    def test_workers_are_averaged(self):
        steps = [
            StepView([step_of({"losses": {"L": loss}}, n, worker=f"worker_{w}").records[0]
                      for w, loss in enumerate((1 - n / 40, 1 + n / 40))])
            for n in range(12)
        ]  # fmt: skip
        assert [10] == steps_at(run("loss_not_decreasing", steps))

    def test_only_scalars_are_losses(self):
        steps = [step_of({"losses": {"L": [1.0, 1.0]}}, n) for n in range(20)]
        assert [] == run("loss_not_decreasing", steps)


_BEGINS = {"optimizer/begins": [1.0]}


class TestLossSpike:
    def losses(self, after, spike=3.2, *, sixth=2.5):
        noise = 0.02 * np.random.default_rng(0).normal(size=700)
        level = np.where(np.arange(700) > 300, after, 2.5)
        losses = level + noise
        losses[300], losses[5] = spike, sixth
        return loss_steps(losses)

    def test_the_reference_spike(self):
        assert [300] == steps_at(run("loss_spike", self.losses(2.5)))

    @pytest.mark.parametrize(("begins", "found"), [(300, []), (100, [300])])
    def test_a_loss_of_another_training_is_no_spike(self, begins, found):
        """As where a script of no known models goes on with other data and another optimizer."""
        steps = self.losses(3.2)
        steps[begins] = step_of(
            {"losses": {"loss/L": [3.2 if begins == 300 else 2.5]}, "optimizer": _BEGINS}, begins
        )
        assert found == steps_at(run("loss_spike", steps))[:1]

    def test_a_small_rise_is_none_however_quiet_the_loss(self):
        assert [] == run("loss_spike", self.losses(2.5, spike=2.7))

    def test_it_is_a_warning_only_above_all_that_the_loss_began_with(self):
        """One of the first losses was higher, as some are before anything is learned."""
        for sixth, severity in ((2.5, "warning"), (3.5, "info")):
            found = run("loss_spike", self.losses(2.5, sixth=sixth))

            assert [severity] == [one.severity for one in found]

    @pytest.mark.parametrize(("targets", "severity"), [(1, "info"), (2, "warning")])
    def test_a_loss_of_one_target_is_no_mean(self, targets, severity):
        """As in online learning: one surprising sample is no fault of the training."""
        label = {"labels": {"label/L": np.zeros(targets)}}
        found = run("loss_spike", [step_of({"losses": {"loss/L": 2.5}, **label}, 0)] + [
            step_of({"losses": {"loss/L": float(one)}}, at)
            for at, one in enumerate(2.5 + 0.02 * np.sin(np.arange(300)), 1)
        ] + [step_of({"losses": {"loss/L": 3.2}}, 301)])  # fmt: skip

        assert [severity] == [one.severity for one in found]

    @pytest.mark.parametrize("end", [302, 520])
    @pytest.mark.parametrize(("after", "severity"), [(-1.0, "info"), (0.5, "warning")])
    def test_of_a_loss_below_zero_a_lone_jump_is_information(self, after, severity, end):
        """A log density has heavy tails; what harms the model shows in the losses after it."""
        losses = -1 + 0.1 * np.random.default_rng(0).normal(size=520)
        losses[301:] += after + 1
        losses[300] = 4.0
        found = run("loss_spike", loss_steps(losses[:end]))

        assert (300, severity) == (found[0].step, found[0].severity)
        assert all("stayed up" in one.message for one in found[1:])

    def test_of_a_loss_below_zero_nothing_after_it_is_a_warning(self):
        """Nobody knows what became of it."""
        losses = [*(-1 + 0.1 * np.random.default_rng(0).normal(size=300)), 4.0]

        assert ["warning"] == [one.severity for one in run("loss_spike", loss_steps(losses))]

    def test_nothing_is_said_in_the_warm_up(self):
        assert [] == run("loss_spike:warmup_steps=301", self.losses(2.5))

    @pytest.mark.parametrize(("after", "what"), [(2.9, "stayed up"), (4.0, "diverged")])
    def test_what_became_of_it_is_told_at_the_horizon(self, after, what):
        found = run("loss_spike", self.losses(after))
        assert any(what in finding.message and finding.step == 500 for finding in found)

    @pytest.mark.parametrize(
        ("before", "spike", "after", "found"),
        [
            (0.005, 1.1, 0.011, [300]),
            (0.005, 1.1, 0.15, [300, 500]),
            (0.003, 0.3, 0.02, [300]),
            (0.005, 0.3, 0.05, [300, 500]),
            (0.2, 2.0, 0.5, [300, 500]),
            (0.005, 0.3, 0.4, [300, 500]),
        ],
        ids=["nearly all", "less", "most of a small one", "less of it", "of a part", "none"],
    )
    def test_a_small_loss_that_is_most_of_the_way_back_has_not_stayed_up(
        self, before, spike, after, found
    ):
        """As after weights were set back: it converges anew, if not yet to where it was before."""
        noise = np.exp(0.1 * np.random.default_rng(0).normal(size=700))
        level = np.where(np.arange(700) > 300, after, before)
        level[:20] = 2.3
        level[300] = spike
        losses = loss_steps(level * noise)

        assert found == steps_at(run("loss_spike:min_rise=1,of_first=0.1", losses))

    @pytest.mark.parametrize(
        ("after", "severities"),
        [(2.5, []), (2.9, []), (4.0, ["error"])],
    )
    def test_of_the_values_of_actions_only_a_loss_that_diverged_is_reported(
        self, after, severities
    ):
        """Their targets move when a target network is copied; a loss that diverged is an error."""
        steps = self.losses(after)
        steps[3] = step_of({"losses": {"L": 2.5}, "policy": {"value/target": [1.0, 2.0]}}, 3)
        found = run("loss_spike", steps)

        assert severities == [one.severity for one in found]

    def staged(self, *, length_of, full_every=1, spike_at=300):
        """Return steps whose sequences have a length, with a loss that jumps at one of them."""
        noise = 0.02 * np.random.default_rng(0).normal(size=520)
        steps = []
        for at in range(520):
            kinds = {"losses": {"L": [4.0 if at == spike_at else 2.5 + noise[at]]}}
            if at % full_every == 0:
                kinds["batches"] = {"batch": np.ones((4, length_of(at)))}
            steps.append(step_of(kinds, at))
        return steps

    @pytest.mark.parametrize("full_every", [1, 40])
    def test_a_jump_as_the_batches_become_longer_is_information(self, full_every):
        """A new stage of a curriculum; the next full step shows it."""
        steps = self.staged(length_of=lambda at: 5 if at < 300 else 8, full_every=full_every)
        (found,) = run("loss_spike", steps)

        assert (300, "info") == (found.step, found.severity)
        assert "a new stage of training began" in found.message

    @pytest.mark.parametrize("full_every", [1, 40, 1000])
    def test_a_jump_with_batches_as_before_is_a_warning(self, full_every):
        """Also where no full step comes after it."""
        (found,) = run("loss_spike", self.staged(length_of=lambda _: 5, full_every=full_every))

        assert (300, "warning") == (found.step, found.severity)

    def test_batches_that_always_differ_excuse_nothing(self):
        """As those that are padded to the longest of each."""
        (found,) = run("loss_spike", self.staged(length_of=lambda at: 5 + at))

        assert "warning" == found.severity

    def test_a_length_that_was_there_before_is_no_new_stage(self):
        lengths = {10: 8, **dict.fromkeys(range(300, 520), 8)}
        (found,) = run("loss_spike", self.staged(length_of=lambda at: lengths.get(at, 5)))

        assert "warning" == found.severity

    def test_batches_near_zero_differ_by_orders_of_magnitude(self):
        losses = 0.01 * np.exp(np.random.default_rng(0).normal(size=3000))
        assert [] == run("loss_spike:over_window=3", loss_steps(losses))


class TestOverfit:
    def rounds(self, pairs, *, train=2, evaluation=1, names=("L", "L")):
        steps = []
        for t, v in pairs:
            for mode, name, loss, times in (
                (Mode.TRAIN, names[0], t, train),
                (Mode.EVAL, names[1], v, evaluation),
            ):
                for _ in range(times):
                    steps.append(step_of({"losses": {name: loss}}, len(steps), mode))
        return steps

    def test_fires_at_the_first_step_after_the_second_bad_round_in_a_row(self):
        """The rounds of a run in the field: 209 + 27 steps, ratios .06, .19, .32, step 1416."""
        ratios = [-0.63, -0.17, -0.06, 0.06, 0.19, 0.32, 0.4]
        steps = self.rounds([(1.0, 1 + r) for r in ratios], train=209, evaluation=27)
        (finding,) = run("overfit", steps)
        assert (1416, 0.32) == (finding.step, pytest.approx(finding.value))
        assert "for 2 rounds in a row" in finding.message

    def test_the_last_round_counts_at_the_end_of_training(self):
        assert [5] == steps_at(run("overfit", self.rounds([(1.0, 2.0)] * 2)))

    def test_a_good_round_starts_the_count_again(self):
        pairs = [(1.0, 2.0), (1.0, 1.0)] * 4
        assert [] == run("overfit", self.rounds(pairs))

    def test_evaluation_before_training_is_ignored(self):
        sanity = step_of({"losses": {"L": 9.0}}, 0, Mode.EVAL)
        assert [] == run("overfit:patience=0", [sanity, *self.rounds([(1.0, 1.0)])])

    def test_nan_in_validation_is_bad_and_in_training_is_passed_over(self):
        assert run("overfit", self.rounds([(1.0, nan)] * 2))
        assert [] == run("overfit", self.rounds([(nan, 1.0)] * 5))

    def test_start_step_is_of_the_rounds_first_step(self):
        pairs = [(1.0, 2.0)] * 3
        assert [6] == steps_at(run("overfit:start_step=0", self.rounds(pairs)))
        assert [8] == steps_at(run("overfit:start_step=1", self.rounds(pairs)))

    def test_two_names_are_compared_if_each_is_the_only_one(self):
        assert run("overfit", self.rounds([(1.0, 2.0)] * 2, names=("train", "val")))

    def test_rising_by_asks_for_a_validation_loss_that_rises(self):
        falls = [(0.5 / n, 1.0 / n) for n in range(1, 8)]
        assert run("overfit", self.rounds(falls))
        assert [] == run("overfit:rising_by=0.1", self.rounds(falls))

    FALLS = (0.3, 0.25, 0.2, 0.17, 0.15)

    def test_a_gap_with_a_validation_loss_that_rests_is_information(self):
        """A model that generalizes may do better on what it was trained on."""
        rests = (1.0, 0.91, 0.9, 0.905, 0.902)
        found = run("overfit", self.rounds(zip(self.FALLS, rests, strict=True)))
        assert ["info"] == [one.severity for one in found]

    def test_a_validation_loss_that_rises_is_a_warning(self):
        """It is told after the gap was, once more."""
        rises = (0.5, 0.5, 0.5, 0.6, 0.7)
        found = run("overfit", self.rounds(zip(self.FALLS, rises, strict=True)))
        assert ["info", "warning"] == [one.severity for one in found]

    def test_a_validation_loss_that_comes_down_again_does_not_rise(self):
        """As after a few updates that were too large: the best of it is still to come."""
        jumps = [(0.1, loss) for loss in (0.5, 0.1, 0.12, 0.6, 0.4, 0.3, 0.2, 0.15)]
        (gap,) = run("overfit:patience=3,rising_by=0.1", self.rounds(jumps))
        assert "info" == gap.severity

    def test_one_that_rises_with_the_training_loss_is_no_overfitting(self):
        both = [(0.3, 0.4), (0.2, 0.3), (0.1, 0.2), (0.2, 0.4), (0.4, 0.7), (0.6, 1.0)]
        assert ["info"] == [one.severity for one in run("overfit", self.rounds(both))]

    @pytest.mark.parametrize(
        ("validation", "found"),
        [((0.7, 0.9, 1.2, 1.1, 0.6, 0.3), ["info"]), ((0.7, 0.9, 1.0, 1.2, 1.3, 1.5), ["warning"])],
        ids=["comes down", "stays up"],
    )
    def test_moving_statistics_of_keras_take_their_time(self, validation, found):
        """They begin at 0 and 1, far from those of batches, which training normalizes by."""
        steps = self.rounds([(0.5 / n, loss) for n, loss in enumerate(validation, 1)])
        moving = {"losses": {"L": 0.5}, "buffers": {"batch_normalization/moving_variance": 1.0}}
        steps[0] = step_of(moving, 0, Mode.TRAIN)

        assert found == [one.severity for one in run("overfit", steps)]

    @pytest.mark.parametrize(
        ("rises", "first", "found"),
        [(False, 0.2, []), (True, 0.2, ["warning"]), (True, 1.5, [])],
        ids=["stays", "rises", "rises, and training began higher"],
    )
    def test_where_only_training_is_weighted_only_a_rise_counts(self, rises, first, found):
        """Weights of classes make the training loss another one than that of validation.

        They move predictions away from how frequent classes are, which validation pays for.
        """
        validation = (0.9, 0.8, 0.7, 0.8, 0.9, 1.1) if rises else (0.9, 0.8, 0.7, 0.71, 0.69, 0.7)
        steps = []
        for loss in validation:
            trained = 0.2 if steps else first
            weighted = {"losses": {"loss/L": trained}, "setup": {"setup/weighted/L": 1.0}}
            steps.append(step_of(weighted, len(steps), Mode.TRAIN))
            steps.append(step_of({"losses": {"loss/L": loss}}, len(steps), Mode.EVAL))
        assert found == [one.severity for one in run("overfit", steps)]

    def test_without_evaluation_it_is_not_green(self):
        engine = Watch("overfit")
        for step in loss_steps([1.0] * 9):
            engine.evaluate(step)
        engine.finish()
        (status,) = engine.statuses()
        assert ("NotEvaluated", True) == (status.status, "9 TRAIN and 0 EVAL" in status.details)


def _slide(start, end, steps=150):
    """Return numbers that go from one to another, the faster the farther away, with some noise."""
    at = np.arange(steps)
    noise = np.random.default_rng(0).normal(size=steps) * 0.03 * abs(start - end)
    return end + (start - end) * np.exp(-at / 30) + noise


def _dips(steps=150):
    """An accuracy that is high as all are called negative, falls, and comes again."""
    return np.interp(np.arange(steps), [0, 20, 60, steps], [0.95, 0.3, 0.5, 0.9])


class TestLossAndMetrics:
    def _found(self, metrics, loss=(0.5, 0.02), *, others=()):
        steps = []
        losses = _slide(*loss)
        for at, value in enumerate(losses):
            kinds = {"losses": {"loss/loss": value} | {f"loss/{name}": 1.0 for name in others}}
            kinds["metrics"] = {f"metric/{name}": values[at] for name, values in metrics.items()}
            steps.append(step_of(kinds, at))
        return run("loss_direction:cooldown_steps=1000", steps)

    @pytest.mark.parametrize(
        "metrics",
        [
            {"binary_accuracy": _slide(0.9, 0.08)},
            {"train/mean_iou": _slide(0.5, 0.01), "val/loss": _slide(0.5, 0.2)},
            {"auc": _slide(0.8, 0.1), "dice": _slide(0.6, 0.05)},
        ],
        ids=["accuracy", "logged", "two"],
    )
    @pytest.mark.parametrize("loss", [(0.5, 0.02), (-0.02, -0.9)])
    def test_a_metric_that_falls_with_the_loss_is_found(self, metrics, loss):
        """Both to a fraction; a loss may be below 0."""
        (finding,) = self._found(metrics, loss)

        assert "against_metric" == finding.condition
        assert "1 - score" in finding.remedy

    @pytest.mark.parametrize(
        ("metrics", "loss"),
        [
            ({"accuracy": _slide(0.5, 0.95)}, (0.5, 0.02)),
            ({"accuracy": _slide(0.95, 0.6)}, (0.7, 0.3)),
            ({"accuracy": _dips()}, (0.7, 0.1)),
            ({"mean_iou": _slide(0.1, 0.0)}, (0.7, 0.1)),
            ({"domain_accuracy": _slide(1.0, 0.5)}, (0.9, 0.4)),
            ({"accuracy": _slide(0.9, 0.1), "auc": _slide(0.5, 0.9)}, (0.7, 0.1)),
            ({"val/accuracy": _slide(0.9, 0.1)}, (0.7, 0.1)),
            ({"accuracy": _slide(0.9, 0.1)}, (0.2, 2.0)),
            ({"accuracy": _slide(0.9, 0.1)}, (0.50, 0.45)),
            ({"mae": _slide(0.9, 0.1)}, (0.7, 0.1)),
        ],
        ids=[
            "rises", "a rare class that is weighted", "dips", "an IoU that was low", "adversary",
            "another rises", "of validation", "a loss that rises", "a loss that stays", "an error",
        ],
    )  # fmt: skip
    def test_what_falls_for_another_reason_is_let_be(self, metrics, loss):
        assert [] == self._found(metrics, loss)

    @pytest.mark.parametrize(
        ("f1", "loss", "conditions"),
        [
            ([0.0, 0.0, 0.0], (0.5, 0.02), ["zero_metric"]),
            ([0.0, 0.0, 0.1], (0.5, 0.02), []),
            ([0.1, 0.0, 0.0], (0.5, 0.02), []),
            ([0.0, 0.0], (0.5, 0.02), []),
            ([0.0, 0.0, 0.0], (0.5, 0.4), []),
        ],
        ids=["zero", "not at last", "not at first", "twice", "a loss that stays"],
    )
    def test_a_metric_that_is_0_while_the_loss_falls_is_found(self, f1, loss, conditions):
        """As that of an argmax over one column, in the evaluations of a trainer."""
        steps, left = [], list(f1)
        for at, value in enumerate(_slide(*loss)):
            steps.append(step_of({"losses": {"loss/loss": value}}, len(steps), mode_step=at))
            if at % 40 == 39 and left:
                kinds = {"losses": {"loss/eval": value}, "metrics": {"metric/eval_f1": left.pop(0)}}
                steps.append(step_of(kinds, len(steps), Mode.EVAL))

        found = run("loss_direction:cooldown_steps=1000", steps)
        assert conditions == [one.condition for one in found]

    def test_a_loss_that_is_one_of_several_is_not_judged(self):
        assert [] == self._found({"accuracy": _slide(0.9, 0.1)}, others=["mse_loss"])


class TestWindingDown:
    @pytest.mark.parametrize(("last", "found"), [(1.0, True), (0.01, False)])
    def test_a_plateau_as_the_learning_rate_comes_to_its_end(self, last, found):
        """The loss rests where it is, which is not low for a contrastive one."""
        rules = ["loss_not_decreasing:num_steps=40,smooth=5,converged_ratio=0.5,plain_only=true"]
        steps = [
            step_of(
                {
                    "losses": {"loss/L": max(4.0, 5.0 - at / 50)},
                    "learning_rates": {"learning_rate/0": 1.0 if at < 60 else last},
                },
                at,
            )
            for at in range(150)
        ]

        assert found == bool(run(rules, steps))


class TestUphill:
    """Weights that a script moves by hand, of a loss that is the sum of their squares."""

    def found(self, move, *, groups=None, count=12):
        """Return the conditions found; ``move`` returns the change of weights of a gradient."""
        weights, steps = np.array([[0.5, -0.4], [0.3, 0.9]]), []
        for at in range(count):
            gradients = 2 * weights
            tensors = [(info("loss/L", "losses"), float((weights**2).sum()))]
            for number, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                held = info(f"w{number}", "weights", weight, optimizer_groups=groups)
                tensors += [(held, weight), (info(f"gradient/w{number}", "gradients"), gradient)]
            steps.append(StepView([record(tensors, step=at)]))
            weights = weights + move(gradients, at)
        return [one.condition for one in run("loss_direction", steps)]

    def test_a_step_with_the_wrong_sign(self):
        assert ["uphill"] == self.found(lambda gradient, _: 0.1 * gradient)

    def test_so_it_is_after_a_warm_up_that_begins_at_a_rate_of_0(self):
        assert ["uphill"] == self.found(lambda gradient, at: 0.1 * gradient * (at > 0))

    def test_a_step_that_is_too_far_has_the_right_one(self):
        """It overshoots, and the loss rises all the same."""
        assert [] == self.found(lambda gradient, _: -1.2 * gradient)

    def test_so_has_one_that_goes_too_far_later_on(self):
        assert [] == self.found(lambda gradient, at: gradient * (0.3 if at > 1 else -0.1))

    def test_an_optimizer_knows_its_sign(self):
        assert [] == self.found(lambda gradient, _: 0.1 * gradient, groups=1)
