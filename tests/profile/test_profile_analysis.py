"""What the analysis of a profile tells, of ours and of SageMaker's, whole and joined."""

from __future__ import annotations

import gzip
import json
from itertools import count, pairwise

import numpy as np
import pytest

from stepwatch import open_profile
from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.tables import (
    SPANS,
    SYSTEM,
    Sample,
    Span,
    spans_table,
    system_table,
)
from stepwatch.profile.analysis import (
    device_statistics,
    interval_statistics,
    job_times,
    mode_stretches,
    ran_during,
    summarize,
    time_in_ranges,
)
from stepwatch.profile.timeline import merged_timeline, write_timeline
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile

MS = 10**6
SECOND = 1000 * MS
START = 1_700_000_000 * SECOND
_places = count()


def profile(system=(), spans=()):
    """Return a profile of one machine and one worker."""
    store = open_store(f"memory://analysed-{next(_places)}")
    PartsWriter(store, SYSTEM, "here").write(system_table("here", system))
    PartsWriter(store, SPANS, "worker_0").write(spans_table("worker_0", spans))
    return Profile(store)


def sample(after_s, device, value, metric="busy_percent"):
    return Sample(START + round(after_s * SECOND), device, metric, value)


def span(after_s, seconds, kind="step", name="TRAIN", mode="TRAIN", step=-1, thread="main"):
    took = round(seconds * SECOND)
    return Span(START + round(after_s * SECOND), took, kind, name, mode, step, thread)


def job():
    """Three seconds before the first step, two of training, one of evaluation, one second after."""
    spans = [span(3, 1, step=0), span(4, 2, step=1), span(7, 1, "step", "EVAL", "EVAL", 0)]
    spans += [span(4, 1.5, "phase", "data", step=1), span(5.5, 0.5, "phase", "forward", step=1)]
    system = [sample(at / 2, "gpu0", 90.0 if 6 <= at < 12 else 5.0) for at in range(19)]
    return profile(system, spans)


class TestTimes:
    def test_a_job_is_initialization_loop_and_finalization(self):
        """The loop ends with the end of the last step."""
        told = job_times(job()).seconds()

        assert {"job": 9, "initialization": 3, "training_loop": 5, "finalization": 1} == told

    def test_without_steps_only_the_job_is_told(self):
        """And of nothing nothing."""
        assert {"job": 1} == job_times(
            profile([sample(0, "cpu0", 1), sample(1, "cpu0", 1)])
        ).seconds()
        assert job_times(profile()) is None

    def test_modes_come_one_after_the_other(self):
        """With what is before, between and after."""
        told = [
            (
                row["mode"],
                (row["start_ns"] - START) / SECOND,
                (row["end_ns"] - START) / SECOND,
                row["steps"],
            )
            for row in mode_stretches(job()).to_pylist()
        ]

        assert [
            ("", 0, 3, 0),
            ("TRAIN", 3, 6, 2),
            ("", 6, 7, 0),
            ("EVAL", 7, 8, 1),
            ("", 8, 9, 0),
        ] == told


class TestStatistics:
    def test_steps_by_worker_and_mode(self):
        """In milliseconds."""
        table = interval_statistics(job()).to_pylist()

        assert [("EVAL", 1, 1000, 1000), ("TRAIN", 2, 1500, 2000)] == [
            (row["mode"], row["count"], row["mean_ms"], row["max_ms"]) for row in table
        ]

    def test_phases_by_name(self):
        """Whatever kind and columns."""
        table = interval_statistics(job(), "phase", ["name"]).to_pylist()

        assert {"data": 1500, "forward": 500} == {row["name"]: row["p50_ms"] for row in table}

    def test_joined_rows_count_as_what_they_stand_for(self):
        """The longest stays what it was."""
        spans = [span(number, 0.1 if number % 9 else 0.5, step=number) for number in range(90)]
        whole = interval_statistics(profile(spans=spans)).to_pylist()[0]
        few = Thin(profile(spans=spans), 10)
        joined = interval_statistics(few).to_pylist()[0]

        assert (whole["count"], whole["max_ms"]) == (joined["count"], joined["max_ms"])
        assert whole["mean_ms"] == pytest.approx(joined["mean_ms"])

    def test_devices_while_a_mode_ran(self):
        """The GPU is used in training only."""
        (whole,) = device_statistics(job()).to_pylist()
        (trained,) = device_statistics(job(), mode="TRAIN").to_pylist()

        assert (19, 5.0, 90.0) == (whole["count"], whole["min"], whole["max"])
        assert 90.0 == trained["p50"]
        assert [] == device_statistics(job(), mode="PREDICT").to_pylist()

    def test_time_in_ranges_sums_to_all_of_it(self):
        """Ends belong to the first range that has them."""
        table = time_in_ranges(job()).to_pylist()

        assert [(90, 6 / 19), (10, 0), (0, 13 / 19)] == [
            (row["low"], row["share"]) for row in table
        ]

    def test_a_summary_weighs_joined_rows(self):
        """A GPU that was busy at one of 901 readings is idle at p95, in four rows as well."""
        store = open_store(f"memory://analysed-{next(_places)}")
        table = system_table("here", [sample(at, "gpu0", 100.0 * (at == 3)) for at in range(4)])
        column = table.column_names.index("count")
        joined = table.set_column(column, "count", [[300, 300, 300, 1]])
        PartsWriter(store, SYSTEM, "here").write(joined)

        (gpu,) = summarize(Profile(store)).devices

        assert (0.0, 100.0) == (gpu.p95, gpu.max)
        assert 100 / 901 == pytest.approx(gpu.mean)

    def test_an_empty_profile_gives_empty_tables(self):
        """With the columns that others have."""
        for table in (interval_statistics(profile()), device_statistics(profile()),
                      time_in_ranges(profile()), mode_stretches(profile()),
                      ran_during(profile(), [], [])):  # fmt: skip
            assert 0 == len(table)
            assert len(table.column_names) >= 4


