"""Learning rates that compound, and warm-ups that a training ends in; by numbers alone."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch.optim import lr_scheduler

from stepwatch.model.steps import Mode
from stepwatch.rules import Watch
from tests.support.rules.made_steps import judged
from tests.support.rules.rule_records import step_of

RULE = "learning_rate_anomaly"
ALL = 400


def rates_of(make, count=ALL, start=0.1):
    """Return the learning rates that a schedule of torch sets, one for each of its steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=start)
    schedule = make(optimizer)
    rates = []
    for _ in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def compounded(factor, count=ALL, start=0.1, first=0):
    """Return rates each of which is the one before times ``factor ** (epoch - first)``."""
    rates = [start]
    for epoch in range(1, count):
        rates.append(rates[-1] * factor ** (epoch - first))
    return rates


def conditions(rates, epoch=1, observed=lambda _: True):
    """Return the conditions that the rule finds, where each rate is that of an epoch of steps."""
    steps = [
        step_of({"learning_rates": {"learning_rate/0": [rates[step // epoch]]}}, step)
        for step in range(len(rates) * epoch)
        if observed(step)
    ]
    return {one.condition.partition(" ")[0] for one in judged(RULE, steps)[0]}


SCHEDULES = {
    "cosine": partial(lr_scheduler.CosineAnnealingLR, T_max=ALL),
    "cosine of a few": partial(lr_scheduler.CosineAnnealingLR, T_max=30),
    "cosine to a tenth": partial(lr_scheduler.CosineAnnealingLR, T_max=ALL, eta_min=1e-3),
    "restarts": partial(lr_scheduler.CosineAnnealingWarmRestarts, T_0=40),
    "line": partial(lr_scheduler.LinearLR, start_factor=1.0, end_factor=0.0, total_iters=ALL),
    "polynomial": partial(lr_scheduler.PolynomialLR, total_iters=ALL, power=2.0),
    "root": partial(lr_scheduler.PolynomialLR, total_iters=ALL, power=0.5),
    "exponential": partial(lr_scheduler.ExponentialLR, gamma=0.97),
    "steep exponential": partial(lr_scheduler.ExponentialLR, gamma=0.5),
    "steps": partial(lr_scheduler.StepLR, step_size=20, gamma=0.3),
    "milestones": partial(lr_scheduler.MultiStepLR, milestones=[50, 90, 120, 140, 150, 155, 157]),
    "one cycle": partial(lr_scheduler.OneCycleLR, max_lr=0.1, total_steps=ALL + 1),
    "one cycle of lines": partial(
        lr_scheduler.OneCycleLR, max_lr=0.1, total_steps=ALL + 1, anneal_strategy="linear"
    ),
    "cycles": partial(lr_scheduler.CyclicLR, base_lr=1e-4, max_lr=0.1, step_size_up=30),
    "inverse root": partial(
        lr_scheduler.LambdaLR, lr_lambda=lambda at: min((at + 1) / 50, (50 / (at + 1)) ** 0.5)
    ),
    "one over time": partial(lr_scheduler.LambdaLR, lr_lambda=lambda at: 1 / (1 + at)),
    "sigmoid": partial(
        lr_scheduler.LambdaLR, lr_lambda=lambda at: 1 / (1 + math.exp((at - 200) / 20))
    ),
    "one minus root": partial(
        lr_scheduler.LambdaLR, lr_lambda=lambda at: 1 - math.sqrt(min(1.0, at / ALL))
    ),
    "exponential with warm-up": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [
            lr_scheduler.LinearLR(optimizer, start_factor=1e-3, total_iters=20),
            lr_scheduler.ExponentialLR(optimizer, gamma=0.95),
        ],
        milestones=[20],
    ),
    "cosine with warm-up": lambda optimizer: lr_scheduler.SequentialLR(
        optimizer,
        [
            lr_scheduler.LinearLR(optimizer, start_factor=1e-3, total_iters=20),
            lr_scheduler.CosineAnnealingLR(optimizer, T_max=ALL - 20),
        ],
        milestones=[20],
    ),
}

#: All steps, and as a budget observes them.
OBSERVED = {
    "all": lambda _: True,
    "thinning": lambda step: (
        step < 90 or (step < 250 and not step % 10) or (step < 1800 and not step % 20)
        or not step % 264
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestCompounded:
    @pytest.mark.slow
    @pytest.mark.parametrize("observed", OBSERVED.values(), ids=OBSERVED)
    @pytest.mark.parametrize("epoch", [1, 5, pytest.param(50, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("name", SCHEDULES)
    def test_schedules_do_not(self, name, epoch, observed):
        """Whatever shape they have, however long, and wherever a budget observes them."""
        assert "compounded" not in conditions(rates_of(SCHEDULES[name]), epoch, observed)

    @pytest.mark.slow
    @pytest.mark.parametrize("count", [2_000, pytest.param(50_000, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
    def test_long_schedules_look_even_over_a_few_changes_only(self, power, count):
        """Of a cosine of many steps neighbouring changes are alike to within nothing."""
        cosine = [(0.5 + 0.5 * math.cos(math.pi * at / count)) ** power for at in range(count)]
        assert "compounded" not in conditions(cosine)

    @pytest.mark.parametrize("observed", OBSERVED.values(), ids=OBSERVED)
    @pytest.mark.parametrize("epoch", [1, 50])
    @pytest.mark.parametrize("first", [0, 2])
    def test_a_decay_of_the_current_rate_does(self, first, epoch, observed):
        """Where it rises at first as well."""
        rates = compounded(math.exp(-0.05), 40, first=first)

        assert "compounded" in conditions(rates, epoch, observed)

    def test_in_32_bits_it_does(self):
        """As optimizers of Keras hold it."""
        rates = torch.tensor(compounded(math.exp(-0.05), 40, first=2)).tolist()

        assert "compounded" in conditions(rates, 10)

    def test_the_message_has_the_factor(self):
        """And the finding comes once the rate is a twentieth of the largest."""
        steps = [
            step_of({"learning_rates": {"learning_rate/0": [rate]}}, step)
            for step, rate in enumerate(compounded(0.9, 20))
        ]
        found = [one for one in judged(RULE, steps)[0] if one.condition.startswith("compounded")]

        assert [8] == [one.step for one in found]
        assert "0.9 times the last" in found[0].message
        assert "initial" in found[0].remedy


def waiting(scheduled, total=None, steps=701, falls=False, before=0):
    """Return what a rule finds at the end of a run whose schedule was stepped once an epoch.

    Args:
        falls: Beside another optimizer without one.
        before: So many steps of optimizers were taken before it was made.
    """
    watch = Watch(RULE)
    for step in range(0, steps, 10):
        loop = {
            "loop/optimizer_steps": float(step + 1),
            "loop/scheduler_steps": float(scheduled * step // steps),
            "loop/backwards": 1.0,
            "loop/schedulers": 1.0,
            "loop/scheduler_level": 0.05,
        }
        if total:
            loop["loop/scheduler_total"] = float(total)
        if before:
            loop["loop/unscheduled_steps"] = float(before)
        rates = {"learning_rate/0": [0.01 * 0.95 ** (scheduled * step // steps) if falls else 0.01]}
        if falls:
            rates["learning_rate/1"] = [0.01]
        watch.evaluate(step_of({"learning_rates": rates, "loop": loop}, step, Mode.TRAIN))
    return [(one.condition, one.severity) for one in watch.finish()]


class TestSlowAtEnd:
    @pytest.mark.parametrize(
        ("scheduled", "total", "is_found"),
        [
            (15, None, True),
            (15, 705, True),
            (5, 705, True),  # 4 steps of a schedule that was made for the steps
            (5, 40, False),  # stopped early, it may have been on its way
            (4, None, False),
        ],
    )
    def test_a_training_that_ends_in_its_warm_up(self, scheduled, total, is_found):
        """Is found once it is over, and once: on the way it might still have come."""
        assert ([("slow_at_end", "warning")] if is_found else []) == waiting(scheduled, total)

    def test_steps_before_there_was_a_schedule_are_not_its_own(self):
        """As those of a first stage, in a training that is broken off in a warm-up."""
        assert [] == waiting(15, before=690)

    def test_a_rate_that_falls_is_in_no_warm_up(self):
        """A training that was resumed, and knows what its schedule began with."""
        assert [] == waiting(15, falls=True)


def of_function(function, scheduled, rate=1e-3, every=1):
    """Return what is found of a schedule of so many steps, each after some of the optimizer."""
    watch, found, most = Watch(RULE), [], 0.0
    for step in range(scheduled * every + 1):
        factor = function(step // every)
        most = max(most, factor)
        loop = {
            "loop/optimizer_steps": float(step + 1),
            "loop/scheduler_steps": float(step // every),
            "loop/schedulers": 1.0,
            "loop/scheduler_level": factor,
        }
        if math.isclose(most, rate):
            loop["loop/rate_for_factor"] = rate
        tensors = {"learning_rates": {"learning_rate/0": [rate * factor]}, "loop": loop}
        found += watch.evaluate(step_of(tensors, step, Mode.TRAIN))
    return [one.condition for one in [*found, *watch.finish()]]


class TestRateForFactor:
    """A function of ``LambdaLR`` returns 0.001, and the initial rate is 0.001."""

    @pytest.mark.parametrize("every", [1, 22])
    @pytest.mark.parametrize(
        "function",
        [
            lambda epoch: 1e-3 * 0.95**epoch,
            lambda epoch: 1e-3 * min(1.0, (epoch + 1) / 3) * 0.99 ** max(0, epoch - 2),
            lambda _: 1e-3,
        ],
        ids=["a decay", "a warm-up and a decay", "a constant"],
    )
    def test_a_rate_is_no_factor_of_itself(self, function, every):
        assert ["rate_for_factor"] == of_function(function, 10, every=every)

    @pytest.mark.parametrize(
        "function",
        [lambda step: (step + 1) / 1000, lambda step: 0.99**step, lambda step: 0.5 * 0.99**step],
        ids=["a warm-up from there", "a decay", "half of it"],
    )
    def test_a_factor_is_right(self, function):
        assert "rate_for_factor" not in of_function(function, 50)


def ended(rates, *, level=None, every=1, epoch=1):
    """Return what is found at the end, of rates known at all steps and schedules at some.

    Args:
        level: What the rate is of what the schedule is for; ``None`` for an unknown schedule.
        every: At every so many steps the schedule is known, of the first 60.
        epoch: The schedule is stepped after so many steps of the optimizer.
    """
    watch = Watch(RULE)
    for step, rate in enumerate(rates):
        kinds = {"learning_rates": {"learning_rate/0": [rate]}}
        if level is not None and step < 60 and step % every == 0:
            names = ("optimizer_steps", "scheduler_steps", "backwards", "schedulers")
            kinds["loop"] = dict(
                zip(
                    [f"loop/{name}" for name in names],
                    [step + 1.0, (step + 1.0) // epoch, 1.0, 1.0],
                    strict=False,
                )
            ) | {"loop/scheduler_level": level(rate)}
        watch.evaluate(step_of(kinds, step, Mode.TRAIN))
    return [one.condition.partition(" ")[0] for one in watch.finish()]


class TestClimbing:
    """A warm-up is counted in steps, and the schedule is stepped once an epoch."""

    @pytest.mark.parametrize(
        ("warm_up", "epoch", "found"),
        [(60, 20, ["slow_at_end"]), (10, 20, []), (20, 20, []), (60, 5, [])],
        ids=["a fifth of the way", "at its end", "more than half of the way", "often stepped"],
    )
    def test_where_the_rate_climbs_to_the_end_and_is_not_half_way(self, warm_up, epoch, found):
        rates = [0.05 * min(1.0, (step // epoch + 1) / warm_up) for step in range(12 * epoch)]
        assert found == ended(rates, level=lambda rate: rate / 0.05, epoch=epoch)

    def test_a_low_rate_that_stays_is_meant(self):
        rates = [0.05 * min(0.2, (step // 20 + 1) / 20) for step in range(240)]
        assert [] == ended(rates, level=lambda rate: rate / 0.05, epoch=20)


class TestLongWarmUp:
    """Warm-up steps are counted in steps of the optimizer, 10,000 of which never come."""

    def rates(self, warm_up, count=300, peak=1e-3):
        return [peak * min(1.0, (step + 1) / warm_up) for step in range(count)]

    @pytest.mark.parametrize(("warm_up", "found"), [(10_000, ["long_warm_up"]), (200, [])])
    def test_a_training_that_is_over_before(self, warm_up, found):
        assert found == ended(self.rates(warm_up), level=lambda rate: rate / 1e-3)

    def test_a_schedule_that_sets_the_rate_alone(self):
        """As that of the first Transformer, whose optimizer has a rate of 1."""
        rates = [0.02 * step for step in self.rates(4000)]
        assert [] == ended(rates, level=lambda rate: rate)


class TestEarly:
    """Milestones of epochs that are taken for steps."""

    @pytest.mark.parametrize(
        ("milestones", "found"),
        [((12, 17), ["early"]), ((20, 30), ["early"]), ((120, 170), []), ((12,), [])],
    )
    def test_all_lie_at_the_very_beginning(self, milestones, found):
        rates = [0.1 * 0.2 ** sum(step >= one for one in milestones) for step in range(ALL)]
        assert found == ended(rates)


class TestNegative:
    """A line is not cut off at zero: beyond its end the loss is made larger."""

    def line(self, length):
        return partial(lr_scheduler.LambdaLR, lr_lambda=lambda step: 1 - step / length)

    @pytest.mark.parametrize("epoch", [1, 5])
    def test_a_line_beyond_its_end(self, epoch):
        assert {"negative"} == conditions(rates_of(self.line(60), count=100), epoch)

    def test_a_line_that_ends_with_the_training(self):
        assert not conditions(rates_of(self.line(100), count=100))

    def test_a_sign_that_is_kept_is_meant(self):
        """As where something is to be made larger."""
        assert not conditions([-0.1] * 100)


class TestShort:
    """Schedules whose epochs are taken for steps: they are over before the training has begun."""

    def cosine(self, length, count, last=0.01):
        """Return the rates of a cosine that stays where it ends."""
        shares = (0.5 + 0.5 * math.cos(math.pi * min(1, at / length)) for at in range(count))
        return [5e-3 * (last + (1 - last) * share) for share in shares]

    @pytest.mark.parametrize(
        ("length", "count", "found"),
        [(8, 176, {"short"}), (15, 300, {"short"}), (8, 100, set()), (176, 176, set())],
    )
    def test_a_cosine_of_a_few_steps(self, length, count, found):
        assert found == conditions(self.cosine(length, count))

    def test_what_falls_step_by_step_once_an_epoch(self):
        """Eight epochs of ten steps, and a long rest at the end, as of a decay with a floor."""
        rates = [max(0.1 * 0.7**epoch, 0.01) for epoch in range(40)]
        assert set() == conditions(rates[:24], epoch=10)

    def test_milestones_are_no_schedule_of_steps(self):
        rates = [0.1 * 0.5 ** min(4, step // 3) for step in range(300)]
        assert "short" not in conditions(rates)

    def test_a_few_steps_that_leave_most_of_it(self):
        """As a decay to a third, after which it stays."""
        assert set() == conditions(self.cosine(8, 300, last=0.3))


class TestSwings:
    """A cosine of torch goes up again beyond its length, and down, and up."""

    def found(self, make, *, epoch=22, total=8.0, count=200):
        """Return the conditions for a schedule that is stepped at each step of the optimizer."""
        steps = [
            step_of(
                {
                    "learning_rates": {"learning_rate/0": [rate]},
                    "loop": {
                        "loop/optimizer_steps": [step + 1.0],
                        "loop/scheduler_steps": [float(step)],
                        "loop/epoch": [float(step // epoch)],
                        "loop/scheduler_total": [total],
                    },
                },
                step,
            )
            for step, rate in enumerate(rates_of(make, count))
        ]
        return [one.condition for one in judged(RULE, steps)[0]]

    def test_within_one_pass_it_was_made_for_epochs(self):
        make = partial(lr_scheduler.CosineAnnealingLR, T_max=8)
        assert ["turned learning_rate/0"] == self.found(make)

    def test_over_some_passes_it_may_be_meant(self):
        """As cycles of several epochs each, or of steps that are passes of their own."""
        make = partial(lr_scheduler.CosineAnnealingLR, T_max=8, eta_min=2e-3)
        assert [] == self.found(make, epoch=1)
        assert [] == self.found(make, epoch=5)

    def test_restarts_and_cycles_are_meant(self):
        restarts = partial(lr_scheduler.CosineAnnealingWarmRestarts, T_0=8, eta_min=2e-3)
        cycles = partial(lr_scheduler.CyclicLR, base_lr=2e-3, max_lr=0.1, step_size_up=5)

        assert [] == self.found(restarts)
        assert [] == self.found(cycles, total=math.nan)
