"""Recorded batches with their rows, targets or columns at other places."""

from __future__ import annotations

import numpy as np

from stepwatch.formats.blackbox import BEGIN_FRAME, LOSS_FRAME, Frame
from stepwatch.trial.rearranged import mixed, paired, without_column
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
