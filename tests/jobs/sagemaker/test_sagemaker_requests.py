"""Requests of real clients: what is refused, in AWS's words, and what is told of jobs."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from itertools import count

import pytest
from botocore.exceptions import ClientError

from stepwatch.jobs.container_env import variables, write_files
from stepwatch.jobs.paths import JobPaths
from stepwatch.jobs.records import Records
from stepwatch_smdebug.sagemaker.account import Account
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request, rule, shared, shared_client

_numbers = count()


@pytest.fixture
def name():
    """Return a name that no other test has."""
    return f"asked-{next(_numbers)}"


@pytest.fixture
def client():
    return shared_client()


def noted(name, **more):
    """Note a job that nobody carries out."""
    records = shared().records
    records.add(job_spec(request(name, **more), Account(records)))
    return records


def refusal(call, **asked):
    """Return the code and the message of the error that a call raises."""
    with pytest.raises(ClientError) as caught:
        call(**asked)
    return caught.value.response["Error"]["Code"], caught.value.response["Error"]["Message"]


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "why"),
        [
            (
                {"TrainingJobName": "a_b"},
                "1 validation error detected: Value 'a_b' at 'trainingJobName' failed to satisfy"
                " constraint: Member must satisfy regular expression pattern: ",
            ),
            ({"TrainingJobName": "a" * 64}, "Member must have length less than or equal to 63"),
            ({"RoleArn": None}, "Value null at 'roleArn' failed to satisfy constraint: Member"),
            (
                {"DebugHookConfig": {"CollectionConfigurations": []}},
                "Value null at 'debugHookConfig.s3OutputPath' failed to satisfy constraint",
            ),
            (
                {
                    "DebugHookConfig": {
                        "S3OutputPath": "s3://b/p",
                        "HookParameters": {str(n): "1" for n in range(21)},
                    }
                },
                "at 'debugHookConfig.hookParameters' failed to satisfy constraint: Member must have"
                " length less than or equal to 20",
            ),
            (
                {"DebugRuleConfigurations": [{"RuleConfigurationName": "r"}]},
                "Value null at 'debugRuleConfigurations.1.member.ruleEvaluatorImage'",
            ),
            (
                {"DebugRuleConfigurations": [rule("r", threshold="9" * 257)]},
                "less than or equal to 256",
            ),
            (
                {"OutputDataConfig": {"S3OutputPath": "ftp://x"}},
                "at 'outputDataConfig.s3OutputPath'",
            ),
            (
                {"StoppingCondition": {"MaxRuntimeInSeconds": 0}},
                "Member must have value greater than or equal to 1",
            ),
            (
                {
                    "ProfilerConfig": {
                        "S3OutputPath": "s3://b",
                        "ProfilingIntervalInMilliseconds": 7,
                    }
                },
                "must be one of 100, 200, 500, 1000, 5000, 60000, got 7",
            ),
            (
                {"DebugRuleConfigurations": [rule("r"), rule("r")]},
                "must be unique, and 'r' is given more than once",
            ),
        ],
        ids=lambda value: None if isinstance(value, dict) else str(value)[:20],
    )
    def test_what_aws_would_not_take(self, client, name, more, why):
        """With the code and the words of AWS."""
        code, told = refusal(client.create_training_job, **request(name, **more))

        assert "ValidationException" == code
        assert why in told

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"HyperParameters": {"sagemaker_program": "/etc/train.py"}}, "in the source, got"),
            ({"HyperParameters": {"sagemaker_program": "../train.py"}}, "in the source, got"),
            ({"HyperParameters": {"sagemaker_program": "train.sh"}}, "a Python file"),
            ({"DebugRuleConfigurations": [rule("../../r")]}, "cannot be that of a folder"),
            ({"DebugRuleConfigurations": [rule("a/b")]}, "cannot be that of a folder"),
            ({"InputDataConfig": [{"ChannelName": ".."}]}, "cannot be that of a folder"),
        ],
    )
    def test_what_would_lie_outside_of_the_job(self, client, name, more, why):
        """No name leads out of the folder of a job."""
        for channel in more.get("InputDataConfig", ()):
            source = {"S3DataType": "S3Prefix", "S3Uri": "s3://b/p"}
            channel["DataSource"] = {"S3DataSource": source}
        code, told = refusal(client.create_training_job, **request(name, **more))

        assert "ValidationException" == code
        assert why in told
        assert not (shared().records.home / name).exists()

    def test_an_image_without_a_script(self, client, name):
        """It says what to give instead."""
        asked = {**request(name), "HyperParameters": {}}
        assert "give an entry_point" in refusal(client.create_training_job, **asked)[1]

    def test_a_channel_that_streams(self, client, name):
        """There is no pipe here."""
        channel = {
            "ChannelName": "train",
            "InputMode": "Pipe",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/p"}},
        }
        told = refusal(client.create_training_job, **request(name, InputDataConfig=[channel]))[1]
        assert "use File or FastFile" in told

    def test_more_processes_than_any_machine_has(self, client, name):
        """By the code that AWS has for limits."""
        resources = {"InstanceType": "ml.m5.large", "InstanceCount": 65, "VolumeSizeInGB": 1}
        asked = request(name, ResourceConfig=resources)
        assert "ResourceLimitExceeded" == refusal(client.create_training_job, **asked)[0]

    def test_values_of_another_type(self, client, name):
        """As AWS, which cannot read them."""
        asked = request(name, StoppingCondition={"MaxRuntimeInSeconds": "long"})
        code, told = refusal(client.create_training_job, **asked)
        assert "SerializationException" == code
        assert "stoppingCondition.maxRuntimeInSeconds: str can not be converted" in told

    def test_a_name_that_is_taken(self, client, name):
        """Whatever became of that job."""
        noted(name)
        code, told = refusal(client.create_training_job, **request(name))

        assert "ResourceInUse" == code
        assert (
            f"already exists (arn:aws:sagemaker:us-east-1:000000000000:training-job/{name})" in told
        )

    def test_what_is_not_there(self, client):
        """By the words that programs look for."""
        code, told = refusal(client.describe_training_job, TrainingJobName="nosuch")
        assert ("ValidationException", "Requested resource not found.") == (code, told)
        told = refusal(client.describe_processing_job, ProcessingJobName="nosuch")[1]
        assert "Could not find requested job with name: nosuch" == told

    def test_a_job_that_has_ended_is_not_stopped_or_changed(self, client, name):
        """And says how it stands."""
        noted(name).end(name, "Failed", "Failed")
        why = "The request was rejected because the training job is in status Failed."

        assert why == refusal(client.stop_training_job, TrainingJobName=name)[1]
        assert why == refusal(client.update_training_job, TrainingJobName=name)[1]

    def test_an_operation_that_is_not_answered(self, client):
        """It says which are."""
        code, told = refusal(client.create_model, ModelName="m")
        assert "UnknownOperationException" == code
        assert "DescribeTrainingJob" in told


class TestTold:
    def test_a_job_is_described_by_all_that_it_was_asked_for(self, client, name):
        """With the places that the service fills in."""
        asked = {
            "DebugHookConfig": {"S3OutputPath": "s3://b/t", "HookParameters": {"save_all": "1"}},
            "TensorBoardOutputConfig": {"S3OutputPath": "s3://b/tb"},
            "DebugRuleConfigurations": [rule("mine", "VanishingGradient")],
            "ProfilerConfig": {"S3OutputPath": "s3://b/p", "DisableProfiler": False},
            "ProfilerRuleConfigurations": [rule("ProfilerReport")],
            "Environment": {"A": "b"},
            "RetryStrategy": {"MaximumRetryAttempts": 2},
        }
        noted(name, **asked)
        told = client.describe_training_job(TrainingJobName=name)

        assert "/opt/ml/output/tensors/" == told["DebugHookConfig"].pop("LocalPath")
        assert "/opt/ml/output/tensorboard" == told["TensorBoardOutputConfig"].pop("LocalPath")
        for kind in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
            assert "/opt/ml/processing/output/rule/" == told[kind][0].pop("LocalPath")
        assert request(name, **asked) == {key: told[key] for key in request(name, **asked)}
        assert ("InProgress", "Starting") == (told["TrainingJobStatus"], told["SecondaryStatus"])
        (status,) = told["DebugRuleEvaluationStatuses"]
        assert ("mine", "InProgress") == (
            status["RuleConfigurationName"],
            status["RuleEvaluationStatus"],
        )
        assert 1 == len(told["ProfilerRuleEvaluationStatuses"])
        assert "Enabled" == told["ProfilingStatus"]
        assert abs(datetime.now(timezone.utc) - told["CreationTime"]).total_seconds() < 100

    def test_how_its_rules_stand(self, client, name):
        """What was not evaluated is no success; a rule's own job tells the same."""
        records = noted(name, DebugRuleConfigurations=[rule("DeadRelu"), rule("Overfit")])
        records.judge(name, 0, "NotEvaluated", "no ReLU was seen")
        records.judge(name, 1, "IssuesFound", "RuleEvaluationConditionMet: at step 7")
        first, second = client.describe_training_job(TrainingJobName=name)[
            "DebugRuleEvaluationStatuses"
        ]
        arn = second["RuleEvaluationJobArn"]
        tail = arn.rpartition("/")[2]
        own = client.describe_processing_job(ProcessingJobName=f"{name}-Overfit-{arn[-8:]}")

        assert ("Error", "NOT_EVALUATED: no ReLU was seen") == (
            first["RuleEvaluationStatus"],
            first["StatusDetails"],
        )
        assert "IssuesFound" == second["RuleEvaluationStatus"]
        assert (arn, "Completed") == (own["ProcessingJobArn"], own["ProcessingJobStatus"])
        assert own["ExitMessage"] == second["StatusDetails"]
        by_tail = client.describe_processing_job(ProcessingJobName=tail)
        assert by_tail["ProcessingJobName"] == own["ProcessingJobName"]

    def test_a_profiler_is_changed_while_a_job_goes_on(self, client, name):
        """What is not said anew stays; more rules judge, too; disabling it ends what was."""
        profiler = {"S3OutputPath": "s3://b/p", "ProfilingIntervalInMilliseconds": 500}
        records = noted(name, ProfilerConfig=profiler, DebugRuleConfigurations=[rule("Overfit")])
        client.update_training_job(
            TrainingJobName=name,
            ProfilerConfig={"ProfilingIntervalInMilliseconds": 100},
            ProfilerRuleConfigurations=[rule("LowGPUUtilization")],
        )
        told = client.describe_training_job(TrainingJobName=name)
        shown = {**profiler, "ProfilingIntervalInMilliseconds": 100, "DisableProfiler": False}

        assert shown == told["ProfilerConfig"] == records.get(name).spec.profiler
        (status,) = told["ProfilerRuleEvaluationStatuses"]
        assert "LowGPUUtilization" == status["RuleConfigurationName"]
        assert 1 == len(told["DebugRuleEvaluationStatuses"])

        client.update_training_job(TrainingJobName=name, ProfilerConfig={"DisableProfiler": True})
        told = client.describe_training_job(TrainingJobName=name)
        assert ("Disabled", {"DisableProfiler": True}) == (
            told["ProfilingStatus"],
            told["ProfilerConfig"],
        )

    def test_tags_are_kept(self, client, name):
        """Added, given another value, removed."""
        noted(name, Tags=[{"Key": "a", "Value": "1"}])
        arn = client.describe_training_job(TrainingJobName=name)["TrainingJobArn"]
        new = [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}]

        assert new == client.add_tags(ResourceArn=arn, Tags=new)["Tags"]
        client.delete_tags(ResourceArn=arn, TagKeys=["a", "nosuch"])
        assert new[1:] == client.list_tags(ResourceArn=arn)["Tags"]

    def test_who_one_is(self):
        """One role of one account, whoever asks."""
        told = shared_client("sts").get_caller_identity()
        role = shared_client("iam").get_role(RoleName="stepwatch")["Role"]
        assert ("000000000000", told["Arn"]) == (told["Account"], role["Arn"])


