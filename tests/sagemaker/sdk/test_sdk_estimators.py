"""The estimators of the real SDK, driving our server: from ``fit`` to what it left behind."""

from __future__ import annotations

import io
import json
import re
import tarfile
import time
from pathlib import Path

import boto3
import numpy as np
import pytest
from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, TensorBoardOutputConfig
from sagemaker.estimator import Estimator
from sagemaker.exceptions import UnexpectedStatusException
from sagemaker.mxnet import MXNet
from sagemaker.pytorch import PyTorch
from sagemaker.s3 import S3Downloader, S3Uploader
from sagemaker.tensorflow import TensorFlow
from sagemaker.xgboost import XGBoost

import sagemaker
from smdebug.exceptions import MissingCollectionFiles
from smdebug.trials import create_trial
from tests.support.sagemaker.sdk.estimators import COMMON, pytorch

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(400)]

LOSSES = [CollectionConfig("losses", {"save_interval": "5"})]


def archive(url):
    """Return the files of an archive on S3, by name."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    data = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        return {one.name: opened.extractfile(one).read() for one in opened if one.isfile()}


class TestEveryEstimator:
    @pytest.mark.parametrize(
        ("kind", "versions"),
        [
            (PyTorch, {"framework_version": "2.0.1", "py_version": "py310"}),
            (TensorFlow, {"framework_version": "2.12", "py_version": "py310"}),
            (MXNet, {"framework_version": "1.9.0", "py_version": "py38"}),
            (XGBoost, {"framework_version": "1.7-1", "py_version": "py3"}),
            (Estimator, {"image_uri": "an.image/of:mine"}),
        ],
        ids=lambda one: getattr(one, "__name__", ""),
    )
    def test_it_trains_and_its_losses_are_read(self, place, ended, kind, versions):
        """Whatever image it names, the script is what runs; the hook saves as it was told."""
        hook = DebuggerHookConfig(s3_output_path=f"{place}/hook", collection_configs=LOSSES)
        more = {"output_path": f"{place}/out", "debugger_hook_config": hook}
        estimator = kind(**COMMON, **versions, **more, hyperparameters={"steps": 12})
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        ended(job)
        path = estimator.latest_job_debugger_artifacts_path()
        trial = create_trial(path)

        assert f"{place}/hook/{job}/debug-output" == path
        assert [0, 5, 10] == trial.steps()
        (loss,) = trial.tensor_names(collection="losses")
        values = [float(np.mean(trial.tensor(loss).value(step))) for step in (0, 5, 10)]
        assert values[0] > values[1] > values[2]


class TestAJob:
    def test_it_gets_what_it_was_given_and_gives_back_what_it_made(self, place, ended):
        """Hyperparameters by type, channels as folders, model and output as archives on S3."""
        S3Uploader.upload_string_as_file_body("of the training", f"{place}/data/one.txt")
        estimator = pytorch(
            place,
            entry_point="told.py",
            hyperparameters={"rate": 0.5, "name": "a b", "deep": {"list": [1, None]}, "dash-ed": 1},
            environment={"MINE": "yes"},
        )
        estimator.fit({"training": f"{place}/data"}, wait=False)
        found = ended(estimator.latest_training_job.name)
        told = json.loads(
            archive(f"{place}/out/{found['TrainingJobName']}/output/output.tar.gz")["told.json"]
        )

        assert f"{place}/out/{found['TrainingJobName']}/output/model.tar.gz" == estimator.model_data
        assert {"weights.txt": b"of the model"} == archive(estimator.model_data)
        assert {"one.txt": "of the training"} == told["training"]
        assert "yes" == told["mine"]
        assert {"rate": 0.5, "name": "a b", "deep": {"list": [1, None]}, "dash-ed": 1} == {
            name: told["hyperparameters"][name] for name in ("rate", "name", "deep", "dash-ed")
        }
        assert {"--rate": "0.5", "--name": "a b", "--dash-ed": "1"}.items() <= dict(
            zip(told["arguments"][::2], told["arguments"][1::2], strict=True)
        ).items()

    def test_its_log_is_streamed_until_it_has_ended(self, place, capsys):
        """``fit()`` returns when it is done, and shows every line and each status of its rules."""
        estimator = pytorch(place, hyperparameters={"steps": 4})
        estimator.fit()
        out = capsys.readouterr().out

        assert [0, 1, 2, 3] == [int(one) for one in re.findall(r"step (\d+) loss", out)]
        for status in ("Starting", "Training", "Uploading", "Completed"):
            assert status in out, status
        assert re.search(r"^Training seconds: \d+$", out, re.M)

    def test_one_that_fails_says_why(self, place, ended):
        """The reason is the script's own, and the SDK raises what it always raises."""
        estimator = pytorch(place, hyperparameters={"steps": 4, "fail": 2})
        with pytest.raises(UnexpectedStatusException, match="step 2 cannot be done") as caught:
            estimator.fit(logs="None")

        assert "Failed" == caught.value.actual_status
        found = estimator.latest_training_job.describe()
        assert found["FailureReason"].startswith("AlgorithmError")

    def test_whoever_waits_for_tensors_of_one_that_fails_is_told(self, place, ended):
        """It ended before it saved anything; a notebook does not wait for ever."""
        (Path.cwd() / "broken.py").write_text("import nothing_of_that_name")
        hook = DebuggerHookConfig(place, collection_configs=LOSSES)
        estimator = pytorch(
            place, debugger_hook_config=hook, entry_point="broken.py", source_dir=None
        )
        estimator.fit(wait=False)
        with pytest.raises(MissingCollectionFiles):
            create_trial(estimator.latest_job_debugger_artifacts_path())

        assert (
            "nothing_of_that_name"
            in ended(estimator.latest_training_job.name, "Failed")["FailureReason"]
        )

    def test_it_is_stopped(self, place, ended):
        """Stopped is neither failed nor completed."""
        estimator = pytorch(place, hyperparameters={"steps": 10_000, "pause": 0.1})
        estimator.fit(wait=False)
        job = estimator.latest_training_job
        while "Training" != job.describe()["SecondaryStatus"]:
            time.sleep(0.2)
        job.stop()

        found = ended(job.name, "Stopped")
        assert "Stopped" == found["SecondaryStatus"]

    def test_its_checkpoints_are_on_s3_while_it_trains(self, place, ended):
        """Whatever becomes of this machine."""
        (Path.cwd() / "saves.py").write_text(
            "import os, time\n"
            "open(os.path.join(os.environ['SM_CHECKPOINT_DIR'], 'last'), 'w').write('1')\n"
            "time.sleep(600)\n"
        )
        there = f"{place}/checkpoints"
        estimator = pytorch(place, entry_point="saves.py", source_dir=None, checkpoint_s3_uri=there)
        estimator.fit(wait=False)
        job = estimator.latest_training_job
        while [f"{there}/last"] != S3Downloader.list(there):
            assert "InProgress" == job.describe()["TrainingJobStatus"]
            time.sleep(0.5)

        assert "Training" == job.describe()["SecondaryStatus"]
        job.stop()
        ended(job.name, "Stopped")

    def test_another_process_attaches_to_it(self, place, ended):
        """The estimator comes back with its script, its hyperparameters and its results."""
        estimator = pytorch(place, hyperparameters={"steps": 3, "learning-rate": 0.25})
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        ended(job)
        attached = PyTorch.attach(job, sagemaker_session=sagemaker.Session())

        assert estimator.model_data == attached.model_data
        assert "train.py" == attached.entry_point
        assert "0.25" == attached.hyperparameters()["learning-rate"]
        assert job == attached.latest_training_job.name

    def test_two_hosts_train_together(self, place, ended):
        """``instance_count`` is how many processes there are, each with a log of its own."""
        estimator = pytorch(place, entry_point="told.py", instance_count=2)
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        ended(job)
        streams = boto3.client("logs").describe_log_streams(
            logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=f"{job}/"
        )["logStreams"]

        assert 2 == len(streams)
        told = json.loads(archive(f"{place}/out/{job}/output/output.tar.gz")["told.json"])
        assert ["algo-1", "algo-2"] == told["hosts"]

    def test_two_instances_of_torch_distributed_are_one_process_group(self, place, ended):
        """Ranks meet, and what each computes of its own data makes the weights of both."""
        estimator = pytorch(
            place,
            entry_point="together.py",
            instance_type="ml.p3.2xlarge",  # others the SDK does not let train so
            instance_count=2,
            distribution={"torch_distributed": {"enabled": True}},
        )
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        ended(job)
        logs, group = boto3.client("logs"), {"logGroupName": "/aws/sagemaker/TrainingJobs"}
        streams = logs.describe_log_streams(**group, logStreamNamePrefix=f"{job}/")["logStreams"]
        lines = [
            event["message"]
            for stream in streams
            for event in logs.get_log_events(
                **group, logStreamName=stream["logStreamName"], startFromHead=True
            )["events"]
        ]

        assert [
            "rank 0 of 2, met [0, 1], weights alike: True",
            "rank 1 of 2, met [0, 1], weights alike: True",
        ] == sorted(line for line in lines if line.startswith("rank"))


