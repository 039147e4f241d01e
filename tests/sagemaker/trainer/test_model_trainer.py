"""The SDK from version 3 on: ``ModelTrainer`` trains, and its jobs are watched."""

from __future__ import annotations

import json

import boto3
import pytest
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.shapes import MetricDefinition, OutputDataConfig
from sagemaker.core.training.configs import Compute, InputData, SourceCode
from sagemaker.core.utils.exceptions import FailedStatusError
from sagemaker.train.distributed import Torchrun
from sagemaker.train.model_trainer import ModelTrainer

from tests.support.sagemaker.served import ROLE, SCRIPTS

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(300)]

DEBUGGER = {
    "DebugHookConfig": {
        "HookParameters": {"save_interval": "1"},
        "CollectionConfigurations": [{"CollectionName": "losses"}],
    },
    "DebugRuleConfigurations": [
        {
            "RuleConfigurationName": "mine",
            "RuleParameters": {"rule_to_invoke": "ExplodingTensor", "collection_names": "losses"},
        }
    ],
    "ProfilerConfig": {"ProfilingIntervalInMilliseconds": 500},
}


@pytest.fixture
def trainer(place):
    """Return a function that makes a trainer of a script, with a few parameters."""

    def make(entry_script="train.py", hyperparameters=None, instances=1, **more):
        return ModelTrainer(
            training_image="img:1",
            role=ROLE,
            sagemaker_session=Session(),
            source_code=SourceCode(source_dir=str(SCRIPTS), entry_script=entry_script),
            compute=Compute(instance_type="ml.m5.large", instance_count=instances),
            output_data_config=OutputDataConfig(s3_output_path=f"{place}/out"),
            hyperparameters=hyperparameters or {},
            base_job_name="trainer",
            **more,
        )

    return make


def trained(one, **how):
    """Train, and return the description of the job."""
    one.train(**{"wait": False, **how})
    return one._latest_training_job


def printed(job):
    """Return what the processes of a job printed."""
    logs, group = boto3.client("logs"), {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    streams = logs.describe_log_streams(**group, logStreamNamePrefix=f"{job}/")["logStreams"]
    return [
        event["message"]
        for stream in streams
        for event in logs.get_log_events(
            **group, logStreamName=stream["logStreamName"], startFromHead=True
        )["events"]
    ]


class TestTrain:
    def test_it_trains_its_script_with_its_data(self, trainer, ended, tmp_path, place):
        """The SDK uploads both, waits, and shows what is printed; the model is stored."""
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "one.txt").write_text("1")
        one = trainer(hyperparameters={"steps": 3, "learning-rate": 0.5})
        one.with_metric_definitions([MetricDefinition(name="loss", regex=r"loss (\S+)")])
        data = InputData(channel_name="training", data_source=str(tmp_path / "data"))
        job = trained(one, input_data_config=[data], wait=True, logs=True)
        found = ended(job.training_job_name)

        assert 3 == sum("loss" in line for line in printed(job.training_job_name))
        assert "loss" == found["FinalMetricDataList"][0]["MetricName"]
        assert ["training", "code", "sm_drivers"] == [
            channel["ChannelName"] for channel in found["InputDataConfig"]
        ]
        assert "sagemaker_program" not in found["HyperParameters"]
        bucket, _, key = found["ModelArtifacts"]["S3ModelArtifacts"][5:].partition("/")
        assert boto3.client("s3").head_object(Bucket=bucket, Key=key)["ContentLength"] > 0
        assert "DebugHookConfig" not in found

    def test_one_that_fails_says_why(self, trainer):
        one = trainer(hyperparameters={"steps": 4, "fail": 2})
        with pytest.raises(FailedStatusError, match="step 2 cannot be done"):
            one.train()

    @pytest.mark.parametrize(
        ("instances", "distributed"), [(2, None), (1, Torchrun(process_count_per_node=2))]
    )
    def test_its_processes_train_together(self, trainer, ended, instances, distributed):
        """In one process group: ranks meet, and the gradients of all make the weights of each."""
        one = trainer("together.py", instances=instances, distributed=distributed)
        name = trained(one).training_job_name
        ended(name)
        lines = [line for line in printed(name) if line.startswith("rank")]

        assert [
            "rank 0 of 2, met [0, 1], weights alike: True",
            "rank 1 of 2, met [0, 1], weights alike: True",
        ] == sorted(lines)

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ({"command": "bash run.sh"}, "is not a Python and a script alone"),
            ({"entry_script": "run.sh"}, "must be a Python file"),
        ],
    )
    def test_what_is_no_python_script_is_refused(self, trainer, source, why, tmp_path):
        """Before anything is begun, with the reason."""
        (tmp_path / "run.sh").write_text("echo")
        one = trainer()
        one.source_code = SourceCode(source_dir=str(tmp_path), **source)
        with pytest.raises(Exception, match=why):
            one.train(wait=False)


class TestWatched:
    @pytest.mark.parametrize("in_file", [False, True])
    def test_hooks_rules_and_profiling_come_by_a_variable(
        self, trainer, ended, place, tmp_path, in_file
    ):
        """Its text, or a file of the source that it names; all is shown, as for estimators."""
        text = json.dumps(DEBUGGER)
        one = trainer(hyperparameters={"steps": 12, "spoil": 7})
        if in_file:
            for script in SCRIPTS.glob("*.py"):
                (tmp_path / script.name).write_text(script.read_text())
            (tmp_path / "debugger.json").write_text(text)
            one.source_code = SourceCode(source_dir=str(tmp_path), entry_script="train.py")
        one.environment = {"STEPWATCH_DEBUGGER": "debugger.json" if in_file else text}
        job = trained(one)
        found = ended(job.training_job_name)
        job.refresh()
        (status,) = job.debug_rule_evaluation_statuses

        assert ("mine", "IssuesFound") == (
            status.rule_configuration_name,
            status.rule_evaluation_status,
        )
        assert "at step 7" in status.status_details
        assert f"{place}/out" == found["DebugHookConfig"]["S3OutputPath"]
        assert 500 == job.profiler_config.profiling_interval_in_milliseconds
        listing = boto3.client("s3").list_objects_v2(
            Bucket=place.split("/")[2],
            Prefix=f"{place.split('/', 3)[3]}/out/{job.training_job_name}/debug-output/",
        )
        assert listing["KeyCount"] > 0

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("{", "is no JSON"),
            ("none.json", "there is no none.json"),
            ('{"HyperParameters": {}}', "has 'HyperParameters'"),
            ('{"DebugHookConfig": {"HookParameters": 1}}', "hookParameters: int"),
        ],
    )
    def test_a_variable_that_cannot_be_meant_is_refused(self, trainer, text, why):
        one = trainer(environment={"STEPWATCH_DEBUGGER": text})
        with pytest.raises(Exception, match=why):
            one.train(wait=False)


def test_roles_may_do_everything():
    """The SDK asks before it uploads."""
    found = boto3.client("iam").simulate_principal_policy(
        PolicySourceArn=ROLE,
        ActionNames=["s3:PutObject", "s3:GetObject"],
        ResourceArns=["arn:aws:s3:::clients/*"],
    )

    assert {"s3:PutObject": "allowed", "s3:GetObject": "allowed"} == {
        one["EvalActionName"]: one["EvalDecision"] for one in found["EvaluationResults"]
    }
    assert not found["IsTruncated"]