class TestLists:
    @pytest.fixture
    def names(self):
        """Note five jobs, of which every other one failed."""
        prefix = f"listed-{next(_numbers)}"
        names = [f"{prefix}-{number}" for number in range(5)]
        for number, name in enumerate(names):
            records = noted(name, DebugRuleConfigurations=[rule("Overfit")])
            if number % 2:
                records.end(name, "Failed", "Failed")
        return names

    @pytest.mark.parametrize(
        ("order", "reverse"), [({}, True), ({"SortBy": "Name", "SortOrder": "Ascending"}, False)]
    )
    def test_pages_hold_each_once(self, client, names, order, reverse):
        """In order, also if a job comes meanwhile."""
        found, more = [], {}
        while True:
            told = client.list_training_jobs(
                NameContains=names[0][:-1], MaxResults=2, **order, **more
            )
            found += [one["TrainingJobName"] for one in told["TrainingJobSummaries"]]
            if "NextToken" not in told:
                break
            more = {"NextToken": told["NextToken"]}
            if len(found) == 2:
                noted(f"{names[0][:-1]}x")
        ours = [name for name in found if name in names]

        assert sorted(names, reverse=reverse) == ours

    def test_filters(self, client, names):
        """By status and time."""
        only = {"NameContains": names[0][:-2]}
        failed = client.list_training_jobs(**only, StatusEquals="Failed")["TrainingJobSummaries"]
        late = client.list_training_jobs(**only, CreationTimeAfter=datetime(2100, 1, 1))

        assert {names[1], names[3]} == {one["TrainingJobName"] for one in failed}
        assert [] == late["TrainingJobSummaries"]
        assert all("TrainingEndTime" in one for one in failed)

    def test_rules_are_listed_as_jobs(self, client, names):
        """With their own names."""
        told = client.list_processing_jobs(NameContains=names[2])["ProcessingJobSummaries"]
        (own,) = told
        assert own["ProcessingJobName"].startswith(f"{names[2]}-Overfit-")

    @pytest.mark.parametrize("token", ["nonsense", "W10=", "WzEsMl0="])
    def test_a_token_of_nobody(self, client, names, token):
        """It is refused."""
        told = refusal(client.list_training_jobs, SortBy="Name", NextToken=token)[1]
        assert "The NextToken is invalid." == told


