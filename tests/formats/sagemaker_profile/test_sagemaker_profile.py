"""Profiles of SageMaker, whole and damaged, give the tables that all profiles have."""

from __future__ import annotations

import gzip
from itertools import count

import pytest

from stepwatch import open_profile
from stepwatch.errors import RunNotFound
from stepwatch.formats.profile.sagemaker import SageMakerProfileReader
from stepwatch.formats.profile.tables import SPANS, SYSTEM
from stepwatch.store import open_store
from stepwatch.trial.profile import Profile
from tests.support.formats.sagemaker_profile.sagemaker_folders import (
    MINUTE_S,
    START_US,
    open_key,
    reading,
    step,
    system_key,
    tensorflow_trace,
    timeline_key,
    trace,
)

SECOND = 10**9
START = MINUTE_S * SECOND
_places = count()


def folder(**files):
    """Return a store that holds files, by key."""
    store = open_store(f"memory://sagemaker-profile-{next(_places)}")
    return put(store, files)


def put(store, files):
    for key, data in files.items():
        store.put(key, data if isinstance(data, bytes) else "\n".join(data).encode())
    return store


def column(table, *names):
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


class TestReadings:
    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [
            (("cpu", "cpu3", "CPUUtilization"), ("cpu3", "busy_percent")),
            (("cpu", "cpu3", "I/OWaitPercentage"), ("cpu3", "iowait_percent")),
            (("gpu", "gpu1", "GPUUtilization"), ("gpu1", "busy_percent")),
            (("gpu", "gpu1", "GPUMemoryUtilization"), ("gpu1", "memory_percent")),
            (("memory", "MemoryUsedPercent", ""), ("memory", "used_percent")),
            (("i/o", "IOPS", ""), ("disk", "iops")),
            (
                ("i/o", "WriteThroughputInBytesPerSecond", ""),
                ("disk", "write_bytes_per_second"),
            ),
            (
                ("network", "ReceiveBytesPerSecond", "Algorithm"),
                ("network", "receive_bytes_per_second"),
            ),
            (
                ("network", "ReceiveBytesPerSecond", "Platform"),
                ("network-platform", "receive_bytes_per_second"),
            ),
            (("tpu", "tpu0", "TPUUtilization"), ("tpu0", "TPUUtilization")),
        ],
    )
    def test_every_number_goes_by_our_name(self, theirs, ours):
        """What SageMaker never had goes by its own."""
        profile = open_profile(folder(**{system_key(): [reading(*theirs, 12.5, 7.25)]}))

        expected = ("algo-1", *ours, START + 7_250_000_000, 12.5, 1)
        assert [expected] == column(
            profile.system(), "node", "device", "metric", "time_ns", "value", "count"
        )

    def test_the_tables_are_those_of_all_profiles(self):
        """Whoever reads one reads the other."""
        profile = open_profile(
            folder(**{system_key(): [reading("gpu", "gpu0", "GPUUtilization", 1)]})
        )

        assert SYSTEM.schema == profile.system().schema
        assert SPANS.schema == profile.spans().schema

    def test_folders_without_hours_are_read(self):
        """As the first versions wrote them."""
        key = f"system/incremental/{MINUTE_S}.algo-1.json"

        assert 1 == len(
            open_profile(folder(**{key: [reading("cpu", "cpu0", "CPUUtilization", 1)]})).system()
        )

    @pytest.mark.parametrize(
        "line",
        [
            '{"Type": "cpu", "Name": "cpu0", "Dimension": "CPUUtilization", "Value": 4.8}',
            '{"Type": "cpu", "Name": "cp',
            '{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":"x","Timestamp":1}',
            '{"Type":"cpu","Name":"cpu0","Dimension":"","Value":NaN,"Timestamp":1}',
            '{"Type":"cpu","Name":"cpu0","Dimension":"","Value":1,"Timestamp":1e999}',
            "[1, 2]",
            "null",
            "\x00\xff",
        ],
    )
    def test_a_line_that_is_none_is_left_out_and_told(self, line):
        """And the lines about it are read."""
        good = [reading("cpu", "cpu0", "CPUUtilization", value) for value in (1, 2)]
        profile = open_profile(folder(**{system_key(): [good[0], line, good[1]]}))

        assert [1, 2] == profile.system().column("value").to_pylist()
        assert [f"{system_key()}: 1 record cannot be read, and are left out"] == [
            note.replace("is left out", "are left out") for note in profile.notes
        ]

    def test_only_files_of_the_time_are_read_again(self):
        """A long job has thousands of them."""
        store = folder(**{
            system_key(minute): [reading("cpu", "cpu0", "CPUUtilization", minute, 60 * minute)]
            for minute in range(40)
        })  # fmt: skip
        reader = SageMakerProfileReader(store)
        assert 40 == len(reader.system())
        for minute in range(39):
            store.delete(system_key(minute))
            put(store, {system_key(minute): ["changed"]})

        assert 5 == len(
            Profile(store, reader).system(START + 34 * 60 * SECOND, START + 39 * 60 * SECOND)
        )
        assert [] == reader.notes()

    def test_what_is_appended_is_seen(self):
        """The file of this minute grows."""
        lines = [reading("cpu", "cpu0", "CPUUtilization", value, value) for value in range(5)]
        store = folder(**{system_key(): lines[:2]})
        profile = open_profile(store)
        before = len(profile.system())
        put(store, {system_key(): lines})

        assert (2, 5) == (before, len(profile.system()))
        assert START + 4 * SECOND <= profile.bounds[1]

    def test_machines_are_known_by_their_devices(self):
        """Of each node how many cores and which GPUs."""
        files = {}
        for node in ("algo-1", "algo-2"):
            cores = [reading("cpu", f"cpu{n}", "CPUUtilization", 1) for n in range(4)]
            files[system_key(0, node)] = [*cores, reading("gpu", "gpu0", "GPUUtilization", 1)]
        machines = open_profile(folder(**files)).machines

        assert {"algo-1": (4, ("gpu0",)), "algo-2": (4, ("gpu0",))} == {
            name: (machine.cores, machine.gpus) for name, machine in machines.items()
        }


