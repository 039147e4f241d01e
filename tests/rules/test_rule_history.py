"""What rules remember and share: the largest of the last losses, scalars that several ask for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepwatch.model.record import Layout
from stepwatch.numerics.measures import FEW_ROWS, any_non_finite
from stepwatch.numerics.statistics import NAN, NUM_FIELDS, summarize
from stepwatch.rules import Rule, Selection
from stepwatch.rules.history import RecentLosses
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
