"""The analysis of profiles by smdebug's names, on jobs of SageMaker and runs of ours."""

from __future__ import annotations

import cProfile
import json
import pstats
from pathlib import Path

import numpy as np
import pytest

from smdebug.exceptions import NoMoreProfilerData
from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader
from smdebug.profiler.analysis.notebook_utils.heatmap import Heatmap
from smdebug.profiler.analysis.notebook_utils.metrics_histogram import MetricsHistogram
from smdebug.profiler.analysis.notebook_utils.step_histogram import StepHistogram
from smdebug.profiler.analysis.notebook_utils.step_timeline_chart import StepTimelineChart
from smdebug.profiler.analysis.notebook_utils.timeline_charts import TimelineCharts
from smdebug.profiler.analysis.notebook_utils.training_job import TrainingJob
from smdebug.profiler.analysis.python_profile_analysis import PyinstrumentAnalysis, cProfileAnalysis
from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline, MergeUnit
from smdebug.profiler.analysis.utils.pandas_data_analysis import (
    PandasFrameAnalysis,
    Resource,
    StatsBy,
)
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
from smdebug.profiler.analysis.utils.python_profile_analysis_utils import Metrics
from smdebug.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis
from smdebug.profiler.python_profile_utils import PythonProfileModes, StepPhase
from smdebug.profiler.utils import TimeUnits
from smdebug.trials import create_trial
from stepwatch.errors import RunNotFound, StepUnavailable
from stepwatch.formats.profile.parts import PartsWriter
from stepwatch.formats.profile.tables import SPANS, SYSTEM, Sample, Span, spans_table, system_table
from stepwatch.store import open_store
from tests.support.compat.profiled_job import GPU, MINUTE_S, START_US, write_job

