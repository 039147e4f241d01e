"""The profiler's configuration in the real SDK: given, shown, changed while training goes on."""

from __future__ import annotations

import time

import pytest
from sagemaker.debugger import (
    DataloaderProfilingConfig,
    DetailedProfilingConfig,
    FrameworkProfile,
    ProfilerConfig,
    ProfilerRule,
    PythonProfiler,
    PythonProfilingConfig,
    cProfileTimer,
    rule_configs,
)

from tests.support.sagemaker.sdk.estimators import pytorch

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(300)]


@pytest.fixture
def training(place, ended):
    """An estimator whose job trains until the test is over."""
    estimator = pytorch(place, hyperparameters={"steps": 10_000, "pause": 0.1})
    estimator.fit(wait=False)
    job = estimator.latest_training_job
    while "Training" != job.describe()["SecondaryStatus"]:
        time.sleep(0.2)
    yield estimator
    job.stop()
    ended(job.name, "Stopped")


class TestGiven:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, {"DisableProfiler": False}),
            ({"disable_profiler": True}, {"DisableProfiler": True}),
            (
                {"profiler_config": ProfilerConfig(system_monitor_interval_millis=1000)},
                {"DisableProfiler": False, "ProfilingIntervalInMilliseconds": 1000},
            ),
        ],
        ids=["nothing", "off", "an interval"],
    )
    def test_it_is_shown_as_it_was_given(self, place, ended, given, expected):
        """And whether the job is profiled at all."""
        estimator = pytorch(place, hyperparameters={"steps": 2}, **given)
        estimator.fit(wait=False)
        found = ended(estimator.latest_training_job.name)
        shown = found["ProfilerConfig"]

        assert expected == {name: shown.get(name) for name in expected}
        assert ("Disabled" if expected["DisableProfiler"] else "Enabled") == found[
            "ProfilingStatus"
        ]

    def test_what_frameworks_are_to_measure_is_kept_to_the_letter(self, place, ended):
        """Its inner texts are no JSON, and come back as they went."""
        profile = FrameworkProfile(
            detailed_profiling_config=DetailedProfilingConfig(start_step=3, num_steps=2),
            dataloader_profiling_config=DataloaderProfilingConfig(start_step=4),
            python_profiling_config=PythonProfilingConfig(
                start_step=5,
                python_profiler=PythonProfiler.CPROFILE,
                cprofile_timer=cProfileTimer.TOTAL_TIME,
            ),
        )
        config = ProfilerConfig(framework_profile_params=profile)
        estimator = pytorch(place, profiler_config=config, hyperparameters={"steps": 8})
        estimator.fit(wait=False)
        found = ended(estimator.latest_training_job.name)

        assert profile.profiling_parameters == found["ProfilerConfig"]["ProfilingParameters"]
        assert '{"StartStep": 3, "NumSteps": 2, }' in profile.profiling_parameters.values()
        path = estimator.latest_job_profiler_artifacts_path()
        assert f"{place}/out/{found['TrainingJobName']}/profiler-output" == path


class TestChanged:
    def test_the_interval_and_the_rules(self, training):
        """``update_profiler`` while it trains."""
        training.update_profiler(
            rules=[ProfilerRule.sagemaker(rule_configs.ProfilerReport())],
            system_monitor_interval_millis=200,
        )
        found = training.latest_training_job.describe()

        assert 200 == found["ProfilerConfig"]["ProfilingIntervalInMilliseconds"]
        assert ["ProfilerReport"] == [
            one["RuleConfigurationName"] for one in found["ProfilerRuleConfigurations"]
        ]

    def test_off_and_on_again(self, training):
        """Each refuses what is so already, by what the description says."""
        training.disable_profiling()
        assert "Disabled" == training.latest_training_job.describe()["ProfilingStatus"]
        with pytest.raises(ValueError, match="already disabled"):
            training.disable_profiling()
        training.enable_default_profiling()
        assert "Enabled" == training.latest_training_job.describe()["ProfilingStatus"]
        with pytest.raises(ValueError, match="already enabled"):
            training.enable_default_profiling()
