"""The SDK that came after: its resource ``TrainingJob`` keeps all of Debugger's blocks."""

from __future__ import annotations

import io
import tarfile
import uuid

import boto3
import pytest
from sagemaker.core.resources import TrainingJob
from sagemaker.core.shapes import (
    AlgorithmSpecification,
    CollectionConfiguration,
    DebugHookConfig,
    DebugRuleConfiguration,
    OutputDataConfig,
    ProfilerConfig,
    ProfilerConfigForUpdate,
    ResourceConfig,
    StoppingCondition,
    TensorBoardOutputConfig,
)
from sagemaker.core.utils.exceptions import FailedStatusError

from tests.support.sagemaker.served import ROLE, SCRIPTS

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(300)]


@pytest.fixture
def create(place):
    """Return a function that creates a job which trains with such parameters."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(SCRIPTS / "train.py", "train.py")
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    boto3.client("s3").put_object(Bucket=bucket, Key=f"{prefix}/code.tar.gz", Body=data.getvalue())

    def make(parameters, **more):
        return TrainingJob.create(
            training_job_name=f"core-{uuid.uuid4().hex[:8]}",
            algorithm_specification=AlgorithmSpecification(
                training_image="img:1", training_input_mode="File"
            ),
            output_data_config=OutputDataConfig(s3_output_path=f"{place}/out"),
            stopping_condition=StoppingCondition(max_runtime_in_seconds=3600),
            resource_config=ResourceConfig(
                instance_count=1, instance_type="ml.m5.xlarge", volume_size_in_gb=30
            ),
            role_arn=ROLE,
            hyper_parameters={
                "sagemaker_program": "train.py",
                "sagemaker_submit_directory": f"{place}/code.tar.gz",
                **parameters,
            },
            **more,
        )

    return make


class TestTrainingJob:
    def test_hook_rules_and_profiler(self, create, place):
        """All are given, all are shown, and the rule says what it found."""
        job = create(
            {"steps": "12", "spoil": "7"},
            debug_hook_config=DebugHookConfig(
                s3_output_path=f"{place}/hook",
                collection_configurations=[
                    CollectionConfiguration(
                        collection_name="losses", collection_parameters={"save_interval": "1"}
                    )
                ],
            ),
            debug_rule_configurations=[
                DebugRuleConfiguration(
                    rule_configuration_name="mine",
                    rule_evaluator_image="any",
                    rule_parameters={
                        "rule_to_invoke": "ExplodingTensor", "collection_names": "losses",
                    },
                )
            ],
            tensor_board_output_config=TensorBoardOutputConfig(s3_output_path=f"{place}/tb"),
            profiler_config=ProfilerConfig(
                s3_output_path=f"{place}/out", profiling_interval_in_milliseconds=500
            ),
        )  # fmt: skip
        job.wait(poll=1)
        job.refresh()
        (status,) = job.debug_rule_evaluation_statuses

        assert "Completed" == job.training_job_status
        assert ("mine", "IssuesFound") == (
            status.rule_configuration_name, status.rule_evaluation_status,
        )  # fmt: skip
        assert "at step 7" in status.status_details
        assert f"{place}/hook" == job.debug_hook_config.s3_output_path
        assert 500 == job.profiler_config.profiling_interval_in_milliseconds
        listing = boto3.client("s3").list_objects_v2(
            Bucket=place.split("/")[2],
            Prefix=f"{place.split('/', 3)[3]}/hook/{job.training_job_name}/debug-output/",
        )
        assert listing["KeyCount"] > 0

    def test_it_is_found_updated_and_stopped(self, create):
        """By its name, by another process for all that it knows."""
        name = create({"steps": "10000", "pause": "0.1"}).training_job_name
        job = TrainingJob.get(training_job_name=name)
        job.update(profiler_config=ProfilerConfigForUpdate(disable_profiler=True))
        job.refresh()
        assert "Disabled" == job.profiling_status
        job.stop()
        job.wait(poll=1)
        job.refresh()

        assert "Stopped" == job.training_job_status
        assert name in {one.training_job_name for one in TrainingJob.get_all(name_contains=name)}

    def test_one_that_fails_says_why(self, create):
        job = create({"steps": "4", "fail": "2"})
        with pytest.raises(FailedStatusError, match="step 2 cannot be done"):
            job.wait(poll=1)