class TestHook:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"save_interval": "500"}, [{"save_interval": "500"}, {}]),
            ({"save_interval": "400"}, [{"save_interval": "400"}]),
        ],
    )
    def test_what_a_rule_brings_by_itself_is_saved_at_the_steps_of_the_hook_too(
        self, tmp_path, given, expected
    ):
        """Every 500 steps is what the SDK says of the losses for LossNotDecreasing."""
        asked = request(
            "hooked",
            DebugRuleConfigurations=[rule("LossNotDecreasing", num_steps="10")],
            DebugHookConfig={
                "S3OutputPath": "s3://b",
                "HookParameters": {"save_interval": "5"},
                "CollectionConfigurations": [
                    {"CollectionName": "losses", "CollectionParameters": given}
                ],
            },
        )
        hook = job_spec(asked, Account(Records(tmp_path))).hook

        assert expected == [one["CollectionParameters"] for one in hook["CollectionConfigurations"]]


GROUPS = [
    {"InstanceGroupName": "data", "InstanceType": "ml.c5.large", "InstanceCount": 1},
    {"InstanceGroupName": "gpus", "InstanceType": "ml.g5.xlarge", "InstanceCount": 2},
]


def resources(**more):
    """Return a ResourceConfig."""
    return {"VolumeSizeInGB": 1, **more}


