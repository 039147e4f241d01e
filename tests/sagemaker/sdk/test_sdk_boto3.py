"""boto3 as it is, without the SDK: requests by hand, lists and pages, and how errors look."""

from __future__ import annotations

import io
import tarfile
import uuid

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.sagemaker.served import ROLE, SCRIPTS

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(300)]


@pytest.fixture
def sagemaker():
    return boto3.client("sagemaker")


@pytest.fixture
def request_of(place):
    """Return a function that makes a whole request from what of it is different."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name in ("train.py", "told.py"):
            archive.add(SCRIPTS / name, name)
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    boto3.client("s3").put_object(Bucket=bucket, Key=f"{prefix}/code.tar.gz", Body=data.getvalue())

    def make(program="told.py", **more):
        return {
            "TrainingJobName": f"by-hand-{uuid.uuid4().hex[:8]}",
            "AlgorithmSpecification": {"TrainingImage": "img:1", "TrainingInputMode": "File"},
            "OutputDataConfig": {"S3OutputPath": f"{place}/out"},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
            "ResourceConfig": {
                "VolumeSizeInGB": 30, "InstanceCount": 1, "InstanceType": "ml.m5.xlarge",
            },
            "RoleArn": ROLE,
            "HyperParameters": {
                "sagemaker_program": program,
                "sagemaker_submit_directory": f"{place}/code.tar.gz",
            },
            **more,
        }  # fmt: skip

    return make


def refused(call, **request):
    """Return code and message of an error, which must be one of the client's doing."""
    with pytest.raises(ClientError) as caught:
        call(**request)
    response = caught.value.response
    assert 400 == response["ResponseMetadata"]["HTTPStatusCode"]
    assert response["ResponseMetadata"]["RequestId"]
    return response["Error"]["Code"], response["Error"]["Message"]


class TestRequests:
    def test_everything_of_debugger_in_one(self, sagemaker, request_of, place, ended):
        """What was asked for is what is described, block by block."""
        blocks = {
            "DebugHookConfig": {
                "S3OutputPath": f"{place}/hook",
                "LocalPath": "/opt/ml/output/tensors",
                "HookParameters": {"save_interval": "2"},
                "CollectionConfigurations": [
                    {"CollectionName": "gradients", "CollectionParameters": {"save_interval": "1"}}
                ],
            },
            "DebugRuleConfigurations": [
                {
                    "RuleConfigurationName": "VanishingGradient",
                    "RuleEvaluatorImage": "any/sagemaker-debugger-rules:latest",
                    "RuleParameters": {"rule_to_invoke": "VanishingGradient"},
                }
            ],
            "TensorBoardOutputConfig": {"S3OutputPath": f"{place}/tb", "LocalPath": "/local/tb"},
            "ProfilerConfig": {
                "S3OutputPath": f"{place}/out",
                "DisableProfiler": False,
                "ProfilingIntervalInMilliseconds": 500,
            },
            "ProfilerRuleConfigurations": [
                {
                    "RuleConfigurationName": "ProfilerReport",
                    "RuleEvaluatorImage": "any/sagemaker-debugger-rules:latest",
                    "RuleParameters": {"rule_to_invoke": "ProfilerReport"},
                }
            ],
        }
        request = request_of("train.py", **blocks)
        arn = sagemaker.create_training_job(**request)["TrainingJobArn"]
        found = ended(request["TrainingJobName"])

        assert arn == found["TrainingJobArn"]
        for name in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
            (rule,) = request[name]
            request[name] = [{**rule, "LocalPath": "/opt/ml/processing/output/rule/"}]
        assert request == {name: found[name] for name in request}
        (entry,) = found["DebugRuleEvaluationStatuses"]
        assert ("VanishingGradient", "NoIssuesFound") == (
            entry["RuleConfigurationName"], entry["RuleEvaluationStatus"],
        )  # fmt: skip
        statuses = [one["Status"] for one in found["SecondaryStatusTransitions"]]
        assert ["Starting", "Downloading", "Training", "Uploading", "Completed"] == statuses

    def test_lists_are_filtered_sorted_and_paged(self, sagemaker, request_of, ended):
        """By name, status and time, one page after another."""
        mark = uuid.uuid4().hex[:8]
        names = [f"{mark}-{number}" for number in range(5)]
        for name in names:
            sagemaker.create_training_job(**request_of(TrainingJobName=name))
        for name in names:
            ended(name)
        pages = sagemaker.get_paginator("list_training_jobs").paginate(
            NameContains=mark, SortBy="Name", SortOrder="Ascending", StatusEquals="Completed",
            PaginationConfig={"PageSize": 2},
        )  # fmt: skip
        listed = [
            [one["TrainingJobName"] for one in page["TrainingJobSummaries"]] for page in pages
        ]

        assert [names[:2], names[2:4], names[4:]] == listed
        none = sagemaker.list_training_jobs(NameContains=mark, StatusEquals="Failed")
        assert [] == none["TrainingJobSummaries"]

    def test_tags_are_kept(self, sagemaker, request_of, ended):
        tags = [{"Key": "team", "Value": "vision"}]
        request = request_of(Tags=tags)
        arn = sagemaker.create_training_job(**request)["TrainingJobArn"]
        ended(request["TrainingJobName"])
        sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "more", "Value": "1"}])

        assert [*tags, {"Key": "more", "Value": "1"}] == sagemaker.list_tags(ResourceArn=arn)[
            "Tags"
        ]

    def test_who_is_asking_has_an_account(self):
        """Of zeros."""
        assert "000000000000" == boto3.client("sts").get_caller_identity()["Account"]


