"""Fixtures: a server, a client in this process, and what tests do with them."""

from __future__ import annotations

import itertools
import os
import time

import boto3
import pytest

from tests.support.sagemaker.served import BUCKET, serve

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The server of all tests; its jobs train with the Python that it runs in."""
    yield from serve(tmp_path_factory.mktemp("server"))


@pytest.fixture(autouse=True)
def client(server, monkeypatch, tmp_path_factory):
    """Make this process a client that knows nothing but variables; in a folder of its own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("client")
    for name, value in server.variables(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def place():
    """A prefix of S3 of which nobody else knows."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    return f"s3://{BUCKET}/test-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def ended(server):
    """Return a function that waits until a job has ended, and returns its description."""

    def wait(name: str, status: str = "Completed", seconds: float = 180) -> dict:
        client = boto3.client("sagemaker")
        give_up_at = time.monotonic() + seconds
        while True:
            found = client.describe_training_job(TrainingJobName=name)
            if found["TrainingJobStatus"] in ("Completed", "Failed", "Stopped"):
                break
            assert time.monotonic() < give_up_at, f"{found}\n{server.log(name)}"
            time.sleep(0.3)
        assert status == found["TrainingJobStatus"], f"{found}\n{server.log(name)}"
        return found

    return wait