SECOND = 10**9


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The folder of a job on SageMaker."""
    return write_job(tmp_path_factory.mktemp("job"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run of ours: a core for ten seconds, ten steps."""
    folder = str(tmp_path_factory.mktemp("run"))
    store, start = open_store(folder), START_US * 1000
    samples = [Sample(start + at * SECOND, "cpu0", "busy_percent", 10.0 * at) for at in range(10)]
    spans = [
        Span(start + at * SECOND, SECOND // 2, "step", "TRAIN", "TRAIN", at) for at in range(10)
    ]
    spans += [
        Span(start + at * SECOND, SECOND // 5, "phase", "forward", "TRAIN", at) for at in range(10)
    ]
    PartsWriter(store, SYSTEM, "here").write(system_table("here", samples))
    PartsWriter(store, SPANS, "worker_0").write(spans_table("worker_0", spans))
    return folder


@pytest.fixture
def frame(job):
    return PandasFrame(job)


@pytest.fixture
def analysis(frame):
    return PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())


class TestReaders:
    def test_readings_are_events(self, job):
        """In SageMaker's own words."""
        events = LocalSystemMetricsReader(job).get_events(
            START_US, START_US + 10**7, event_type="gpu"
        )

        assert GPU == [event.value for event in events]
        first = events[0]
        expected = ("gpu", "gpu0", "GPUUtilization", "algo-1", MINUTE_S + 1)
        assert expected == (first.type, first.name, first.dimension, first.node_id, first.timestamp)

    def test_times_are_in_the_unit_that_is_said(self, job):
        """Ends included."""
        reader = LocalSystemMetricsReader(job)
        seconds = reader.get_events(MINUTE_S + 3, MINUTE_S + 4, TimeUnits.SECONDS, event_type="gpu")

        assert [90, 95] == [event.value for event in seconds]

    def test_intervals_are_events(self, job):
        """Whatever meets the time, with what was noted."""
        reader = LocalAlgorithmMetricsReader(job)
        events = reader.get_events(START_US, START_US + 10**7, event_type="Step:ModeKeys.TRAIN")

        assert [str(number) for number in range(6)] == [
            one.event_args["step_num"] for one in events
        ]
        assert (START_US + 2_000_000, 400_000, "algo-1-88", "88") == (
            events[0].start_time, events[0].duration, events[0].node_id, events[0].pid)  # fmt: skip
        assert {"TRAIN", "EVAL"} == {
            one.event_name.rpartition(".")[2]
            for one in reader.get_events_by_step(0, 0)
            if "Step" in one.event_name
        }

    def test_runs_of_ours_have_the_same_events(self, run):
        """By the names that smdebug would have given."""
        reader = LocalAlgorithmMetricsReader(run)
        events = reader.get_events_by_step(3, 3)

        assert {"Step:ModeKeys.TRAIN", "Forward"} == {one.event_phase for one in events}
        assert {"worker_0"} == {one.node_id for one in events}

    def test_a_reader_may_be_there_before_the_profile_is(self, tmp_path):
        """Notebooks are opened while the job starts."""
        reader = LocalSystemMetricsReader(str(tmp_path))
        assert 0 == reader.get_timestamp_of_latest_available_file()

        write_job(tmp_path)
        reader.refresh_event_file_list()
        assert START_US == reader.get_timestamp_of_first_available_file()

    def test_rules_of_profiles_wait_until_the_job_is_over(self, job, tmp_path):
        """Then there is no more."""
        trial = create_trial(job, profiler=True, output_dir=str(tmp_path / "out"))
        trial.wait_for_data(START_US + 1, START_US)
        assert 8 == len([e for e in trial.get_system_metrics(0, 2 * START_US) if e.type == "gpu"])
        assert 6 + 2 + 6 + 2 == len(trial.get_framework_metrics(0, 2 * START_US))

        over = write_job(tmp_path / "over")
        Path(over, "system", "END_OF_JOB.ts").touch()
        Path(over, "END_OF_JOB.ts").touch()
        Path(over, "training_job_end.ts").touch()
        ended = create_trial(over, profiler=True, output_dir=str(tmp_path / "out"))
        assert ended.job_finished()
        with pytest.raises(NoMoreProfilerData):
            ended.wait_for_data(2 * START_US, 2 * START_US)


class TestFrames:
    def test_the_columns_are_those_of_the_guides(self, frame):
        """Of readings and of intervals; times count from where the profile begins."""
        system, framework = frame.get_all_system_metrics(), frame.get_all_framework_metrics()

        of_system = "timestamp timestamp_us value system_metric dimension nodeID type"
        of_framework = (
            "start_time end_time start_time_us end_time_us tid pid framework_metric step bytes"
            " process nodeID"
        )
        assert of_system.split() == list(system.columns)
        assert of_framework.split() == list(framework.columns)
        assert "2020-06-03T05:04:01:000000" == system["timestamp"].iloc[0]
        assert (0, 32, 16) == (system["timestamp_us"].min(), len(system), len(framework))

    def test_a_part_may_be_asked_for(self, frame):
        """By name, by time and by step."""
        assert {"gpu0"} == set(frame.get_all_system_metrics(["gpu0"])["system_metric"])
        assert 6 == len(frame.get_all_framework_metrics(["Step:ModeKeys.TRAIN"]))
        system, framework = frame.get_profiler_data_by_step(2, 3)
        assert ({2, 3}, {3_000_000, 4_000_000} & set(system["timestamp_us"])) == (
            set(framework["step"]), set(system["timestamp_us"]))  # fmt: skip

    def test_what_ran_at_moments(self, frame):
        """Where a GPU was idle, for example."""
        phases, names, modes = frame.get_framework_metrics_by_timesteps(
            ["2020-06-03T05:04:03:200000"]
        )

        assert {"Step:ModeKeys.TRAIN": 400_000} == modes
        assert {"DataLoaderWorker": 1.0} == phases
        assert {"DataLoaderWorker": 4_000_000} == names

    def test_what_ran_in_stretches(self, frame):
        """Relative to the longest."""
        begin, end = ["2020-06-03T05:04:02:450000"], ["2020-06-03T05:04:02:600000"]
        phases, names = frame.get_framework_metrics_by_begin_and_end_timesteps(begin, end)

        assert {"DataLoaderWorker": 1.0, "DataLoaderIter::GetNext": 0.1} == pytest.approx(phases)
        assert 1.0 == max(names.values())

    def test_loaders_have_columns_of_their_own(self, frame):
        """As PyTorch's analysis wants them."""
        rows = frame.get_all_dataloader_metrics(["DataLoaderIterInitialize"])

        assert [(2, "True", 200_000)] == list(
            rows[["num_workers", "pin_memory", "duration_us"]].itertuples(index=False, name=None)
        )


class TestStatistics:
    def test_a_job_is_initialization_loop_and_finalization(self, analysis):
        """In milliseconds and percent."""
        told = analysis.get_job_statistics()

        expected = {"job_duration": 7000, "initialization": 2000, "training_loop_duration": 3450}
        assert expected == {name: pytest.approx(told[name]) for name in expected}
        assert 100 == pytest.approx(sum(told[f"{one}_%"] for one in ("initialization",
                                    "training_loop", "finalization")))  # fmt: skip
        assert "job_duration" in repr(told)

    @pytest.mark.parametrize("by", list(StatsBy))
    def test_how_long_steps_take(self, analysis, by):
        """By mode, by name and by phase."""
        table = analysis.get_step_statistics(by).set_index(by.value)

        row = table.loc["Step:ModeKeys.TRAIN"]
        assert [425_000, 400_000, 450_000] == pytest.approx(
            list(row[["duration_mean_us", "duration_min_us", "duration_max_us"]])
        )

    def test_how_much_was_used(self, analysis):
        """By kind of device, and by mode."""
        table = analysis.get_utilization_stats([Resource.GPU])
        assert [("gpu", "algo-1", 95.0)] == list(
            table[["Resource", "nodeID", "utilization_max"]].itertuples(index=False, name=None)
        )

        by_mode = analysis.get_utilization_stats(Resource.GPU, by=StatsBy.TRAINING_PHASE)
        assert (
            92.0
            == by_mode.set_index("Training_phase").loc["Step:ModeKeys.TRAIN"]["utilization_p50"]
        )
        assert 0 == len(analysis.get_utilization_stats(Resource.NETWORK))

    def test_how_readings_lie_in_ranges(self, analysis):
        """High ones count as high."""
        table = analysis.get_device_usage_stats(Resource.GPU)

        assert [("gpu", "algo-1", 4, 0, 4)] == list(table.itertuples(index=False, name=None))
        assert 0 == len(analysis.get_device_usage_stats(utilization_ranges=[(1, 2, 3)]))

    def test_when_the_job_was_in_which_mode(self, analysis):
        """And before, between and after."""
        table = analysis.get_training_phase_intervals()

        train, evaluation = "Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"
        assert [f"Before {train}", train, f"Between {evaluation} and {train}", evaluation,
                f"After {evaluation}"] == list(table["phase"])  # fmt: skip
        assert analysis.get_training_phase_intervals("nothing") is None

    def test_what_loaders_do_is_told(self, frame, capsys):
        """And what takes twice as long as usual is returned."""
        loaders = PT_dataloader_analysis(frame)
        loaders.analyze_dataloaderIter_initialization()
        slow = loaders.analyze_dataloader_getnext()

        assert "2 workers and pin_memory=True" in capsys.readouterr().out
        assert [400_000] == list(slow["duration_us"])
        assert loaders.analyze_dataloaderWorkers() is None
        assert loaders.analyze_batchtime() is None
        assert loaders.plot_the_window(START_US, START_US + 10**7).figure.data


class TestCharts:
    def readers(self, place):
        return LocalSystemMetricsReader(place), LocalAlgorithmMetricsReader(place)

    @pytest.mark.parametrize("place", ["job", "run"])
    def test_every_chart_is_drawn(self, place, request):
        """Of jobs on SageMaker, and of runs of ours."""
        system, framework = self.readers(request.getfixturevalue(place))
        charts = [
            MetricsHistogram(system).plot(),
            StepHistogram(framework).plot(),
            StepTimelineChart(framework).figure,
            Heatmap(system, select_dimensions=[".*"]).figure,
            TimelineCharts(system, framework).figure,
        ]

        assert all(len(figure.data) for figure in charts)

    def test_only_what_is_selected_is_drawn(self, job):
        """By SageMaker's names of numbers and devices."""
        system, framework = self.readers(job)
        histogram = MetricsHistogram(system).plot(select_dimensions=["GPU"], select_events=["gpu0"])
        assert ["algo-1 gpu0 busy_percent"] == [one.name for one in histogram.data]

        steps = StepHistogram(framework).plot(select_metrics=["Step:ModeKeys.EVAL"])
        assert 2 == sum(sum(one.y) for one in steps.data)

    def test_a_gpu_that_is_fully_used_is_counted(self, tmp_path):
        """The last bin ends at a hundred, included."""
        folder = tmp_path / "system"
        folder.mkdir()
        line = {"Type": "gpu", "Name": "gpu0", "Dimension": "GPUUtilization", "Value": 100.0,
                "NodeId": "algo-1", "Timestamp": MINUTE_S}  # fmt: skip
        (folder / f"{MINUTE_S}.algo-1.json").write_text(json.dumps(line))

        figure = MetricsHistogram(LocalSystemMetricsReader(str(tmp_path))).plot()
        assert 1 == sum(figure.data[0].y)

    def test_charts_follow_a_job(self, tmp_path):
        """Up to the time that is said."""
        job = write_job(tmp_path / "job")
        chart = StepTimelineChart(LocalAlgorithmMetricsReader(job))
        chart.update_data(START_US + 3_000_000)
        assert 2 == sum(len(one.y) for one in chart.figure.data)

        chart.clear()
        assert chart.figure is None

    def test_what_ran_while_a_gpu_was_idle_is_told(self, job, capsys):
        """From one reading to another."""
        system, framework = self.readers(job)
        charts = TimelineCharts(system, framework, select_dimensions=["GPU"])
        spent = charts.find_time_annotations([2, 3])

        assert 400 == pytest.approx(spent["Step:ModeKeys.TRAIN_0"])
        assert "cumulative time" in capsys.readouterr().out
        assert len(charts.plot_detailed_profiler_data([2, 3]).data[0].x) > 1
        assert {} == charts.find_time_annotations([])


class TestMergedTimeline:
    def test_a_trace_of_everything_is_written(self, job, tmp_path):
        """By time and by step; idle GPUs are marked."""
        merged = MergedTimeline(job, output_directory=str(tmp_path))
        by_time = json.loads(Path(merged.merge_timeline(START_US, START_US + 10**7)).read_text())
        name = merged.merge_timeline(0, 2, unit=MergeUnit.STEP, sys_metrics_filter={})
        by_step = json.loads(Path(name).read_text())

        def kinds(trace):
            return {kind: sum(one["ph"] == kind for one in trace["traceEvents"]) for kind in "XiC"}

        assert {"X": 16, "i": 4, "C": 32} == kinds(by_time)
        assert 0 == kinds(by_step)["i"]
        with pytest.raises(StepUnavailable):
            merged.merge_timeline(70, 80, unit="step")


class TestPythonProfiles:
    @pytest.fixture
    def profiled(self, tmp_path):
        """Folders as smdebug's hook leaves them, with what Python's own profiler wrote."""
        folder = tmp_path / "framework" / "pytorch" / "cprofile" / "88-algo-1"
        stretches = ["prestepzero-*-start-1000.0_train-0-stepstart-2000.0",
                     "train-0-stepstart-2000.0_train-0-stepend-3000.0",
                     "train-1-stepstart-3000.0_train-1-stepend-4000.0",
                     "train-1-stepend-4000.0_posthookclose-*-end-5000.0"]  # fmt: skip
        for stretch in stretches:
            (folder / stretch).mkdir(parents=True)
            profile = cProfile.Profile()
            profile.runcall(np.linalg.norm, np.ones(3))
            profile.dump_stats(folder / stretch / "python_stats")
        (folder / "notes").mkdir()
        (folder / "notes" / "python_stats").write_text("of something else")
        return tmp_path

    def test_steps_are_found_and_joined(self, profiled, capsys):
        """And sorted by what is asked for."""
        analysis = cProfileAnalysis(str(profiled))
        one = analysis.fetch_profile_stats_by_step(0)
        two = analysis.fetch_profile_stats_by_step(0, 1)

        assert isinstance(one.ps, pstats.Stats)
        calls = [
            {row.function_name: row.total_calls for row in stats.function_stats_list}
            for stats in (one, two)
        ]
        norm = next(name for name in calls[0] if "norm" in name)
        assert (1, 2) == (calls[0][norm], calls[1][norm])
        two.print_top_n_functions(Metrics.CUMULATIVE_TIME, n=3)
        assert "norm" in capsys.readouterr().out
        assert {"function_name", "cumulative_time"} <= set(two.get_function_stats().columns)

    def test_what_is_before_and_after_the_steps_is_found(self, profiled):
        """By itself, and as phases of the job."""
        analysis = cProfileAnalysis(str(profiled / "framework" / "pytorch" / "cprofile"))

        assert {"initialization", "training_loop", "finalization"} == set(
            analysis.fetch_profile_stats_by_job_phase()
        )
        assert analysis.fetch_pre_step_zero_profile_stats() is not None
        assert analysis.fetch_post_hook_close_profile_stats() is not None
        assert analysis.fetch_profile_stats_by_time(0.0035, 0.0039) is not None
        assert analysis.fetch_profile_stats_by_time(5, 6) is None
        between = analysis.fetch_profile_stats_between_modes(
            PythonProfileModes.TRAIN, PythonProfileModes.EVAL
        )
        assert between is None

    def test_what_was_profiled_is_listed(self, profiled):
        """A row each; nothing of what lies there besides."""
        analysis = cProfileAnalysis(str(profiled))
        table = analysis.list_profile_stats()

        assert (4, ["88-algo-1"]) == (len(table), analysis.list_available_node_ids())
        assert "prestepzero" == table["start_mode"].iloc[0]
        assert StepPhase.START == table["start_phase"].iloc[0]

    def test_pages_of_pyinstrument_are_found(self, tmp_path):
        """With their data."""
        folder = tmp_path / "pytorch" / "pyinstrument" / "88-algo-1"
        folder = folder / "train-3-stepstart-1.0_train-3-stepend-2.0"
        folder.mkdir(parents=True)
        (folder / "python_stats.json").write_text('{"duration": 1.5}')
        (folder / "python_stats.html").write_text("<html></html>")
        (found,) = PyinstrumentAnalysis(str(tmp_path)).fetch_profile_stats_by_step(3)

        assert ({"duration": 1.5}, True) == (found.json_stats, Path(found.html_file_path).exists())

    def test_profiles_elsewhere_are_brought_here(self, tmp_path):
        """Python's own reader wants files."""
        profile = cProfile.Profile()
        profile.runcall(sorted, [2, 1])
        profile.dump_stats(tmp_path / "stats")
        store = open_store("memory://python-profiles")
        folder = "framework/pytorch/cprofile/0-algo-1/train-3-stepstart-1.0_train-3-stepend-2.0"
        store.put(f"{folder}/python_stats", (tmp_path / "stats").read_bytes())

        analysis = cProfileAnalysis(str(tmp_path / "here"), s3_path="memory://python-profiles")
        assert analysis.fetch_profile_stats_by_step(3).function_stats_list


class Described:
    """A client of SageMaker that knows one job."""

    def __init__(self, answers):
        self.answers = answers

    def describe_training_job(self, TrainingJobName):  # noqa: N803 - boto3's name
        return self.answers[TrainingJobName]


class TestTrainingJob:
    @pytest.fixture
    def sagemaker(self, monkeypatch, tmp_path):
        """SageMaker with a profiled job and one that is not, instead of AWS."""
        write_job(tmp_path / "one" / "profiler-output")
        path = {"ProfilerConfig": {"S3OutputPath": f"file://{tmp_path}"}}
        answers = {
            "one": {"TrainingJobStatus": "InProgress", **path},
            "gone": {"TrainingJobStatus": "Failed", **path},
            "none": {"TrainingJobStatus": "InProgress"},
        }
        fake = type("boto3", (), {"client": staticmethod(lambda *_, **__: Described(answers))})
        monkeypatch.setattr(
            "smdebug.profiler.analysis.notebook_utils.training_job.require", lambda *_, **__: fake
        )

    def test_the_readers_of_a_job(self, sagemaker):
        """Where its description says that its profile lies."""
        job = TrainingJob("one", region="us-east-1")
        job.wait_for_sys_profiling_data_to_be_available()
        job.wait_for_framework_profiling_data_to_be_available()

        assert job.profiler_s3_output_path.endswith("/one/profiler-output")
        assert 32 == len(job.get_systems_metrics_reader().get_events(0, 2 * START_US))
        assert 16 == len(job.get_framework_metrics_reader().get_events(0, 2 * START_US))

    def test_nobody_waits_for_what_never_comes(self, sagemaker):
        """A job that is not profiled, and one that is over, are refused in a line."""
        with pytest.raises(RunNotFound, match="ProfilerConfig"):
            TrainingJob("none")
        with pytest.raises(RunNotFound, match="is over and left no profile"):
            TrainingJob("gone").wait_for_sys_profiling_data_to_be_available()
