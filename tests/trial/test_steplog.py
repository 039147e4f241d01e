"""The steps of a run at one moment, from the ranges that workers show."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.formats.interface import StepRange, join_ranges
from stepwatch.model.steps import Mode
from stepwatch.trial.step_log import StepLog


class TestStepLog:
    @given(
        st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3)), max_size=6),
        st.integers(1, 3),
    )
    @settings(max_examples=100, deadline=None)
    def test_shows_the_steps_of_its_ranges_each_once(self, shapes, workers):
        """Also where several workers saw the same."""
        ranges, first, mode_first = [], 0, 0
        for count, stride, mode_stride in shapes:
            ranges.append(StepRange(Mode.TRAIN, first, count, stride, mode_first, mode_stride))
            first, mode_first = first + count * stride, mode_first + count * mode_stride
        log = StepLog({f"worker_{rank}": ranges for rank in range(workers)}, 10**6)

        expected = [one.first + index * one.stride for one in ranges for index in range(one.count)]
        within = [
            one.mode_first + index * one.mode_stride for one in ranges for index in range(one.count)
        ]
        assert expected == log.global_steps().tolist() == log.global_steps(Mode.TRAIN).tolist()
        assert within == log.steps(Mode.TRAIN).tolist()
        assert expected == [log.to_global(step, Mode.TRAIN) for step in within]
        assert log.to_global(-1, Mode.TRAIN) is None

    def test_a_million_steps_are_counted_as_any(self):
        """Of many ranges of equal stride."""
        ranges = join_ranges(
            StepRange(Mode.TRAIN, first, 990, 1, first, 1) for first in range(0, 1_000_000, 1000)
        )
        log = StepLog({"worker_0": ranges}, 10**6)

        assert 990_000 == len(log.steps(Mode.TRAIN))
