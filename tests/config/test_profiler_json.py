"""SageMaker's profiler configuration: all that people write, and no text is ever run."""

from __future__ import annotations

import json
import logging

import pytest

from stepwatch.config import find_profiler_config, parse_profiler_config, read_profiler_config
from stepwatch.config.profiler_config import ProfilerConfig, Range
from stepwatch.errors import ConfigError, ConfigNotFound

#: What the SageMaker SDK writes for FrameworkProfile() with nothing given.
DEFAULT = {
    "LocalPath": "/opt/ml/output/profiler",
    "RotateMaxFileSizeInBytes": "10485760",
    "RotateFileCloseIntervalInSeconds": "60",
    "FileOpenFailThreshold": "50",
    "DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 1, }',
    "DataloaderProfilingConfig": '{"StartStep": 7, "NumSteps": 1, "MetricsRegex": ".*", }',
    "PythonProfilingConfig": '{"StartStep": 9, "NumSteps": 3, "ProfilerName": "cprofile", '
    '"cProfileTimer": "default", }',
    "HorovodProfilingConfig": '{"StartStep": 13, "NumSteps": 1, }',
    "SMDataParallelProfilingConfig": '{"StartStep": 15, "NumSteps": 1, }',
}


def parsed(parameters: object = None, **document: object) -> ProfilerConfig | None:
    if parameters is not None:
        document["ProfilingParameters"] = parameters
    return parse_profiler_config(json.dumps(document).encode(), "test")


class TestParsing:
    def test_what_the_sdk_writes_is_read(self):
        """Texts that are no JSON, with a comma too many, mean what they say."""
        config = parsed(DEFAULT, ProfilingIntervalInMilliseconds=1000)

        assert config == ProfilerConfig(
            interval_ms=1000,
            detailed=Range(first=5, steps=1),
            loader=Range(first=7, steps=1),
            python=Range(first=9, steps=3),
            timer="default",
            collectives=Range(first=15, steps=1),
        )

    def test_real_objects_are_read_as_well(self):
        """A file that was written by hand holds objects and numbers."""
        config = parsed({"DetailedProfilingConfig": {"StartStep": 3, "NumSteps": "2"}})

        assert Range(first=3, steps=2) == config.detailed

    @pytest.mark.parametrize("key", ["Duration", "DurationInSeconds", "DURATION"])
    def test_both_words_for_a_duration_are_known(self, key):
        """A range of time ends as it was configured."""
        value = {"StartTimeInSecSinceEpoch": 1_700_000_000, key: 30}

        config = parsed({"DetailedProfilingConfig": json.dumps(value)})

        assert Range(from_s=1_700_000_000, seconds=30) == config.detailed

    def test_keys_in_any_case_and_values_as_they_are(self):
        """The case of keys means nothing, that of a regular expression everything."""
        config = parsed({"dataLOADERprofilingConfig": '{"startstep": 2, "METRICSREGEX": "\\\\S+"}'})

        assert (Range(first=2), r"\S+") == (config.loader, config.loader_names)

    def test_step_0_is_a_step(self):
        """A range may begin at the first step."""
        assert Range(first=0) == parsed({"DetailedProfilingConfig": '{"StartStep": 0}'}).detailed

    def test_no_range_is_the_default_one(self):
        """Each metric has steps of its own, so that costs never add up."""
        config = parsed({"DetailedProfilingConfig": "{}", "PythonProfilingConfig": "{}"})

        assert (Range(first=5, steps=1), Range(first=9, steps=3)) == (
            config.detailed,
            config.python,
        )

    @pytest.mark.parametrize("timer", ["off_cpu", "off_cpu_time"])
    def test_both_words_for_a_timer_are_known(self, timer):
        """The documented word, and the one in the code."""
        asked = {"PythonProfilingConfig": json.dumps({"StartStep": 1, "cProfileTimer": timer})}

        assert "off_cpu_time" == parsed(asked).timer

    @pytest.mark.parametrize(
        "value",
        [
            '{"StartStep": "many"}',
            '{"StartStep": -1}',
            '{"NumSteps": 0}',
            '{"StartStep": 1, "Duration": 5}',
            '{"StartStep": True}',
            "__import__('os').system('touch /tmp/ran')",
            "[1, 2]",
            "{" * 5_000,
            7,
        ],
    )
    def test_what_cannot_be_meant_is_off_and_said(self, value, caplog, tmp_path):
        """One wrong metric is named; the others, and the training, go on; no text is run."""
        with caplog.at_level(logging.WARNING, "stepwatch"):
            config = parsed(
                {"DetailedProfilingConfig": value, "PythonProfilingConfig": '{"StartStep": 4}'}
            )

        assert (None, Range(first=4)) == (config.detailed, config.python)
        assert "detailed" in caplog.text

    def test_disabled_is_nothing(self):
        """DisableProfiler switches all of it off."""
        assert parsed(DEFAULT, DisableProfiler=True) is None
        assert parsed(DEFAULT, DisableProfiler="true") is None

    def test_no_parameters_leave_the_devices(self):
        """Only what is always on is profiled then."""
        assert ProfilerConfig() == parsed()
        assert ProfilerConfig() == parsed({})
        assert ProfilerConfig() == parsed(S3OutputPath="s3://bucket/there")

    def test_the_other_profiler_is_a_window_of_python(self):
        """What SageMaker Profiler is asked for is answered by what we have."""
        config = parsed({"CPUProfilingDuration": "3600", "SMPFileRotationSecs": "600"})

        assert (Range(seconds=3600), "pyinstrument") == (config.python, config.python_profiler)

    def test_the_intervals_that_can_be(self):
        """Devices are read every 10 ms at most."""
        assert 10 == parsed(ProfilingIntervalInMilliseconds="10").interval_ms
        with pytest.raises(ConfigError, match="10 ms or more"):
            parsed(ProfilingIntervalInMilliseconds=5)

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b'"x"', b"1e999999"])
    def test_what_is_no_document_is_an_error(self, data):
        """Half a file, or one of something else, is refused in a line."""
        with pytest.raises(ConfigError):
            parse_profiler_config(data, "test")


class TestFinding:
    def test_the_environment_names_a_file(self, tmp_path):
        """SageMaker's variable counts; a file that is not there is none."""
        file = tmp_path / "profilerconfig.json"
        file.write_text('{"ProfilingIntervalInMilliseconds": 200}')

        found = find_profiler_config({"SMPROFILER_CONFIG_PATH": str(file)})

        assert str(file) == found
        assert 200 == read_profiler_config(found).interval_ms
        assert find_profiler_config({"SMPROFILER_CONFIG_PATH": str(tmp_path / "no")}) is None
        assert find_profiler_config({}) is None

    def test_a_file_that_is_not_there_is_said(self, tmp_path):
        """The message says what to do."""
        with pytest.raises(ConfigNotFound, match="SMPROFILER_CONFIG_PATH"):
            read_profiler_config(tmp_path / "no.json")