class TestIntervals:
    def test_steps_have_their_mode_and_number(self):
        """Numbers are texts there."""
        phases = {
            "Step:ModeKeys.TRAIN": [step(7, 500, 250)],
            "Step:ModeKeys.EVAL": [step(0, 900, 50, "EVAL")],
        }
        profile = open_profile(folder(**{timeline_key(950): trace(phases)}))

        assert [
            ("88-algo-1", "TRAIN", 7, START + 500_000, 250_000),
            ("88-algo-1", "EVAL", 0, START + 900_000, 50_000),
        ] == column(profile.steps(), "worker", "mode", "step", "start_ns", "duration_ns")

    def test_what_of_a_step_was_not_timed_is_other(self):
        """So that its phases sum to it."""
        forward = {"name": "net", "ts": 510, "dur": 100, "args": {"step_num": "7"}}
        phases = {"Step:ModeKeys.TRAIN": [step(7, 500, 250)], "Forward": [forward]}
        steps = open_profile(folder(**{timeline_key(950): trace(phases)})).steps()

        assert [(250_000, 100_000, 150_000)] == column(
            steps, "duration_ns", "forward_ns", "other_ns"
        )

    @pytest.mark.parametrize(
        ("phase", "name", "suffix", "kind", "ours"),
        [
            ("Forward", "net", "pythontimeline.json", "phase", "forward"),
            ("Forward-SubModuleInternal", "net.fc", "pythontimeline.json", "layer",
             "net.fc:forward"),
            ("Backward-SubModuleInternal", "net.fc", "pythontimeline.json", "layer",
             "net.fc:backward"),
            ("DataLoaderWorker", "fetch", "pythontimeline.json", "loader", "fetch"),
            ("DataIterator", "dataset::GetNext", "model_timeline.json", "loader",
             "dataset::GetNext"),
            ("NcclManager", "kAllReduce", "model_timeline.json", "collective", "kAllReduce"),
            ("gpu_functions-dev:0", "gemm", "pythontimeline.json", "operator", "gemm"),
            ("grad_0", "ALLREDUCE", "horovod_timeline.json", "collective", "grad_0:ALLREDUCE"),
            ("Bucket", "reduce", "smdataparallel_timeline.json", "collective", "reduce"),
            ("Something", "else", "pythontimeline.json", "other", "else"),
        ],
    )  # fmt: skip
    def test_every_phase_is_a_kind(self, phase, name, suffix, kind, ours):
        """What frameworks call it, and we."""
        event = {"name": name, "ts": 5, "dur": 2}
        profile = open_profile(folder(**{timeline_key(7, suffix): trace({phase: [event]})}))

        assert [(kind, ours)] == column(profile.spans(), "kind", "name")

    def test_begin_and_end_make_an_interval(self):
        """As Horovod writes them; one that never ends is none."""
        events = [
            {"name": "NEGOTIATE", "ph": "B", "ts": 10},
            {"name": "INNER", "ph": "B", "ts": 20},
            {"ph": "E", "ts": 25},
            {"ph": "E", "ts": 40},
            {"name": "OPEN", "ph": "B", "ts": 50},
            {"name": "CYCLE", "ph": "i", "ts": 60, "s": "g"},
        ]
        key = timeline_key(60, "horovod_timeline.json")
        spans = open_profile(folder(**{key: trace({"grad": events})})).spans()

        assert [("grad:NEGOTIATE", 30_000), ("grad:INNER", 5_000)] == column(
            spans, "name", "duration_ns"
        )

    @pytest.mark.parametrize("cut", [1, 2, 5, 30, 90])
    def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(self, cut):
        """The writer was killed, or still writes."""
        steps = [step(number, 100 * number, 50) for number in range(10)]
        data = trace({"Step:ModeKeys.TRAIN": steps})
        profile = open_profile(folder(**{timeline_key(999): data[:-cut]}))

        assert list(range(9)) == profile.steps().column("step").to_pylist()[:9]

    def test_records_that_cannot_be_meant_are_left_out_and_told(self):
        """A negative duration, a missing name, a time that is a text."""
        events = [
            step(1, 100, 50),
            step(2, 200, -50),
            {"ts": 300, "dur": 5},
            {"name": "x", "ts": "soon", "dur": 5},
            {"name": "x", "ts": 400, "dur": None},
        ]
        profile = open_profile(
            folder(**{timeline_key(500): trace({"Step:ModeKeys.TRAIN": events})})
        )

        assert [1] == profile.spans().column("step").to_pylist()
        assert ["4 records"] == [note.split(": ")[1][:9] for note in profile.notes]

    @pytest.mark.parametrize("data", [b"", b"[", b"{}", b"null", b"[[[", b"\xff\xfe", b"[" * 99999])
    def test_a_file_that_is_no_trace_is_no_error(self, data):
        """Whatever it holds."""
        whole = trace({"Step:ModeKeys.TRAIN": [step(1, 100, 50)]})
        profile = open_profile(folder(**{timeline_key(150): whole, timeline_key(160): data}))

        assert 1 == len(profile.spans())

    def test_a_file_that_is_being_written_is_read(self):
        """And what it holds is told once, also where its old name stays behind."""
        steps = [step(number, 100 * number, 50) for number in range(4)]
        store = folder(**{open_key(): trace({"Step:ModeKeys.TRAIN": steps[:2]}, closed=False)})
        profile = open_profile(store)
        assert [0, 1] == profile.steps().column("step").to_pylist()

        put(store, {open_key(): trace({"Step:ModeKeys.TRAIN": steps[:3]}, closed=False)})
        assert [0, 1, 2] == profile.steps().column("step").to_pylist()

        put(store, {timeline_key(250): trace({"Step:ModeKeys.TRAIN": steps[:3]})})
        assert [0, 1, 2] == profile.steps().column("step").to_pylist()

        put(store, {open_key(): trace({"Step:ModeKeys.TRAIN": steps[3:]}, closed=False)})
        assert [0, 1, 2, 3] == profile.steps().column("step").to_pylist()

    def test_the_trace_of_tensorflow_is_on_the_clock_of_the_rest(self):
        """Its times count from where its metadata say that it began."""
        place = "framework/tensorflow/detailed_profiling/2020060305/000000005/"
        key = f"{place}plugins/profile/2020_06_03/host.trace.json.gz"
        events = [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
            {"ph": "X", "pid": 1, "tid": 3, "ts": 12.5, "dur": 4, "name": "MatMul"},
        ]
        store = folder(**{
            key: tensorflow_trace(events),
            f"{place}55-host_{START_US}_{START_US + 900}.metadata": b"",
        })  # fmt: skip
        profile = open_profile(store)

        assert [("55-host", "operator", "MatMul", "1/3", START + 12_500)] == column(
            profile.spans(), "worker", "kind", "name", "thread", "start_ns"
        )
        assert [key] == profile.traces

    def test_a_zipped_trace_that_is_cut_off_is_no_error(self):
        """What is there is told, or that nothing is."""
        place = "framework/tensorflow/detailed_profiling/2020060305/000000005/plugins/profile/x/"
        data = tensorflow_trace([{"ph": "X", "pid": 1, "ts": 1, "dur": 4, "name": "MatMul"}])
        for number, bad in enumerate((data[:-9], data[:3], b"no gzip at all", gzip.compress(b""))):
            whole = trace({"Step:ModeKeys.TRAIN": [step(1, 100, 50)]})
            store = folder(**{f"{place}{number}.trace.json.gz": bad, timeline_key(150): whole})

            assert 1 <= len(open_profile(store).spans()) <= 2

    def test_a_million_of_seconds_in_one_interval_is_read_with_the_time_that_it_meets(self):
        """Horovod's clock jumps; what lies in between must not be lost."""
        long = {"name": "4", "ts": 10, "dur": 812_355_471_858}
        key = timeline_key(812_355_471_868, "horovod_timeline.json")
        profile = open_profile(folder(**{key: trace({"grad": [long]})}))

        assert 1 == len(profile.spans(START + SECOND, START + 2 * SECOND))
        assert 1 == len(profile.spans(START + SECOND, START + 2 * SECOND))
        assert 0 == len(profile.spans(START - 2 * SECOND, START - SECOND))


class TestPlaces:
    @pytest.mark.parametrize("root", ["", "profiler-output/", "profiler/"])
    def test_a_profile_is_found_where_jobs_have_it(self, root):
        """On S3, and in the container."""
        store = folder(**{root + system_key(): [reading("gpu", "gpu0", "GPUUtilization", 1)]})

        assert 1 == len(open_profile(store).system())

    def test_a_place_without_a_profile_is_told(self):
        """With what would be one."""
        with pytest.raises(RunNotFound, match="system/ and framework/"):
            open_profile(folder(**{"weights.pt": b"x"}))
