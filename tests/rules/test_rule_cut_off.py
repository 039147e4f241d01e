"""A loss that does not depend on the weights, and other losses that cannot be minimized."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch import LiveWatch, TorchHook
from stepwatch.judge.root_cause import chains
from stepwatch.rules import Finding, StepView, Watch
from tests.support.rules.cut_off_programs import CAUSES, CUT_OFF, clamped, far, fits
from tests.support.rules.rule_records import info, record, step_of
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")


def cause_of(finding):
    """Return what a finding says is the matter; with its severity if that is not usual."""
    named = str(finding.evidence.get("cause", finding.condition))
    return named + " info" * (finding.severity == "info")


FOUND = [one for one in CUT_OFF if one.must_fire]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "cause"), list(zip(FOUND, CAUSES, strict=True)), ids=CAUSES)
def test_what_cuts_it_off_is_named(scenario, cause, tmp_path):
    found, statuses = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert cause == cause_of(Finding.from_json(found[0])), found
    assert_live_is_replay(tmp_path / "run", scenario.rule, found, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [one for one in CUT_OFF if not one.must_fire])
def test_what_learns_is_not_accused(scenario, tmp_path):
    found, _ = judge(scenario.program, scenario.rule, tmp_path / "run")

    assert [] == found


def distances(*, eps, steps=60, alike_at=50):
    """Train by distances of pairs, of which some are of distance 0 at one step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        first, second = torch.randn(16, 4), torch.randn(16, 4)
        if step == alike_at:
            second[:3] = first[:3]
        squares = ((model(first) - model(second)) ** 2).sum(1)
        loss = ((torch.sqrt(squares + eps) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def masked():
    """Train by a mean over what a mask leaves, which at one step is nothing."""
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(60):
        mask = torch.arange(16)[:, None] < (0 if step == 50 else 8)
        loss = (model(torch.randn(16, 4)).square() * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def first_origin(program, run, budget, monkeypatch):
    """Return the first finding of ``non_finite_origin``; a budget thins steps at once."""
    monkeypatch.setattr("stepwatch.capture.budget.START_S", 0.0)
    live = LiveWatch("non_finite_origin")
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True, budget=budget):
        program()
    return live.findings[0]


class TestInfiniteDerivative:
    """A forward pass that is finite, and a square root that is taken of 0."""

    @pytest.mark.parametrize("budget", [None, 1e-9])
    def test_the_operation_is_named(self, tmp_path, budget, monkeypatch):
        """Also at a step of which only the loss would be observed."""
        first = first_origin(lambda: distances(eps=0.0), tmp_path / "run", budget, monkeypatch)

        assert "the derivative of sqrt is infinite at 0 (3 of 16 elements)" in first.message
        assert "add a small eps inside the sqrt" in first.remedy
        assert ("sqrt", 50) == (first.evidence["operation"], first.step)

    def test_one_with_a_small_number_inside_is_not_accused(self, tmp_path):
        found, _ = judge(lambda: distances(eps=1e-8), "non_finite_origin", tmp_path / "run")

        assert [] == found


class TestDivisionByZero:
    """A mean over what a mask leaves, and it leaves nothing."""

    @pytest.mark.parametrize("budget", [None, 1e-9])
    def test_it_is_named(self, tmp_path, budget, monkeypatch):
        """Also at a step of which only the loss would be observed."""
        first = first_origin(masked, tmp_path / "run", budget, monkeypatch)

        assert 50 == first.step
        assert "in the output of div: infinity arises in div, which was given 0:" in first.message
        assert first.remedy.startswith("clamp the divisor away from 0")


class TestChains:
    def test_what_follows_from_no_gradient_does_not_head_a_chain(self, tmp_path):
        """Weights that stand still and a loss that does not fall are its consequences."""
        rules = ["zero_gradients", "step_size", "loss_not_decreasing:num_steps=40,smooth=5"]
        found, _ = judge(lambda: fits(None, clamped, far, steps=240), rules, tmp_path / "run")
        (chain,) = chains([Finding.from_json(one) for one in found])

        assert "zero_gradients" == chain.cause.rule
        assert ["loss_not_decreasing"] == [one.finding.rule for one in chain.consequences]


class TestAllFrozen:
    """Keras trains such a model without a word."""

    def conditions(self, trainable):
        watch = Watch(["untrained_parameter"])
        found = []
        for at in range(12):
            tensors = [
                (info(name, "weights", [1.0], trainable=may), [1.0 + (may and at)])
                for name, may in zip(("a", "b"), trainable, strict=True)
            ]
            found += watch.evaluate(StepView([record(tensors, step=at)]))
        return [one.condition.partition(" ")[0] for one in found]

    def test_nothing_is_trained(self):
        assert ["all_frozen"] == self.conditions([False, False])

    def test_a_part_that_is_frozen_is_usual(self):
        assert "all_frozen" not in self.conditions([True, False])


class TestFrozenAsDrawn:
    """As a base whose trained weights were not loaded; Keras and torch draw up to a limit."""

    SHAPE = (24, 40)

    def conditions(
        self, frozen, trained=((40, 3),), before=(), called="earlier", drawn_before=None
    ):
        rng = np.random.default_rng(0)
        watch, found = Watch(["untrained_parameter"]), []
        for at, shape in enumerate(before):
            values = rng.normal(size=shape) if drawn_before is None else drawn_before
            earlier = [(info(called, "weights", values, trainable=True), values)]
            watch.evaluate(StepView([record(earlier, step=at)]))
        for at in range(len(before), len(before) + 12):
            tensors = [(info("base", "weights", frozen, trainable=False), frozen)]
            for number, shape in enumerate(trained):
                values = rng.normal(size=shape)
                tensors.append((info(f"head{number}", "weights", values, trainable=True), values))
            found += watch.evaluate(StepView([record(tensors, step=at)]))
        return [one.condition.partition(" ")[0] for one in found]

    def drawn(self, limit):
        return np.random.default_rng(1).uniform(-limit, limit, self.SHAPE)

    @pytest.mark.parametrize("limit", [math.sqrt(6 / 64), 1 / math.sqrt(40)])
    def test_they_were_never_trained(self, limit):
        assert "frozen_as_drawn" in self.conditions(self.drawn(limit))

    @pytest.mark.parametrize(
        ("ends_at", "trains_later", "severities"),
        [(0.2, False, ["info"]), (1.2, False, ["info", "warning"]), (1.2, True, ["info"])],
    )
    def test_it_is_a_warning_where_little_is_learnt_from_them(
        self, ends_at, trains_later, severities
    ):
        """What is drawn at random may do as well, or be held against what is trained later."""
        watch, found, frozen = Watch(["untrained_parameter"]), [], self.drawn(1 / math.sqrt(40))
        rng = np.random.default_rng(0)
        for at in range(0, 202, 2):
            head, loss = rng.normal(size=(40, 3)), np.array(2.0 if at < 30 else ends_at)
            tensors = [
                (info("base", "weights", frozen, trainable=False), frozen),
                (info("head", "weights", head, trainable=True), head),
                (info("loss", "losses", loss), loss),
            ]
            if trains_later and at > 100:
                other = rng.normal(size=self.SHAPE)
                tensors[0] = (info("base_2", "weights", other, trainable=True), other)
            found += watch.evaluate(StepView([record(tensors, step=at)]))
        found += watch.finish()

        found = [one for one in found if one.condition == "frozen_as_drawn"]

        assert severities == [one.severity for one in found]
        assert {0} == {one.onset for one in found}

    def test_so_are_those_that_transformers_draws(self):
        """By their deviation, and not those that were trained from there on."""
        drawn = 0.02 * np.random.default_rng(1).normal(size=self.SHAPE)
        assert "frozen_as_drawn" in self.conditions(drawn)
        assert "frozen_as_drawn" not in self.conditions(1.2 * drawn)

    def test_a_table_of_features_is_given_and_not_drawn(self):
        """As of the words of documents: few are there, and none of the numbers is negative."""
        given = (np.random.default_rng(1).random(self.SHAPE) < 0.04).astype(float)
        given *= 0.02 / np.sqrt((given**2).mean())
        assert "frozen_as_drawn" not in self.conditions(given)

    @pytest.mark.parametrize("groups", [0, 1])
    def test_a_target_network_is_a_copy_of_what_an_optimizer_holds(self, groups):
        """And not of what an earlier part of the script has trained."""
        drawn, rng = self.drawn(1 / math.sqrt(40)), np.random.default_rng(0)
        watch, found = Watch(["untrained_parameter"]), []
        for at in range(12):
            other, head = drawn + rng.normal(size=self.SHAPE), rng.normal(size=(40, 3))
            tensors = [
                (info("base", "weights", drawn, trainable=False, optimizer_groups=0), drawn),
                (info("o", "weights", other, trainable=True, optimizer_groups=groups), other),
                (info("head", "weights", head, trainable=True, optimizer_groups=1), head),
            ]
            found += watch.evaluate(StepView([record(tensors, step=at)]))

        drawn_as = [one for one in found if one.condition.startswith("frozen_a")]
        assert (groups == 0) == bool(drawn_as)

    def test_what_was_trained_before_has_not_come_here(self):
        """An encoder was trained, and another one of its shapes is frozen."""
        drawn = self.drawn(1 / math.sqrt(40))
        assert "frozen_anew" in self.conditions(drawn, before=[self.SHAPE])
        assert "frozen_as_drawn" in self.conditions(drawn, before=[(24, 41)])

    def test_so_it_is_where_a_copy_that_is_new_has_the_names_of_what_was_trained(self):
        """As Keras clones models; what looks as new while it is trained may be frozen in turn."""
        drawn, before = self.drawn(1 / math.sqrt(40)), {"before": [self.SHAPE], "called": "base"}
        assert "frozen_anew" in self.conditions(drawn, **before)
        assert "frozen_as_drawn" in self.conditions(drawn, **before, drawn_before=drawn)

    @pytest.mark.parametrize(
        ("is_trained", "before", "severity"),
        [(True, SHAPE, "info"), (False, SHAPE, "warning"), (True, (24, 41), "warning")],
    )
    def test_a_teacher_that_was_trained_before_needs_no_gradient(
        self, is_trained, before, severity
    ):
        """It is a part of the model that distills it, and no gradient is taken by it."""
        rng, watch, found = np.random.default_rng(2), Watch(["untrained_parameter"]), []
        teacher = self.drawn(1 / math.sqrt(40))
        if is_trained:
            teacher = teacher + 0.05 * rng.normal(size=self.SHAPE)
        first = rng.normal(size=before)
        watch.evaluate(StepView([record([(info("w", "weights", first, trainable=True), first)])]))
        for at in range(1, 14):
            student = rng.normal(size=(40, 3))
            tensors = [
                (info("teacher/w", "weights", teacher, trainable=True), teacher),
                (info("student/w", "weights", student, trainable=True), student),
                (info("gradient/student/w", "gradients", student), student),
            ]
            found += watch.evaluate(StepView([record(tensors, step=at)]))
        without = [one for one in found if one.condition.startswith("no_gradient")]

        assert [severity] == [one.severity for one in without]

    @pytest.mark.parametrize("but", ["trained", "another limit", "copy"])
    def test_else_they_may_be_meant(self, but):
        """A copy is a target network, of which the trained one begins with the same."""
        frozen, trained = self.drawn(math.sqrt(6 / 64)), [(40, 3)]
        if but == "trained":
            frozen = frozen + 0.03 * np.random.default_rng(2).normal(size=self.SHAPE)
        elif but == "another limit":
            frozen = 2 * frozen
        else:
            trained.append(self.SHAPE)
        assert "frozen_as_drawn" not in self.conditions(frozen, trained)


class TestSwelledWeights:
    def test_they_are_why_no_gradient_is_left(self):
        """Each update is small beside the weights, and all together are not."""
        watch, found = Watch(["zero_gradients"]), []
        for at in range(20):
            tensors = [
                (info("a", "weights", [1.0], trainable=True), [1.3 ** min(at, 8)]),
                (info("gradient/a", "gradients", [1.0]), [0.0 if at > 8 else 1.0]),
                (info("loss/mse_loss", "losses", 1.0), 9.0),
            ]
            found += watch.evaluate(StepView([record(tensors, step=at)]))

        assert ["overshot"] == [one.evidence["cause"] for one in found]
        assert "from 1 to 3.71 by step 5" in found[0].message


class TestDivergence:
    """From the second step on, without a time in which it only looks."""

    def watched(self, losses, weights):
        watch = Watch(["step_size"])
        return [
            finding.condition
            for at, (loss, weight) in enumerate(zip(losses, weights, strict=True))
            for finding in watch.evaluate(
                step_of({"losses": {"loss/mse_loss": [loss]}, "weights": {"a": [weight]}}, at)
            )
        ]

    def test_a_step_that_makes_the_loss_a_thousand_times_larger_is_reported_at_once(self):
        assert ["diverged"] == self.watched([1.0, 1e3], [1.0, 40.0])

    def test_so_is_one_after_which_it_is_infinite(self):
        assert ["diverged"] == self.watched([1.0, math.inf], [1.0, 40.0])

    def test_a_loss_that_is_nan_at_each_look_is_compared_with_the_last_finite_one(self):
        """And it began after the last look at which the weights were as before."""
        watch = Watch(["step_size"])
        looks = [(0, 0.5, 1.0), (1, 0.7, 1.1), (45, math.nan, 1e9), (46, math.nan, 1e12)]
        (found,) = [
            finding
            for at, loss, weight in looks
            for finding in watch.evaluate(
                step_of({"losses": {"loss/mse_loss": [loss]}, "weights": {"a": [weight]}}, at)
            )
        ]

        assert "loss/mse_loss went from 0.7 to nan" in found.message
        assert (45, 1) == (found.step, found.onset)

    def test_evaluations_since_the_last_look_lie_after_its_onset(self):
        """It is the update of a TRAIN step that did it, the first that nobody saw the end of."""
        watch = Watch(["step_size"])
        looks = [
            (0, 0, 0.5, 1.0),
            (1, 1, 0.7, 1.1),
            (24, 4, math.nan, 1e9),
            (25, 5, math.nan, 1e12),
        ]
        (found,) = [
            finding
            for at, train, loss, weight in looks
            for finding in watch.evaluate(
                step_of(
                    {"losses": {"loss/mse_loss": [loss]}, "weights": {"a": [weight]}},
                    at,
                    mode_step=train,
                )
            )
        ]

        assert (24, 1, 1) == (found.step, found.onset, found.train_onset)

    def test_a_jump_between_two_steps_is_the_work_of_the_first(self):
        """The weights of a step are those that its update finds."""
        watch = Watch(["step_size"])
        steps = [
            step_of({"losses": {"loss/L": [loss]}, "weights": {"a": [weight]}}, at)
            for at, (loss, weight) in enumerate([(1.0, 1.0), (1.0, 1.0), (1e3, 40.0)])
        ]
        (found,) = [finding for step in steps for finding in watch.evaluate(step)]

        assert (2, 1) == (found.step, found.onset)

    def test_so_is_a_loss_that_falls_without_bound(self):
        """As where a term has the wrong sign."""
        assert ["unbounded"] == self.watched([1.0, -1e3], [1.0, 40.0])

    def test_weights_that_grow_while_the_loss_falls_are_not(self):
        assert [] == self.watched([1.0, 0.5], [1.0, 40.0])

    def test_nor_is_a_part_of_a_loss_that_begins_at_zero(self):
        """As the divergence of an autoencoder from its prior does."""
        assert [] == self.watched([0.0, 1e-3, 1.0], [1.0, 40.0, 41.0])

    def test_nor_a_loss_that_jumps_while_the_weights_stay(self):
        assert [] == self.watched([1.0, 1e3], [1.0, 1.1])
