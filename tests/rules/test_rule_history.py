"""What rules remember and share: the largest of the last losses, scalars that several ask for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.record import Layout
from stepwatch.model.steps import Mode
from stepwatch.numerics.measures import FEW_ROWS, any_non_finite
from stepwatch.numerics.statistics import NAN, NUM_FIELDS, summarize
from stepwatch.rules import Rule, Selection
from stepwatch.rules.history import MeanGuess, RecentLosses
from stepwatch.rules.shared import is_loss, is_scalar, losses_of, means
from tests.support.rules.rule_records import info, step_of


class TestRecentLosses:
    @pytest.mark.parametrize("window", [1, 4, 16])
    def test_the_largest_is_that_of_the_window_without_what_is_not_finite(self, window):
        rng = np.random.default_rng(window)
        losses = rng.choice([0.0, -0.0, 1.0, 2.0, -3.0, math.nan, math.inf, -math.inf], 300)
        losses = np.where(rng.random(300) < 0.5, rng.normal(size=300), losses).tolist()
        recent = RecentLosses(window)
        for number, loss in enumerate(losses):
            recent.add(loss)
            last = losses[: number + 1][-window:]
            expected = max((one for one in last if one < math.inf), default=-math.inf)
            assert math.copysign(1, expected) == math.copysign(1, recent.largest())
            assert expected == recent.largest()


class TestSharedScalars:
    def test_what_selects_the_same_is_computed_once(self):
        step = step_of({"losses": {"a": 1.0, "b": 2.0}}, 0)
        one, other = (Selection(("losses",), keep=is_scalar) for _ in range(2))
        assert losses_of(step, one) is losses_of(step, other)
        assert other.missing() is None

    def test_what_selects_something_else_is_computed_anew(self):
        step = step_of({"losses": {"train-auc": 1.0, "b": 2.0}}, 0)
        assert {"train-auc": 1.0, "b": 2.0} == losses_of(step, Selection(("losses",)))
        assert {"b": 2.0} == losses_of(step, Selection(("losses",), keep=is_loss))
        assert {"b": 2.0} == losses_of(step, Selection(("losses",), ["^b$"], keep=is_loss))
        assert {} == losses_of(step, Selection(("metrics",)))

    @pytest.mark.parametrize("count", [2, FEW_ROWS + 1])
    def test_means_are_those_of_the_quantity(self, count):
        values = [math.nan, math.inf, *range(count - 2)]
        step = step_of({"losses": {f"x{index}": value for index, value in enumerate(values)}}, 0)
        (group,) = step.groups("losses")
        np.testing.assert_array_equal(group.quantity("mean"), means(group))

    @pytest.mark.parametrize("count", [1, FEW_ROWS + 1])
    def test_few_rows_and_many_are_not_finite_alike(self, count):
        rows = np.tile(summarize(np.ones(3)), (count, 1))
        assert rows.shape == (count, NUM_FIELDS)
        assert not any_non_finite(rows)
        rows[-1, NAN] = math.nan  # not known
        assert not any_non_finite(rows)
        rows[-1] = summarize(np.array([-math.inf]))
        assert any_non_finite(rows)


class TestConcerns:
    def test_steps_that_hold_nothing_for_a_rule_are_counted_only(self):
        """Asked once of all steps with the same tensors; what is counted is not evaluated."""
        watch, rule = self._watch()
        layout = Layout((info("a", "losses", 1.0),))
        for number in range(4):
            step = step_of({"losses": {"a": 1.0}}, number, layout=layout)
            assert [] == watch.evaluate(step)
        assert (1, 0) == (len(rule.asked), len(rule.evaluated))
        (status,) = watch.statuses()
        assert 4 == status.evaluations

    def test_concerns_is_called_again_for_other_tensors(self):
        watch, rule = self._watch()
        for number, name in enumerate(["a", "b", "a", "b"]):
            watch.evaluate(step_of({"losses": {name: 1.0}}, number))
        assert [1, 3] == rule.evaluated

    def test_what_is_out_of_the_range_of_steps_is_not_counted(self):
        watch, _ = self._watch(start_step=2, end_step=3)
        for number in range(5):
            watch.evaluate(step_of({"losses": {"a": 1.0}}, number))
        (status,) = watch.statuses()
        assert 1 == status.evaluations

    @staticmethod
    def _watch(**scope):
        from stepwatch.rules import Scope, Watch, Watched

        class OfB(Rule):
            name = "of_b"
            needs = ("losses",)

            def begin(self):
                self.asked, self.evaluated = [], []

            def concerns(self, step):
                self.asked.append(step.number)
                return step.tensor("b") is not None

            def check(self, step):
                self.evaluated.append(step.number)
                return ()

        rule = OfB()
        return Watch([Watched(rule, Scope(**scope))]), rule


class TestMeanGuess:
    """Targets are 0 and 2 as often: to guess 1 costs 1."""

    @pytest.mark.parametrize(
        ("train", "validation", "found"),
        [
            ([0.99, 0.98, 0.97, 0.96, 0.95, 0.95], [0.98, 0.99, 1.0, 1.01, 1.03, 1.05], True),
            ([0.99, 0.98, 0.97, 0.96, 0.95, 0.95], [0.98, 0.98, 0.97, 0.97, 0.96, 0.97], False),
            ([0.99, 0.98, 0.97, 0.96, 0.95, 0.95], [0.98, 0.93, 0.97, 1.0, 1.02, 1.05], False),
            ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [1.0, 1.0, 1.1, 1.1, 1.2, 1.2], False),
            ([1.2, 1.1, 1.1, 1.1, 1.0, 1.0], [1.2, 1.1, 1.1, 1.1, 1.05, 1.05], False),
            ([0.95] * 4, [1.05] * 4, False),
        ],
    )
    def test_what_is_learnt_by_heart_holds_in_no_evaluation(self, train, validation, found):
        guess = MeanGuess()
        for mode, number in ((Mode.TRAIN, 1000), (Mode.EVAL, 100)):
            guess.add_targets(mode, np.array([number, number, 2.0 * number]))
        for pair in zip(train, validation, strict=True):
            guess.add_round(*pair)

        assert found is (guess.shares() is not None)

    def test_targets_of_evaluations_that_lie_elsewhere_cost_more_to_guess(self):
        """They are guessed by the mean of those of training: 1 for targets of 3 and 5 costs 10."""
        guess = MeanGuess()
        guess.add_targets(Mode.TRAIN, np.array([1000, 1000, 2000.0]))
        guess.add_targets(Mode.EVAL, np.array([100, 400, 1700.0]))
        for _ in range(5):
            guess.add_round(0.95, 11.0)

        assert (0.95, 1.1) == pytest.approx(guess.shares())

    def test_of_few_targets_too_little_is_known(self):
        guess = MeanGuess()
        for mode in (Mode.TRAIN, Mode.EVAL):
            guess.add_targets(mode, np.array([100, 100, 200.0]))
        for _ in range(9):
            guess.add_round(0.95, 1.1)

        assert guess.shares() is None
