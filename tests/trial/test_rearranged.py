"""Recorded batches with their rows, targets or columns at other places."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.formats.blackbox import BEGIN_FRAME, LOSS_FRAME, Frame
from stepwatch.trial.rearranged import (
    exchanged,
    mixed,
    paired,
    without_column,
    without_shared,
)
from stepwatch.trial.recording import Forward


def step_of(first, count=4):
    """Return a step with rows that are numbered on from one."""
    rows = np.arange(first, first + count)
    inputs = {"batch/args/0": np.stack([rows, 100 + rows], axis=1).astype(np.float32)}
    targets = {"loss/cross_entropy/1": rows}
    begin = Frame(BEGIN_FRAME, "worker_0", {}, inputs)
    return (Forward(begin, (Frame(LOSS_FRAME, "worker_0", {}, targets),)),)


def inputs_of(step):
    return step[0].begin.arrays["batch/args/0"]


def targets_of(step):
    return step[0].losses[0].arrays["loss/cross_entropy/1"].tolist()


class TestPaired:
    def test_each_row_has_the_target_of_another(self):
        """In a circle; what a model is given stays as it is."""
        (step,) = paired([step_of(0)], 1)

        assert [1, 2, 3, 0] == targets_of(step)
        assert np.array_equal(inputs_of(step_of(0)), inputs_of(step))

    def test_one_target_for_all_cannot_be_of_others(self):
        """Then nothing is changed, and nothing is shown."""
        step = step_of(0)
        step[0].losses[0].arrays["loss/cross_entropy/1"][:] = 7

        assert paired([step], 1) is None


class TestMixed:
    def test_rows_keep_their_targets_in_steps_of_other_sizes(self):
        """Each row of all steps is there once."""
        steps = mixed([step_of(0), step_of(4, 2)], across=True)

        assert [4, 2] == [len(targets_of(step)) for step in steps]
        assert list(range(6)) == sorted(row for step in steps for row in targets_of(step))
        for step in steps:
            assert targets_of(step) == inputs_of(step)[:, 0].tolist()

    def test_within_a_step_its_rows_stay(self):
        """Only their order is another."""
        steps = mixed([step_of(0, 8), step_of(8, 8)], across=False)

        assert [list(range(8)), list(range(8, 16))] == [sorted(targets_of(one)) for one in steps]
        assert targets_of(step_of(0, 8)) != targets_of(steps[0])

    def test_steps_whose_rows_do_not_fit_each_other_stay(self):
        """A row of another length cannot be put in place of one."""
        other = step_of(4)
        other[0].begin.arrays["batch/args/0"] = np.zeros((4, 3), np.float32)

        assert mixed([step_of(0), other], across=True) is None


class TestWithoutColumn:
    def test_a_column_or_all_others_are_of_other_rows(self):
        """The rest stays where it is."""
        before = inputs_of(step_of(0, 8))
        (one,) = without_column([step_of(0, 8)], 1, others=False)
        (rest,) = without_column([step_of(0, 8)], 1, others=True)

        for step, changed in ((one, 1), (rest, 0)):
            now = inputs_of(step)
            assert np.array_equal(before[:, 1 - changed], now[:, 1 - changed])
            assert before[:, changed].tolist() != now[:, changed].tolist()
            assert sorted(before[:, changed]) == sorted(now[:, changed])

    def test_a_column_that_is_not_there(self):
        """Nothing is changed."""
        assert without_column([step_of(0)], 5, others=False) is None


def evaluation_of(first, count):
    """Return a call of a model that is evaluated: its loss is given outputs as well."""
    (forward,) = step_of(first, count)
    forward.losses[0].arrays["loss/cross_entropy/0"] = np.zeros((count, 2), np.float32)
    return forward


def rows_given(steps):
    return [row for step in steps for row in targets_of(step)]


class TestExchanged:
    steps = (step_of(0, 20), step_of(20, 20))
    evaluations = (evaluation_of(100, 30), evaluation_of(130, 10))

    @pytest.mark.parametrize(("half", "trained"), [(0, 100), (1, 120)])
    def test_half_of_what_is_evaluated_is_trained_on(self, half, trained):
        """And the other half is evaluated: what comes first and what comes last are apart."""
        steps, evaluations = exchanged(
            self.steps, self.evaluations, half=half, own=False, as_many=True
        )
        held_out = 220 - trained

        assert [20, 20] == [len(targets_of(step)) for step in steps]
        assert set(range(trained, trained + 20)) == set(rows_given(steps))
        assert [30, 10] == [len(targets_of((one,))) for one in evaluations]
        assert set(range(held_out, held_out + 20)) == set(rows_given((one,) for one in evaluations))

    def test_as_many_of_the_own_rows_are_the_control(self):
        """The same is evaluated, and as many different rows are trained on."""
        changed = exchanged(self.steps, self.evaluations, half=0, own=False, as_many=True)
        steps, evaluations = exchanged(self.steps, self.evaluations, half=0, own=True, as_many=True)

        assert 20 == len(set(rows_given(steps)))
        assert set(rows_given(steps)) <= set(range(40))
        assert rows_given((one,) for one in changed[1]) == rows_given((one,) for one in evaluations)

    def test_as_many_distinct_rows_are_trained_on_unless_all_are_asked_for(self):
        """Else a few rows could be told from others by their number alone."""
        few = (step_of(0, 8), step_of(0, 8), step_of(0, 8), step_of(0, 8))
        as_many, _ = exchanged(few, self.evaluations, half=0, own=False, as_many=True)
        more, _ = exchanged(few, self.evaluations, half=0, own=False, as_many=False)

        assert (8, 20) == (len(set(rows_given(as_many))), len(set(rows_given(more))))

    def test_tokens_are_left_alone(self):
        """Texts that are cut out of one overlap, so no half of them is held out."""
        steps = (step_of(0, 20), step_of(20, 20))
        evaluation = evaluation_of(100, 40)
        for (forward,) in (*steps, (evaluation,)):
            given = forward.begin.arrays
            given["batch/args/0"] = given["batch/args/0"].astype(np.int64)

        assert exchanged(steps, (evaluation,), half=0, own=False, as_many=True) is None


class TestWithoutShared:
    steps = (step_of(0, 8), step_of(8, 8), step_of(16, 8), step_of(24, 8))

    def test_only_rows_that_are_evaluated_are_replaced(self):
        """By others that are not in their batch already: none is given twice."""
        steps = without_shared(self.steps, (evaluation_of(4, 8),), others=False)

        assert not set(range(4, 12)) & set(rows_given(steps))
        assert [8, 8, 8, 8] == [len(set(targets_of(step))) for step in steps]
        assert [0, 1, 2, 3] == targets_of(steps[0])[:4]
        assert list(range(16, 32)) == rows_given(steps[2:])

    def test_as_many_others_are_the_control(self):
        """Those that are evaluated stay."""
        steps = without_shared(self.steps, (evaluation_of(4, 8),), others=True)

        assert set(range(4, 12)) <= set(rows_given(steps))
        assert [8, 8, 8, 8] == [len(set(targets_of(step))) for step in steps]
        assert rows_given(self.steps) != rows_given(steps)

    def test_there_is_nothing_to_replace_or_to_replace_it_by(self):
        assert without_shared(self.steps, (evaluation_of(100, 8),), others=False) is None
        assert without_shared(self.steps, (evaluation_of(0, 30),), others=False) is None
