"""Jobs that real clients begin: they train on this machine, are judged, and end as on SageMaker."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from stepwatch import Trial
from stepwatch.jobs.paths import JobPaths
from stepwatch.testing import make_run
from tests.support.jobs.sagemaker.serving import (
    ENDED,
    ended,
    request,
    rule,
    shared,
    shared_client,
    wait_for,
    write_source,
)

pytestmark = pytest.mark.slow

TRAINS = """
import argparse, os, sys, time, torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--steps", type=int)
parser.add_argument("-b", type=int, default=0)
arguments = parser.parse_args()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr)
measure = torch.nn.MSELoss()
channel = os.environ.get("SM_CHANNEL_TRAINING")
print("channel", channel and os.listdir(channel))
print("job", os.environ["TRAINING_JOB_NAME"], "in", os.path.basename(os.getcwd()))
for step in range(arguments.steps):
    x = torch.randn(16, 4)
    loss = measure(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if arguments.steps > 1000:
        time.sleep(0.01)
torch.save(model.state_dict(), os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
print("done", flush=True)
"""
DEBUGGER_RULE = """
from smdebug.rules.rule import Rule

class LargeGradient(Rule):
    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial)
        self.threshold = threshold

    def invoke_at_step(self, step):
        assert isinstance(self.threshold, float)
        return any(
            abs(self.base_trial.tensor(name).value(step)).max() > self.threshold
            for name in self.base_trial.tensor_names(collection="gradients")
        )
"""
OUR_RULE = """
from stepwatch.model.finding import Finding
from stepwatch.rules import Rule

class EveryStep(Rule):
    name = "every_step"

    def __init__(self, after: int = 0):
        self.after = after

    def check(self, step):
        if step.number >= self.after:
            yield Finding(self.name, step.number, "", f"step {step.number}")
"""


def hooked(folder, *collections, every="5"):
    """Return the configuration of a hook."""
    return {
        "S3OutputPath": f"file://{folder}/tensors",
        "HookParameters": {"save_interval": every},
        "CollectionConfigurations": [{"CollectionName": name} for name in collections],
    }


class TestTraining:
    def test_a_job_from_beginning_to_end(self, tmp_path):
        """What it was asked for is done, each result lies in its place, and its log is told."""
        write_source(tmp_path, TRAINS)
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "train.csv").write_text("1")
        source = {"S3DataType": "S3Prefix", "S3Uri": f"file://{tmp_path}/data"}
        client = shared_client()
        client.create_training_job(
            **request(
                "whole",
                tmp_path,
                HyperParameters={"lr": "0.1", "steps": "20", "b": "3"},
                InputDataConfig=[
                    {"ChannelName": "training", "DataSource": {"S3DataSource": source}}
                ],
                DebugHookConfig=hooked(tmp_path, "losses", "gradients", "weights"),
                DebugRuleConfigurations=[
                    rule("VanishingGradient"),
                    rule("explodes", "ExplodingTensor", collection_names="losses"),
                    rule("DeadRelu"),
                    rule("Overfit", nosuch="1"),
                ],
                TensorBoardOutputConfig={"S3OutputPath": f"file://{tmp_path}/board"},
            )
        )
        told = ended(client, "whole")

        assert "Completed" == told["TrainingJobStatus"], told.get("FailureReason")
        stretches = [one["Status"] for one in told["SecondaryStatusTransitions"]]
        assert ["Starting", "Downloading", "Training", "Uploading", "Completed"] == stretches
        statuses = {
            one["RuleConfigurationName"]: (one["RuleEvaluationStatus"], one["StatusDetails"])
            for one in told["DebugRuleEvaluationStatuses"]
        }
        assert "NoIssuesFound" == statuses["VanishingGradient"][0]
        assert "NoIssuesFound" == statuses["explodes"][0]
        assert statuses["DeadRelu"][1].startswith("NOT_EVALUATED: no ReLU was measured")
        assert "overfit has no parameter 'nosuch'" in statuses["Overfit"][1]
        assert {"Error"} == {statuses["DeadRelu"][0], statuses["Overfit"][0]}

        copy = tmp_path / "tensors" / "whole" / "debug-output"
        assert [0, 5, 10, 15] == Trial(copy).steps()
        assert (copy / "training_job_end.ts").is_file()
        assert list((tmp_path / "board" / "whole" / "tensorboard-output").rglob("*tfevents*"))
        made = told["ModelArtifacts"]["S3ModelArtifacts"].removeprefix("file://")
        with tarfile.open(made) as archive:
            assert ["model.pt"] == archive.getnames()
        status = tmp_path / "out" / "whole" / "rule-output" / "VanishingGradient" / "status.json"
        assert "NoIssuesFound" == json.loads(status.read_text())["status"]

        client = shared_client("logs")
        group = {"logGroupName": "/aws/sagemaker/TrainingJobs"}
        (stream,) = client.describe_log_streams(**group, logStreamNamePrefix="whole/")["logStreams"]
        events = client.get_log_events(
            **group, logStreamName=stream["logStreamName"], startFromHead=True
        )["events"]
        lines = [event["message"] for event in events]
        assert ["channel ['train.csv']", "job whole in code", "done"] == lines

    def test_rules_of_ones_own(self, tmp_path):
        """Written for smdebug or for us, from a file; their parameters have the right types."""
        write_source(tmp_path, TRAINS)
        (tmp_path / "theirs.py").write_text(DEBUGGER_RULE)
        (tmp_path / "ours.py").write_text(OUR_RULE)
        theirs, ours = f"{tmp_path}/theirs.py", f"file://{tmp_path}/ours.py"
        client = shared_client()
        rules = [
            rule("low", "LargeGradient", source_s3_uri=theirs, threshold="1e-6"),
            rule("high", "LargeGradient", source_s3_uri=theirs, threshold="1e6"),
            rule("mine", "EveryStep", source_s3_uri=ours, after="10"),
            rule("typo", "LargeGradients", source_s3_uri=theirs),
            rule("nosuch", "EveryStep", source_s3_uri=f"file://{tmp_path}/nosuch.py"),
        ]
        client.create_training_job(
            **request(
                "own-rules",
                tmp_path,
                HyperParameters={"lr": "0.1", "steps": "20"},
                DebugHookConfig=hooked(tmp_path, "gradients"),
                DebugRuleConfigurations=rules,
            )
        )
        found = {
            one["RuleConfigurationName"]: (one["RuleEvaluationStatus"], one["StatusDetails"])
            for one in ended(client, "own-rules")["DebugRuleEvaluationStatuses"]
        }

        met = "RuleEvaluationConditionMet: Evaluation of the rule {} at step {} resulted in"
        assert found["low"][0] == found["mine"][0] == "IssuesFound"
        assert found["low"][1].startswith(met.format("LargeGradient", 0))
        assert found["mine"][1].startswith(met.format("EveryStep", 10))
        assert "NoIssuesFound" == found["high"][0]
        assert {"Error"} == {found["typo"][0], found["nosuch"][0]}
        assert "LargeGradients" in found["typo"][1]
        assert "there is nothing at" in found["nosuch"][1]

    def test_a_finding_stops_its_job(self, tmp_path):
        """By the action of the rule; what cannot be sent is told, and is no fault of the rule."""
        write_source(tmp_path, TRAINS)
        actions = [
            {"name": "stoptraining", "training_job_prefix": "stopped-by-rule"},
            {"name": "email", "endpoint": "me@example.org"},
            {"name": "sms", "endpoint": "+4915112345678"},
        ]
        text = json.dumps(actions).replace('"', '\\"')
        client = shared_client()
        client.create_training_job(
            **request(
                "stopped-by-rule",
                tmp_path,
                HyperParameters={"lr": "1e9", "steps": "100000"},
                DebugHookConfig=hooked(tmp_path, "losses", every="1"),
                DebugRuleConfigurations=[rule("ExplodingTensor", action_json=text)],
            )
        )
        told = ended(client, "stopped-by-rule")
        (status,) = told["DebugRuleEvaluationStatuses"]

        assert ("Stopped", "Stopped") == (told["TrainingJobStatus"], told["SecondaryStatus"])
        assert "IssuesFound" == status["RuleEvaluationStatus"]
        unsent = status["StatusDetails"].partition("; ")[2]
        assert unsent.startswith("mail:to=me@example.org failed: ")
        assert "; sms:to=+4915112345678 failed: " in unsent
        assert ("STEPWATCH_SMTP_HOST" in unsent, "STEPWATCH_SMS_URL" in unsent) == (True, True)
        assert "Stopping" in [one["Status"] for one in told["SecondaryStatusTransitions"]]

    def test_it_is_stopped_by_who_asks_and_so_is_a_rule(self, tmp_path):
        """Each by itself."""
        write_source(tmp_path, TRAINS)
        client = shared_client()
        client.create_training_job(
            **request(
                "stopped",
                tmp_path,
                HyperParameters={"lr": "0.1", "steps": "100000"},
                DebugHookConfig=hooked(tmp_path, "losses"),
                DebugRuleConfigurations=[rule("StalledTrainingRule"), rule("ExplodingTensor")],
            )
        )
        place = JobPaths(shared().records.home, "stopped")
        wait_for(lambda: list(place.tensors.rglob("*.tfevents")), "no step")
        arn = client.describe_training_job(TrainingJobName="stopped")[
            "DebugRuleEvaluationStatuses"
        ][0]["RuleEvaluationJobArn"]
        client.stop_processing_job(ProcessingJobName=arn.rpartition("/")[2])

        def first():
            told = client.describe_training_job(TrainingJobName="stopped")
            assert "InProgress" == told["TrainingJobStatus"]
            return told["DebugRuleEvaluationStatuses"][0]["RuleEvaluationStatus"] == "Stopped"

        wait_for(first, "the rule was not stopped")
        client.stop_training_job(TrainingJobName="stopped")
        told = ended(client, "stopped")

        assert "Stopped" == told["TrainingJobStatus"]
        assert ["Stopped", "NoIssuesFound"] == [
            one["RuleEvaluationStatus"] for one in told["DebugRuleEvaluationStatuses"]
        ]

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"sagemaker_program": '"nosuch.py"'}, "there is no nosuch.py in"),
            ({"sagemaker_submit_directory": '"file:///nosuch/source.tar.gz"'}, "nothing at"),
            ({"lr": "0.1"}, "AlgorithmError"),
        ],
    )
    def test_what_fails_says_why(self, tmp_path, more, why):
        """In ``FailureReason``."""
        write_source(tmp_path, TRAINS)
        name = f"fails-{abs(hash(why)) % 10**6}"
        shared_client().create_training_job(**request(name, tmp_path, HyperParameters=more))
        told = ended(shared_client(), name)

        assert "Failed" == told["TrainingJobStatus"]
        assert why in told["FailureReason"]

    def test_processes_train_together(self, tmp_path):
        """As many as there are instances, each with a log."""
        write_source(
            tmp_path, "import os; print(os.environ['SM_CURRENT_HOST'], os.environ['RANK'])"
        )
        resources = {"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 1}
        shared_client().create_training_job(
            **request("together", tmp_path, ResourceConfig=resources)
        )
        assert "Completed" == ended(shared_client(), "together")["TrainingJobStatus"]
        place = JobPaths(shared().records.home, "together")
        assert ["algo-1 0\n", "algo-2 1\n"] == [Path(place.log(n)).read_text() for n in (0, 1)]


class TestProcessing:
    @staticmethod
    def create(name, folder, run, **environment):
        """Let a rule judge a run."""
        place = {"S3Uri": f"file://{run}", "LocalPath": "/in", "S3DataType": "S3Prefix"}
        output = {"S3Uri": f"file://{folder}/out", "LocalPath": "/o", "S3UploadMode": "EndOfJob"}
        cluster = {"InstanceCount": 1, "InstanceType": "ml.t3.medium", "VolumeSizeInGB": 1}
        return shared_client().create_processing_job(
            ProcessingJobName=name,
            RoleArn="arn:aws:iam::123456789012:role/tester",
            AppSpecification={"ImageUri": "rules:latest"},
            ProcessingResources={"ClusterConfig": cluster},
            ProcessingInputs=[{"InputName": "run", "S3Input": place}],
            ProcessingOutputConfig={"Outputs": [{"OutputName": "rule", "S3Output": output}]},
            Environment=environment,
        )["ProcessingJobArn"]

    @staticmethod
    def ended(name):
        def look():
            found = shared_client().describe_processing_job(ProcessingJobName=name)
            return found if found["ProcessingJobStatus"] in ENDED else None

        return wait_for(look, f"{name} did not end")

    def test_a_rule_judges_a_run_that_there_is(self, tmp_path):
        """With what it finds in the output; it is no training job."""
        run = tmp_path / "run"
        make_run(run, steps=5)
        arn = self.create("judged", tmp_path, run, rule_to_invoke="ExplodingTensor", only_nan="1")
        told = self.ended("judged")

        assert (arn, "Completed") == (told["ProcessingJobArn"], told["ProcessingJobStatus"])
        assert {"rule_to_invoke": "ExplodingTensor", "only_nan": "1"} == told["Environment"]
        folder = tmp_path / "out" / "judged" / "rule-output" / "ExplodingTensor"
        status = json.loads((folder / "status.json").read_text())
        assert status["details"] in told["ExitMessage"]
        names = shared_client().list_training_jobs(NameContains="judged")["TrainingJobSummaries"]
        assert [] == names
        listed = shared_client().list_processing_jobs(NameContains="judged")
        assert ["judged"] == [one["ProcessingJobName"] for one in listed["ProcessingJobSummaries"]]

    def test_a_run_or_a_rule_that_there_is_not(self, tmp_path):
        """It failed, and says why."""
        self.create("no-run", tmp_path, tmp_path / "nosuch", rule_to_invoke="ExplodingTensor")
        self.create("no-rule", tmp_path, tmp_path, rule_to_invoke="Nosuch")
        assert "there is no run at" in self.ended("no-run")["FailureReason"]
        assert "no rule is named 'Nosuch'" in self.ended("no-rule")["FailureReason"]
        with pytest.raises(ClientError, match="Stepwatch processes runs by rules"):
            self.create("no-words", tmp_path, tmp_path)
