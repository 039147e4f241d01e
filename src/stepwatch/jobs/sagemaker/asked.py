"""What a client asks for, CreateTrainingJob, as a job of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from ...errors import RequestRefused
from ..spec import JobSpec
from .account import Account
from .asked_rules import rule_specs

Asked = Mapping[str, Any]
#: More processes than any one machine should be asked for by mistake.
MOST_PROCESSES = 64
_OWN = "sagemaker_"
_CHANNEL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_INTERVALS_MS = (100, 200, 500, 1000, 5000, 60_000)


def job_spec(asked: Asked, account: Account) -> JobSpec:
    """Return what a job is to do.

    Args:
        asked: The request, checked to be what the API takes.
        account: Where it is carried out.

    Raises:
        RequestRefused: Something that cannot be done, or cannot be meant.
    """
    name = asked["TrainingJobName"]
    hyperparameters = {key: _value(text) for key, text in asked.get("HyperParameters", {}).items()}
    profiler = asked.get("ProfilerConfig")
    check_profiler(profiler)
    hook = asked.get("DebugHookConfig")
    return JobSpec(
        name,
        _program(hyperparameters),
        source=local(str(hyperparameters[_SOURCE])),
        hyperparameters={k: v for k, v in hyperparameters.items() if not k.startswith(_OWN)},
        inputs=dict(_channel(one, asked) for one in asked.get("InputDataConfig", ())),
        environment={
            "AWS_REGION": account.region,
            **asked.get("Environment", {}),
            "TRAINING_JOB_NAME": name,
            "TRAINING_JOB_ARN": account.training_arn(name),
        },
        processes=_processes(asked["ResourceConfig"]),
        rules=rule_specs(asked),
        hook=hook,
        capture=hook is not None,
        tensorboard=asked.get("TensorBoardOutputConfig"),
        profiler=profiler,
        output=asked["OutputDataConfig"]["S3OutputPath"],
        checkpoints=asked.get("CheckpointConfig", {}).get("S3Uri", ""),
        metrics={
            one["Name"]: one["Regex"]
            for one in asked["AlgorithmSpecification"].get("MetricDefinitions", ())
        },
        max_run_s=asked.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400),
        retries=asked.get("RetryStrategy", {}).get("MaximumRetryAttempts", 0),
        python=account.interpreters.of(asked["AlgorithmSpecification"].get("TrainingImage", "")),
        request=asked,
    )


def check_profiler(profiler: Asked | None) -> None:
    """Raise RequestRefused for an interval that SageMaker does not have."""
    interval = (profiler or {}).get("ProfilingIntervalInMilliseconds", 500)
    if interval not in _INTERVALS_MS:
        choices = ", ".join(map(str, _INTERVALS_MS))
        raise refused(f"ProfilingIntervalInMilliseconds must be one of {choices}, got {interval}.")


def local(url: str) -> str:
    """Return a place, as a path where it is one of this machine.

    Example:
        >>> local("file:///data/my%20set"), local("s3://bucket/data")
        ('/data/my set', 's3://bucket/data')
    """
    return unquote(url.removeprefix("file://")) if url.startswith("file://") else url


def refused(message: str) -> RequestRefused:
    """Return the error of a request that cannot be carried out."""
    return RequestRefused("ValidationException", message)


_PROGRAM, _SOURCE = "sagemaker_program", "sagemaker_submit_directory"


def _program(hyperparameters: Asked) -> str:
    missing = [name for name in (_PROGRAM, _SOURCE) if name not in hyperparameters]
    if missing:
        raise refused(
            f"The hyperparameter {missing[0]} is missing. Stepwatch trains by a script, not by an"
            " image: give an entry_point to the estimator, or set sagemaker_program and"
            " sagemaker_submit_directory."
        )
    program = str(hyperparameters[_PROGRAM])
    path = PurePosixPath(program)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        raise refused(f"sagemaker_program must be a Python file in the source, got {program!r}.")
    return program


def _channel(channel: Asked, asked: Asked) -> tuple[str, str]:
    name = channel["ChannelName"]
    source = channel["DataSource"].get("S3DataSource")
    mode = channel.get("InputMode") or asked["AlgorithmSpecification"]["TrainingInputMode"]
    if not _CHANNEL.fullmatch(name):
        raise refused(f"The channel name {name!r} cannot be that of a folder.")
    if source is None or source["S3DataType"] != "S3Prefix":
        raise refused(f"The channel {name} must have an S3DataSource of the type S3Prefix.")
    if mode == "Pipe":
        raise refused(f"The channel {name} has the input mode Pipe; use File or FastFile.")
    return name, local(source["S3Uri"])


def _processes(resources: Asked) -> int:
    groups = resources.get("InstanceGroups") or [resources]
    number: int = sum(group.get("InstanceCount", 1) for group in groups)
    if number > MOST_PROCESSES:
        raise RequestRefused(
            "ResourceLimitExceeded",
            f"This machine trains with at most {MOST_PROCESSES} processes, got {number} instances.",
        )
    return max(1, number)


def _value(text: str) -> Any:
    """Return what a hyperparameter says: clients write it as JSON, people as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