class TestWhatIsSaved:
    def test_nothing_is_configured(self, place, ended):
        """A plain estimator saves losses, at the first step and each 500th after."""
        estimator = pytorch(place, hyperparameters={"steps": 501})
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        found = ended(job)
        trial = create_trial(estimator.latest_job_debugger_artifacts_path())

        assert f"{place}/out" == found["DebugHookConfig"]["S3OutputPath"]
        assert [0, 500] == trial.steps()
        assert trial.tensor_names() == trial.tensor_names(collection="losses")

    def test_the_hook_is_switched_off(self, place, ended):
        """``debugger_hook_config=False`` saves nothing, and the training is the same."""
        estimator = pytorch(place, debugger_hook_config=False, hyperparameters={"steps": 3})
        estimator.fit(wait=False)
        found = ended(estimator.latest_training_job.name)

        assert "DebugHookConfig" not in found
        job = found["TrainingJobName"]
        assert [] == [one for one in S3Downloader.list(place) if f"{job}/debug-output" in one]

    def test_collections_by_pattern_interval_and_range(self, place, ended):
        """A custom one from step 5 to before step 25, and a built-in one of its own rhythm."""
        hook = DebuggerHookConfig(
            s3_output_path=place,
            hook_parameters={"save_interval": "10"},
            collection_configs=[
                CollectionConfig(
                    "custom_relu_collection",
                    {
                        "include_regex": "relu",
                        "save_interval": "4",
                        "start_step": "5",
                        "end_step": "25",
                    },
                ),
                CollectionConfig("biases"),
            ],
        )
        estimator = pytorch(place, debugger_hook_config=hook, hyperparameters={"steps": 31})
        estimator.fit(wait=False)
        ended(estimator.latest_training_job.name)
        trial = create_trial(estimator.latest_job_debugger_artifacts_path())
        relu = trial.tensor_names(collection="custom_relu_collection")

        assert relu
        assert all("relu" in name for name in relu)
        assert [8, 12, 16, 20, 24] == trial.tensor(relu[0]).steps()
        (bias, *_) = trial.tensor_names(collection="biases")
        assert [0, 10, 20, 30] == trial.tensor(bias).steps()

    def test_tensorboard_files_are_written_where_it_says(self, place, ended):
        """Under the job's name, and readable as TensorBoard's files are."""
        output = TensorBoardOutputConfig(s3_output_path=f"{place}/tb")
        estimator = pytorch(
            place, tensorboard_output_config=output, hyperparameters={"steps": 12},
            debugger_hook_config=DebuggerHookConfig(collection_configs=LOSSES),
        )  # fmt: skip
        estimator.fit(wait=False)
        job = estimator.latest_training_job.name
        ended(job)
        path = estimator.latest_job_tensorboard_artifacts_path()
        files = S3Downloader.list(path)

        assert f"{place}/tb/{job}/tensorboard-output" == path
        assert [one for one in files if ".tfevents." in one]

    def test_its_files_are_listed_and_fetched_while_it_trains(self, place, ended, tmp_path):
        """What is saved is on S3 long before the end."""
        hook = DebuggerHookConfig(s3_output_path=place, collection_configs=LOSSES)
        estimator = pytorch(
            place, debugger_hook_config=hook, hyperparameters={"steps": 400, "pause": 0.1}
        )
        estimator.fit(wait=False)
        path = estimator.latest_job_debugger_artifacts_path()
        job = estimator.latest_training_job
        while not [one for one in S3Downloader.list(path) if "/events/" in one]:
            assert "InProgress" == job.describe()["TrainingJobStatus"]
            time.sleep(0.5)
        assert "Training" == job.describe()["SecondaryStatus"]
        S3Downloader.download(path, str(tmp_path / "copy"))
        early = create_trial(str(tmp_path / "copy")).steps()
        job.stop()
        ended(job.name, "Stopped")

        assert early == [step for step in early if step % 5 == 0] != []
        assert len(create_trial(path).steps()) >= len(early)