class TestErrors:
    def test_a_name_that_is_taken(self, sagemaker, request_of, ended):
        request = request_of()
        sagemaker.create_training_job(**request)
        code, message = refused(sagemaker.create_training_job, **request)
        ended(request["TrainingJobName"])

        assert "ResourceInUse" == code
        assert request["TrainingJobName"] in message

    def test_a_job_that_is_not_there(self, sagemaker):
        code, message = refused(sagemaker.describe_training_job, TrainingJobName="nobody")

        assert ("ValidationException", "Requested resource not found.") == (code, message)

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"TrainingJobName": "under_score"}, "trainingJobName"),
            ({"TrainingJobName": "x" * 64}, "trainingJobName"),
            ({"OutputDataConfig": {"S3OutputPath": "http://no"}}, "s3OutputPath"),
            ({"HyperParameters": {"k": "v" * 3000}}, "hyperParameters"),
            (
                {
                    "DebugHookConfig": {
                        "S3OutputPath": "s3://b/p",
                        "HookParameters": {"k": "v" * 257},
                    }
                },
                "hookParameters",
            ),
        ],
        ids=["pattern", "length", "path", "a long value", "a long parameter"],
    )
    def test_what_the_service_would_not_take(self, sagemaker, request_of, wrong, named):
        """In its words, and nothing is begun."""
        request = request_of(**wrong)
        code, message = refused(sagemaker.create_training_job, **request)

        assert "ValidationException" == code
        assert named.lower() in message.lower()
        assert "constraint" in message or "enum" in message.lower()
        listed = sagemaker.list_training_jobs(MaxResults=100)["TrainingJobSummaries"]
        assert request["TrainingJobName"] not in {one["TrainingJobName"] for one in listed}

    def test_an_interval_that_there_is_not(self, sagemaker, request_of):
        """The client does not check it; the service does."""
        config = {"S3OutputPath": "s3://b/p", "ProfilingIntervalInMilliseconds": 123}
        code, message = refused(sagemaker.create_training_job, **request_of(ProfilerConfig=config))

        assert "ValidationException" == code
        assert "500" in message

    def test_a_job_without_a_script(self, sagemaker, request_of):
        """There are no images here to train by themselves; that is said, with what to do."""
        code, message = refused(
            sagemaker.create_training_job, **request_of(HyperParameters={"epochs": "1"})
        )

        assert "ValidationException" == code
        assert "sagemaker_program" in message

    def test_to_stop_what_has_ended(self, sagemaker, request_of, ended):
        request = request_of()
        sagemaker.create_training_job(**request)
        ended(request["TrainingJobName"])
        name = {"TrainingJobName": request["TrainingJobName"]}

        assert "ValidationException" == refused(sagemaker.stop_training_job, **name)[0]
        assert (
            "ValidationException"
            == refused(
                sagemaker.update_training_job, **name, ProfilerConfig={"DisableProfiler": True}
            )[0]
        )

    def test_what_is_not_there_is_said(self, sagemaker):
        """An action of SageMaker that is none of ours, in the shape of an error of AWS."""
        code, message = refused(sagemaker.list_endpoints)

        assert ("UnknownOperationException", True) == (code, "ListEndpoints" in message)
