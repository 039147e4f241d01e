"""Our server and a real S3 server, and clients that are told of both by variables alone."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.s3.ceph import KMS_KEY
from tests.support import ROOT
from tests.support.s3.s3_bucket import s3_environment

SCRIPTS = ROOT / "tests" / "sagemaker" / "scripts"
ROLE = "arn:aws:iam::000000000000:role/stepwatch"
BUCKET = "clients"
#: The Python that has Stepwatch and PyTorch; the client's own has neither server nor framework.
PYTHON = os.environ.get("STEPWATCH_SERVER_PYTHON", sys.executable)
FRAMEWORKS = Path(os.environ.get("STEPWATCH_FRAMEWORKS", "~/.cache/stepwatch/frameworks"))
#: The environments of other frameworks, by the images that they stand for.
ENVIRONMENTS = {"mxnet": "mxnet", "tensorflow": "keras", "xgboost:1.7": "xgboost-1.7"}
# By its path: folders beside it have the names of frameworks, and must not be found in their place.
_MAKING = ROOT / "tests" / "frameworks" / "environments.py"
_SETTINGS = """\
SchemaVersion: '1.0'
SageMaker:
  PythonSDK:
    Modules:
      TelemetryOptOut: true
      Session:
        DefaultS3Bucket: {bucket}
  TrainingJob:
    OutputDataConfig:
      KmsKeyId: {kms_key}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Args:
        url: Where it listens.
        jobs: The folder of its jobs.
    """

    url: str
    jobs: Path

    def variables(self, folder: Path) -> dict[str, str]:
        """Return all that a client is told: where to ask, as whom, and the SDK's own settings."""
        settings = folder / "sagemaker.yaml"
        settings.write_text(_SETTINGS.format(bucket=BUCKET, kms_key=KMS_KEY))
        storage = s3_environment()
        return {
            **storage,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ENDPOINT_URL_S3": storage["AWS_ENDPOINT_URL"],
            "SAGEMAKER_USER_CONFIG_OVERRIDE": str(settings),
            "HOME": str(folder),
        }

    def log(self, job: str) -> str:
        """Return what a job, its rules and its runner wrote, to be shown where a test fails."""
        logs = sorted((self.jobs / job / "logs").rglob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')}" for log in logs)


def pythons(*images: str) -> list[str]:
    """Return the options of a server that trains with the Python of each framework, made here."""
    options = []
    for image in images:
        kind = runpy.run_path(str(_MAKING))["Environment"]
        environment = kind(ENVIRONMENTS[image], FRAMEWORKS.expanduser())
        environment.make()
        options += ["--python", f"{image}={environment.python}"]
    return options


def serve(folder: Path, *options: str) -> Iterator[Server]:
    """Start a server, and stop it when asked on."""
    jobs = folder / "jobs"
    own = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    more = {"HOME": str(folder), "OMP_NUM_THREADS": "1", "STEPWATCH_JOBS_AT_ONCE": "2"}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [PYTHON, "-m", "stepwatch", "serve", "--port", "0", "--jobs", jobs, "--json", *options],
            env={**own, **s3_environment(), **more},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    line = process.stdout.readline()
    assert line, (folder / "server.log").read_text()
    yield Server(json.loads(line)["url"], jobs)
    process.send_signal(signal.SIGTERM)
    process.wait(30)
