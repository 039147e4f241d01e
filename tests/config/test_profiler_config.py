"""When something is looked at in detail: ranges of steps and of time."""

from __future__ import annotations

import pytest

from stepwatch.capture.profiling import RangeTrigger
from stepwatch.config.profiler_config import ProfilerConfig, Range
from stepwatch.errors import ConfigError


def steps_of(range_: Range | None, steps: range) -> list[int]:
    due = RangeTrigger(range_)
    return [step for step in steps if due.at(step)]


class TestRange:
    @pytest.mark.parametrize(
        ("range_", "expected"),
        [
            (Range(first=5, steps=2), [5, 6]),
            (Range(first=0), [0]),
            (Range(first=5), [5]),
            (Range(), [0]),
            (Range(steps=3), [0, 1, 2]),
            (Range(first=30), []),
            (None, []),
        ],
    )
    def test_steps_that_are_in_it(self, range_, expected):
        """A range is on once, and ends with its last step."""
        assert expected == steps_of(range_, range(20))

    def test_a_range_that_has_begun_is_joined(self):
        """What is asked for in the middle of a range is given for the rest of it."""
        assert [7, 8] == steps_of(Range(first=5, steps=4), range(7, 20))

    def test_a_range_that_is_over_never_begins(self):
        """Steps that were passed over do not come again."""
        assert [] == steps_of(Range(first=5, steps=4), range(9, 20))

    def test_time(self):
        """It begins at a time, and lasts as long as it was told to."""
        range_ = Range(from_s=100.0, seconds=10.0)

        assert [False, True, True, False] == [range_.begins(0, t) for t in (99, 100, 109, 110)]
        assert range_.is_over(5, 110.0, since=1)
        assert not range_.is_over(5, 109.0, since=1)

    def test_time_without_end_is_one_step(self):
        """A beginning alone is the first step after it."""
        range_ = Range(from_s=100.0)

        assert range_.begins(7, 500.0)
        assert range_.is_over(8, 500.0, since=7)

    def test_a_duration_begins_when_it_is_heard_of(self):
        """Seconds alone count from now."""
        assert Range(from_s=50.0, seconds=2.0) == Range(seconds=2.0).from_now(50.0)

    @pytest.mark.parametrize(
        "given",
        [{"first": -1}, {"steps": 0}, {"seconds": 0}, {"first": 1, "seconds": 2},
         {"steps": 1, "from_s": 2}],
    )  # fmt: skip
    def test_what_cannot_be_meant(self, given):
        """A wrong range cannot be made."""
        with pytest.raises(ConfigError):
            Range(**given)


class TestProfilerConfig:
    @pytest.mark.parametrize(
        "given", [{"interval_ms": 9}, {"interval_ms": -1}, {"python_profiler": "x"}, {"timer": "x"}]
    )
    def test_what_cannot_be_meant(self, given):
        """A wrong configuration cannot be made; the message says what there is."""
        with pytest.raises(ConfigError):
            ProfilerConfig(**given)

    def test_no_devices(self):
        """0 is never."""
        assert 0 == ProfilerConfig(interval_ms=0).interval_ms
