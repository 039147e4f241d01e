"""A server and real clients of it: botocore's, which those of AWS are made of. Imported by name."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from functools import cache
from pathlib import Path

import botocore.session
from botocore.config import Config

from stepwatch.jobs.processes import end_group
from stepwatch.jobs.records import Records

TIMEOUT_S = 100
ENDED = ("Completed", "Failed", "Stopped")


class Server:
    """``stepwatch serve`` as a process of its own, until it is closed.

    Args:
        folder: Where its jobs lie.
        more: Further variables of its environment.
        host: Where it listens.
    """

    def __init__(self, folder, more=None, host="127.0.0.1"):
        self.records = Records(Path(folder))
        command = [sys.executable, "-m", "stepwatch", "serve", "--port", "0", "--json"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.process = subprocess.Popen(
            [*command, "--jobs", str(folder), "--host", host],
            stdout=subprocess.PIPE,
            env={**kept, "STEPWATCH_JOBS_AT_ONCE": "4", **(more or {})},
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, "the server did not start"
        self.url = json.loads(line)["url"]

    def client(self, service="sagemaker", *, secret="secret", **options):
        """Return a client that checks nothing by itself, and asks once."""
        session = botocore.session.Session()
        session.set_credentials("key", secret)
        settings = {"parameter_validation": False, "retries": {"total_max_attempts": 1}}
        config = Config(**settings, read_timeout=30, **options)
        return session.create_client(
            service, region_name="us-east-1", endpoint_url=self.url, config=config
        )

    def close(self):
        """End it, and the jobs that go on."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        for name, _ in self.records.under_way():
            for process in self.records.processes(name):
                end_group(process)


@cache
def shared():
    """Return the server of all tests of this process that need none of their own."""
    folder = tempfile.TemporaryDirectory()
    server = Server(folder.name)
    atexit.register(folder.cleanup)
    atexit.register(server.close)  # the last first
    return server


@cache
def shared_client(service="sagemaker"):
    """Return a client of that server; to make one takes a second."""
    return shared().client(service)


def request(name, folder="/nowhere", **more):
    """Return what ``CreateTrainingJob`` needs."""
    own = more.pop("HyperParameters", {})
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/tester",
        "OutputDataConfig": {"S3OutputPath": f"file://{folder}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.xlarge",
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "HyperParameters": {
            "sagemaker_program": json.dumps("train.py"),
            "sagemaker_submit_directory": json.dumps(f"file://{folder}/source.tar.gz"),
            **own,
        },
        **more,
    }


def rule(name, invoked="", **parameters):
    """Return the configuration of a rule."""
    return {
        "RuleConfigurationName": name,
        "RuleEvaluatorImage": "rules:latest",
        "RuleParameters": {"rule_to_invoke": invoked or name, **parameters},
    }


def write_source(folder, script):
    """Pack a script as the clients do."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(script)
    with tarfile.open(folder / "source.tar.gz", "w:gz") as archive:
        archive.add(folder / "train.py", "train.py")


def wait_for(true, what="it did not come about"):
    """Wait until something is so, and return it."""
    give_up_at = time.monotonic() + TIMEOUT_S
    while not (found := true()):
        assert time.monotonic() < give_up_at, what
        time.sleep(0.1)
    return found


def ended(client, name):
    """Wait until a job has ended, and return its description."""

    def look():
        found = client.describe_training_job(TrainingJobName=name)
        return found if found["TrainingJobStatus"] in ENDED else None

    return wait_for(look, f"{name} did not end")
