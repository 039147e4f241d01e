"""A profile is cut into the same windows by whoever looks, and whenever."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Span, spans_table, system_table
from stepwatch.judge.rule import PROFILE_RULES
from stepwatch.profile import windows as window
from stepwatch.profile.readings import phases_at, step_time
from stepwatch.profile.windows import LATE_NS, Readings, WindowSplitter, mean_aligned
from stepwatch.rules import Watch
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile
from tests.support.rules.profile.made_profiles import (
    SECOND,
    START,
    cores,
    made_profile,
    samples,
    steps,
)

MINUTE = 60 * SECOND


def windows(profile, *, ended=True, length=MINUTE):
    return list(WindowSplitter(length).windows(profile, ended=ended))


def same(first, second):
    """Whether two windows tell the same; rows of one moment have no order."""
    alike = [getattr(first, name) == getattr(second, name) for name in ("start_ns", "step")]
    tables = (first.system, second.system), (first.spans, second.spans)
    return all(alike) and all(rows(one) == rows(other) for one, other in tables)


def rows(table):
    return sorted(map(str, table.to_pylist()))


class TestWindows:
    def test_windows_end_at_whole_minutes(self):
        """Wherever a run began, so that who comes later cuts it alike."""
        found = windows(made_profile(cores(np.ones(300))))

        assert {0} == {one.end_ns % MINUTE for one in found}
        assert found[0].start_ns <= START < found[0].end_ns

    def test_every_row_is_in_one_window(self):
        """None is lost between two, and none told twice."""
        profile = made_profile(cores(np.ones(300)), steps(np.full(70, 2.0)))
        found = windows(profile)

        assert profile.system().equals(pa.concat_tables([one.system for one in found]))
        assert len(profile.spans()) == sum(len(one.spans) for one in found)

    def test_an_interval_belongs_to_the_window_in_which_it_ended(self):
        """Before, nobody could have told of it."""
        long = Span(START, 3 * MINUTE, "step", "TRAIN", "TRAIN", 5)
        found = windows(made_profile(cores(np.ones(600)), [long]))

        assert [-1, -1, -1, 5, 5] == [one.step for one in found][:5]

    def test_only_the_last_window_of_a_run_that_ended_is_the_last(self):
        """Rules say then what they can only say at the end."""
        profile = made_profile(cores(np.ones(300)))

        assert [False, False, False, True] == [one.is_last for one in windows(profile)]
        assert {False} == {one.is_last for one in windows(profile, ended=False)}

    def test_a_window_is_shown_once_later_rows_are_there(self):
        """Until then somebody may still write to it."""
        store = open_store("memory://profile-grows")
        writer = PartsWriter(store, SYSTEM, "here")
        cutter, seen = WindowSplitter(MINUTE), []
        ends = (START // MINUTE + 1) * MINUTE
        for number in range(START // SECOND, (ends + LATE_NS) // SECOND + 3):
            writer.write(system_table("here", [sample(number * SECOND)]))
            seen.append(len(list(cutter.windows(Profile(store), ended=False))))

        waited = (ends + LATE_NS - START) // SECOND
        assert [0] * waited + [1, 0, 0] == seen

    def test_live_windows_are_those_of_replay(self):
        """In whatever pieces a profile comes."""
        store = open_store("memory://profile-live")
        readings = cores(np.arange(700) % 100)
        spans = steps(np.full(150, 2.0))
        writers = PartsWriter(store, SYSTEM, "here"), PartsWriter(store, SPANS, "worker_0")
        cutter, live = WindowSplitter(MINUTE), []
        for second in range(0, 350, 20):
            now, then = START + second * SECOND, START + (second + 20) * SECOND
            writers[0].write(
                system_table("here", [one for one in readings if now <= one[0] < then])
            )
            some = [one for one in spans if now <= one[0] + one[1] < then]
            writers[1].write(spans_table("worker_0", some))
            live += cutter.windows(Profile(store), ended=False)
        live += cutter.windows(Profile(store), ended=True)

        replayed = windows(Profile(store))
        assert len(live) == len(replayed)
        assert all(same(*pair) for pair in zip(live, replayed, strict=True))

    def test_a_profile_that_is_empty_has_no_window(self):
        """And that is no error."""
        assert [] == windows(Profile(open_store("memory://profile-empty")))


def sample(time_ns):
    return samples("cpu0", [1.0])[0]._replace(time_ns=time_ns)


class TestReadings:
    def test_rows_are_split_once_however_many_machines_and_rules_there_are(self, monkeypatch):
        """Each rule asks of each machine: to split all rows each time is machines squared."""
        split = []
        rows_by = window.rows_by
        monkeypatch.setattr(
            window, "rows_by", lambda table, by: split.append(by) or rows_by(table, by)
        )
        system = {f"node-{number}": cores(np.ones(20), np.ones(20)) for number in range(5)}
        spans = {f"worker_{number}": steps(np.ones(10), data=0.5) for number in range(5)}
        Watch(PROFILE_RULES).scan(made_profile(system, spans), ended=True)

        assert [("kind", "worker", "mode"), ("node", "device", "metric")] == sorted(split)

    def test_devices_are_told_in_the_order_of_their_numbers(self):
        """Ten comes after two."""
        readings = [one for number in (10, 2, 0) for one in samples(f"gpu{number}", [1.0])]
        (window,) = windows(made_profile(readings))

        assert ["gpu0", "gpu2", "gpu10"] == [
            gpu for _, gpu in window.readings(r"gpu\d+", "busy_percent")
        ]

    def test_what_a_driver_could_not_tell_is_left_out(self):
        """Neither nan nor a negative number is a reading."""
        (window,) = windows(made_profile(samples("gpu0", [1.0, float("nan"), -1.0, 3.0])))
        (readings,) = window.readings("gpu0", "busy_percent").values()

        assert [1.0, 3.0] == readings.values.tolist()

    def test_a_joined_row_counts_as_the_readings_that_it_stands_for(self):
        """Else a long run would have fewer readings than a short one."""
        profile = made_profile(samples("gpu0", np.arange(50.0)))
        thinned = profile.system(points=10)
        (whole,) = windows(profile)
        few = type(whole)(whole.start_ns, whole.end_ns, -1, thinned, whole.spans)

        (joined,), (single,) = (
            one.readings("gpu0", "busy_percent").values() for one in (few, whole)
        )
        assert len(single.values) == len(joined.values)
        assert single.values.mean() == joined.values.mean()

    def test_the_mean_of_devices_is_taken_of_what_was_read_together(self):
        """Milliseconds between two devices are the same moment; half a second is another."""
        times = np.array([0, SECOND])
        first = Readings(times, np.array([10.0, 20.0]))
        second = Readings(times + 5_000_000, np.array([30.0, 60.0]))

        mean = mean_aligned([first, second])
        assert ([0, SECOND], [20.0, 40.0]) == (mean.time_ns.tolist(), mean.values.tolist())


class TestMoments:
    def test_of_several_workers_the_slowest_step_counts(self):
        """All wait for it. Where no step runs there is nan."""
        spans = {"worker_0": steps([1.0, 1.0]), "worker_1": steps([1.5]), "worker_2": steps([0.2])}
        (found,) = windows(made_profile(cores(np.ones(9)), spans))
        moments = START + SECOND // 2 * np.array([-1, 0, 2, 3, 4])

        expected = [np.nan, 1.5, 1.5, 1.0, np.nan]
        np.testing.assert_array_equal(expected, step_time(found, moments) / SECOND)

    def test_phases_are_counted_over_workers_and_moments(self):
        """And one in which nobody is, is not told."""
        spans = {"worker_0": steps([2.0], data=0.5), "worker_1": steps([2.0])}
        (found,) = windows(made_profile(cores(np.ones(9)), spans))
        moments = START + np.array([0, SECOND - 1, SECOND, 2 * SECOND])

        assert {"data": 2, "forward": 4} == phases_at(found, moments)
        assert {} == phases_at(found, moments[:0])