class Thin(Profile):
    """A profile of few rows."""

    def __init__(self, whole, points):
        super().__init__(whole.reader._store)
        self.points = points

    def spans(self, *arguments, **settings):
        return super().spans(*arguments, **{**settings, "points": self.points})


class TestCorrelation:
    def test_what_ran_while_a_gpu_was_idle(self):
        """The longest first, cut to the time that was asked for."""
        told = ran_during(job(), [START + 4 * SECOND], [START + 5 * SECOND]).to_pylist()

        names = {(row["kind"], row["name"]): row["overlap_ns"] // MS for row in told}
        assert {("step", "TRAIN"): 1000, ("phase", "data"): 1000} == {
            key: value for key, value in names.items() if value
        }

    def test_at_a_moment(self):
        """What covers it counts, and no time is spent in it."""
        at = START + round(5.75 * SECOND)
        told = ran_during(job(), [at], [at]).to_pylist()

        assert {"TRAIN", "forward"} == {row["name"] for row in told}


class TestMergedTimeline:
    def test_workers_and_machines_are_on_one_clock(self):
        """Microseconds since the first of them, which is told."""
        timeline = merged_timeline(job())
        slices = [event for event in timeline["traceEvents"] if event["ph"] == "X"]
        counters = [event for event in timeline["traceEvents"] if event["ph"] == "C"]

        assert START == timeline["otherData"]["start_ns"]
        assert (3e6, 1e6, {"step": 0, "mode": "TRAIN"}) == tuple(
            slices[2][key] for key in ("ts", "dur", "args")
        )
        assert ({"busy_percent": 5.0}, 0.0) == (counters[0]["args"], counters[0]["ts"])
        assert {1, 2} == {event["pid"] for event in timeline["traceEvents"]}

    def test_no_two_intervals_of_a_track_overlap(self):
        """But one may hold the other: viewers drop what is neither beside nor within."""
        random = np.random.default_rng(0)
        spans = [
            span(start, length, "layer", f"l{number}")
            for number, (start, length) in enumerate(random.uniform(0, 5, (300, 2)))
        ]
        events = merged_timeline(profile(spans=spans))["traceEvents"]
        tracks = {}
        for event in (one for one in events if one["ph"] == "X"):
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))

        assert 300 == sum(map(len, tracks.values()))
        for track in tracks.values():
            for (_, end), (start, stop) in pairs(track):
                assert start >= end - 1e-3 or stop <= end + 1e-3

    def test_moments_of_an_idle_gpu_are_marked(self):
        """Where that is asked for."""
        marks = [
            one
            for one in merged_timeline(job(), low_gpu_percent=85)["traceEvents"]
            if one["ph"] == "i"
        ]

        assert 13 == len(marks)
        assert not [one for one in merged_timeline(job())["traceEvents"] if one["ph"] == "i"]

    def test_only_what_meets_the_time_is_in_it(self):
        """From here, and before."""
        timeline = merged_timeline(job(), START + 7 * SECOND, START + 8 * SECOND)

        assert ["EVAL"] == [one["name"] for one in timeline["traceEvents"] if one["ph"] == "X"]

    @pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
    def test_it_is_written_as_viewers_read_it(self, name, tmp_path):
        """Compressed where the name says so."""
        write_timeline(str(tmp_path / name), merged_timeline(job()))
        data = (tmp_path / name).read_bytes()

        assert merged_timeline(job()) == json.loads(
            gzip.decompress(data) if name.endswith("gz") else data
        )


def pairs(track):
    """Return each interval with the ones that follow it and begin before it ends."""
    ordered = sorted(track)
    return [
        (one, other)
        for place, one in enumerate(ordered)
        for other in ordered[place + 1 :]
        if other[0] < one[1]
    ] + [pair for pair in pairwise(ordered) if pair[1][0] >= pair[0][1]]


def test_a_job_on_sagemaker_is_analysed_alike():
    """Its files give the same tables."""
    store = open_store("memory://analysed-sagemaker")
    minute = 1591160640
    lines = [
        json.dumps({"Type": "gpu", "Name": "gpu0", "Dimension": "GPUUtilization", "Value": 3.0,
                    "NodeId": "algo-1", "Timestamp": minute + at})
        for at in range(5)
    ]  # fmt: skip
    store.put(f"system/incremental/2020060305/{minute}.algo-1.json", "\n".join(lines).encode())
    events = [
        {"ph": "M", "pid": 0, "name": "process_name",
         "args": {"start_time_since_epoch_in_micros": minute * 10**6}},
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "Step:ModeKeys.TRAIN"}},
        {"ph": "X", "pid": 1, "name": "Step:ModeKeys.TRAIN", "ts": 10**6, "dur": 2 * 10**6,
         "args": {"step_num": "0"}},
    ]  # fmt: skip
    key = f"framework/pevents/2020060305/{minute * 10**6 + 3 * 10**6}_1-host_pythontimeline.json"
    store.put(key, json.dumps(events).encode())
    found = open_profile(store)

    assert {"job": 4, "initialization": 1, "training_loop": 2, "finalization": 1} == job_times(
        found
    ).seconds()
    assert [2000.0] == interval_statistics(found).column("mean_ms").to_pylist()
    assert [5] == device_statistics(found).column("count").to_pylist()
    assert 6 < len(merged_timeline(found)["traceEvents"])
