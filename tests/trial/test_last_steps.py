"""The last steps of a training, as people count them."""

from __future__ import annotations

from stepwatch.formats.blackbox import BEGIN_FRAME, Frame
from stepwatch.trial.last_steps import moments_of


def frame(step, mode, mode_step):
    meta = {"step": step, "mode": mode, "mode_step": mode_step, "time_ns": 0, "batch": {}}
    return Frame(BEGIN_FRAME, "worker_0", meta)


def places(*steps):
    return [one.place for one in moments_of(frame(*one) for one in steps)]


class TestPlace:
    def test_a_step_of_evaluation_has_its_own_number_and_the_train_step_before_it(self):
        """Whatever other modes lie between."""
        found = places((8, "TRAIN", 5), (9, "EVAL", 2), (10, "PREDICT", 0), (11, "EVAL", 3))

        assert found == ["5", "eval 2, after step 5", "predict 0, after step 5",
                         "eval 3, after step 5"]  # fmt: skip

    def test_where_no_train_step_is_kept_the_count_of_the_steps_tells(self):
        assert places((9, "EVAL", 2)) == ["eval 2, after step 6"]

    def test_before_the_first_train_step_there_is_none(self):
        assert places((0, "EVAL", 0)) == ["eval 0, before training"]