class TestInstances:
    def test_each_process_knows_its_instance_group(self, tmp_path):
        """By its variables and in its file, and gets the channels of it."""
        sources = {"all": None, "raw": ["data"]}
        channels = [
            {
                "ChannelName": channel,
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": "s3://b/p",
                        **({"InstanceGroupNames": only} if only else {}),
                    }
                },
            }
            for channel, only in sources.items()
        ]
        asked = request(
            "groups", ResourceConfig=resources(InstanceGroups=GROUPS), InputDataConfig=channels
        )
        spec = job_spec(asked, Account(Records(tmp_path)))
        paths = JobPaths(tmp_path, "groups")
        paths.make()
        write_files(spec, paths)
        told = [variables(spec, paths, rank, 1) for rank in range(spec.processes)]

        assert ["data", "gpus", "gpus"] == [one["SM_CURRENT_INSTANCE_GROUP"] for one in told]
        assert '["algo-2", "algo-3"]' == told[2]["SM_CURRENT_INSTANCE_GROUP_HOSTS"]
        assert ['["all", "raw"]', '["all"]'] == [one["SM_CHANNELS"] for one in told[:2]]
        assert "SM_CHANNEL_RAW" not in told[1]
        resource = json.loads(told[1]["SM_RESOURCE_CONFIG"])
        assert ("gpus", "ml.g5.xlarge", 2) == (
            resource["current_group_name"],
            resource["current_instance_type"],
            len(resource["instance_groups"]),
        )

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            (
                {"ResourceConfig": resources(InstanceGroups=GROUPS, InstanceCount=1)},
                "either InstanceGroups, or",
            ),
            ({"ResourceConfig": resources(InstanceGroups=GROUPS[:1] * 2)}, "must be unique"),
            (
                {"ResourceConfig": resources(InstanceGroups=GROUPS, KeepAlivePeriodInSeconds=60)},
                "cannot be used with InstanceGroups",
            ),
            (
                {
                    "ResourceConfig": resources(
                        InstanceCount=1, InstanceType="ml.m5.large", KeepAlivePeriodInSeconds=60
                    ),
                    "EnableManagedSpotTraining": True,
                },
                "cannot be used with spot training",
            ),
        ],
    )
    def test_what_sagemaker_does_not_combine_is_refused(self, client, name, more, why):
        code, told = refusal(client.create_training_job, **request(name, **more))
        assert ("ValidationException", True) == (code, why in told)

    def test_a_warm_pool_has_a_status(self, client, name):
        """Nothing has to be kept: it ends with its job."""
        kept = resources(InstanceCount=1, InstanceType="ml.m5.large", KeepAlivePeriodInSeconds=60)
        records = noted(name, ResourceConfig=kept)
        found = client.describe_training_job(TrainingJobName=name)
        assert "InUse" == found["WarmPoolStatus"]["Status"]
        client.update_training_job(
            TrainingJobName=name, ResourceConfig={"KeepAlivePeriodInSeconds": 120}
        )
        records.end(name, "Completed", "Completed")
        found = client.describe_training_job(TrainingJobName=name)
        assert ("Terminated", 120) == (
            found["WarmPoolStatus"]["Status"],
            found["ResourceConfig"]["KeepAlivePeriodInSeconds"],
        )
        listed = client.list_training_jobs(WarmPoolStatusEquals="Terminated", NameContains=name)
        assert [name] == [one["TrainingJobName"] for one in listed["TrainingJobSummaries"]]
