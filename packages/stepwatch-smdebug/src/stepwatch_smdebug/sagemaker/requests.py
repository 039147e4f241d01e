"""Requests of clients as jobs of ours, with rules, and actions about their findings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from smdebug_rulesconfig import get_collection
from stepwatch.errors import RequestRefused
from stepwatch.jobs.spec import JobSpec, RuleSpec

from .account import Account
from .model_trainer import DEBUGGER_BLOCKS, as_estimator_request, processes_a_node

RULES = ("DebugRuleConfigurations", "ProfilerRuleConfigurations")
# It becomes the name of a folder.
_NAME = re.compile(r"[A-Za-z0-9][\w .:@+=-]{0,199}")


def rule_specs(request: Mapping[str, Any]) -> tuple[RuleSpec, ...]:
    """Return the rules of a request, those about tensors first.

    Raises:
        RequestRefused: A name that is invalid, or that two have.
    """
    configurations = [one for kind in RULES for one in request.get(kind, ())]
    return check_names([rule_spec(one, request["TrainingJobName"]) for one in configurations])


def check_names(rules: Sequence[RuleSpec]) -> tuple[RuleSpec, ...]:
    """Return rules of which no two have one name."""
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RequestRefused(
            "ValidationException",
            f"RuleConfigurationName must be unique, and {twice[0]!r} is given more than once.",
        )
    return tuple(rules)


def rule_spec(configuration: Mapping[str, Any], job: str) -> RuleSpec:
    """Return a rule of a job.

    Raises:
        RequestRefused: Its name is invalid.
    """
    name = configuration["RuleConfigurationName"]
    if not _NAME.fullmatch(name):
        raise RequestRefused(
            "ValidationException",
            f"RuleConfigurationName {name!r} cannot be that of a folder: up to 200 letters,"
            " digits and _ . : @ + = - after a letter or digit.",
        )
    parameters = dict(configuration.get("RuleParameters", {}))
    actions, stops = _actions(parameters.pop("action_json", ""), job)
    return RuleSpec(parameters, name, actions, stops)


def _actions(text: str, job: str) -> tuple[tuple[str, ...], str]:
    """Return the actions about findings, and the prefix of the name of the job that is stopped.

    Some clients write a backslash before each quote. What cannot be read does nothing, as on
    SageMaker.

    Example:
        >>> _actions('[{"name": "email", "endpoint": "a@b.org"}, {"name": "stoptraining"}]', "j")
        (('mail:to=a@b.org', 'stop'), 'j')
    """
    try:
        parsed = json.loads(text.replace('\\"', '"')) if text else []
    except (ValueError, RecursionError):
        parsed = []
    actions, stops = list[str](), job
    for one in parsed if isinstance(parsed, list) else [parsed]:
        kind = str(one.get("name", "")).lower() if isinstance(one, dict) else ""
        if kind == "stoptraining":
            actions.append("stop")
            stops = str(one.get("training_job_prefix") or job)
        elif kind in _SENT:
            actions.append(f"{_SENT[kind]}:to={one.get('endpoint')}")
    return tuple(actions), stops


_SENT = {"email": "mail", "sms": "sms"}


Request = Mapping[str, Any]
#: A limit against mistakes: one machine should not train with more processes.
MOST_PROCESSES = 64
_OWN = "sagemaker_"
_CHANNEL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_INTERVALS_MS = (100, 200, 500, 1000, 5000, 60_000)


def job_spec(request: Request, account: Account) -> JobSpec:
    """Return the job of a request that is valid by the description of the API.

    Raises:
        RequestRefused: Something that is not supported, or is invalid.
    """
    shown, request = request, as_estimator_request(request)
    name = request["TrainingJobName"]
    hyperparameters = {
        key: _value(text) for key, text in request.get("HyperParameters", {}).items()
    }
    profiler = request.get("ProfilerConfig")
    check_profiler(profiler)
    hook = _hook(request)
    return JobSpec(
        name,
        _program(hyperparameters),
        source=local_path(str(hyperparameters[_SOURCE])),
        hyperparameters={k: v for k, v in hyperparameters.items() if not k.startswith(_OWN)},
        inputs=dict(_channel(one, request) for one in request.get("InputDataConfig", ())),
        environment={
            "AWS_REGION": account.region,
            **request.get("Environment", {}),
            "TRAINING_JOB_NAME": name,
            "TRAINING_JOB_ARN": account.training_arn(name),
        },
        processes=_processes(request),
        rules=rule_specs(request),
        hook=hook,
        capture=hook is not None,
        tensorboard=request.get("TensorBoardOutputConfig"),
        profiler=profiler,
        output=request["OutputDataConfig"]["S3OutputPath"],
        checkpoints=request.get("CheckpointConfig", {}).get("S3Uri", ""),
        metrics={
            one["Name"]: one["Regex"]
            for one in request["AlgorithmSpecification"].get("MetricDefinitions", ())
        },
        max_run_s=request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400),
        retries=request.get("RetryStrategy", {}).get("MaximumRetryAttempts", 0),
        python=account.interpreters.of(request["AlgorithmSpecification"].get("TrainingImage", "")),
        audits=False,  # what exits with 0 has completed, whatever it saved: rules judge that
        request={**shown, **{key: request[key] for key in DEBUGGER_BLOCKS if key in request}},
    )


def _hook(request: Request) -> dict[str, Any] | None:
    """Return the hook configuration of a request, ``None`` if nothing is to be captured.

    A collection that the SDK adds for a rule says every 500 steps, which nobody chose: it is saved
    at the steps of the hook, too. What is configured in any other way is left as it is.
    """
    hook = request.get("DebugHookConfig")
    if hook is None or not request.get("DebugRuleConfigurations"):
        return hook
    entries = hook.get("CollectionConfigurations", ())
    added = []
    for entry in entries:
        if entry == get_collection(entry.get("CollectionName", "")):
            rest = {k: v for k, v in entry["CollectionParameters"].items() if k != "save_interval"}
            added.append({**entry, "CollectionParameters": rest})
    return {**hook, "CollectionConfigurations": [*entries, *added]} if added else hook


def check_profiler(profiler: Request | None) -> None:
    """Raise RequestRefused for an interval that SageMaker does not have."""
    interval = (profiler or {}).get("ProfilingIntervalInMilliseconds", 500)
    if interval not in _INTERVALS_MS:
        choices = ", ".join(map(str, _INTERVALS_MS))
        raise request_error(
            f"ProfilingIntervalInMilliseconds must be one of {choices}, got {interval}."
        )


def local_path(url: str) -> str:
    """Return a URL, as a path where it is one of this machine.

    Example:
        >>> local_path("file:///data/my%20set"), local_path("s3://bucket/data")
        ('/data/my set', 's3://bucket/data')
    """
    return unquote(url.removeprefix("file://")) if url.startswith("file://") else url


def request_error(message: str) -> RequestRefused:
    """Return the error of a request that cannot be carried out."""
    return RequestRefused("ValidationException", message)


_PROGRAM, _SOURCE = "sagemaker_program", "sagemaker_submit_directory"


def _program(hyperparameters: Request) -> str:
    missing = [name for name in (_PROGRAM, _SOURCE) if name not in hyperparameters]
    if missing:
        raise request_error(
            f"The hyperparameter {missing[0]} is missing. Stepwatch trains by a script, not by an"
            " image: give an entry_point to the estimator, or set sagemaker_program and"
            " sagemaker_submit_directory."
        )
    program = str(hyperparameters[_PROGRAM])
    path = PurePosixPath(program)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        raise request_error(
            f"sagemaker_program must be a Python file in the source, got {program!r}."
        )
    return program


def _channel(channel: Request, request: Request) -> tuple[str, str]:
    name = channel["ChannelName"]
    source = channel["DataSource"].get("S3DataSource")
    mode = channel.get("InputMode") or request["AlgorithmSpecification"]["TrainingInputMode"]
    if not _CHANNEL.fullmatch(name):
        raise request_error(f"The channel name {name!r} cannot be that of a folder.")
    if source is None or source["S3DataType"] != "S3Prefix":
        raise request_error(f"The channel {name} must have an S3DataSource of the type S3Prefix.")
    if mode == "Pipe":
        raise request_error(f"The channel {name} has the input mode Pipe; use File or FastFile.")
    return name, local_path(source["S3Uri"])


def _processes(request: Request) -> int:
    """Return how many processes train: one for each instance."""
    resources = request["ResourceConfig"]
    _check_resources(request, resources)
    groups = resources.get("InstanceGroups") or [resources]
    number: int = sum(group.get("InstanceCount", 1) for group in groups)
    number *= processes_a_node(request)
    if number > MOST_PROCESSES:
        raise RequestRefused(
            "ResourceLimitExceeded",
            f"This machine trains with at most {MOST_PROCESSES} processes, got {number} instances.",
        )
    return max(1, number)


def _check_resources(request: Request, resources: Request) -> None:
    """Raise RequestRefused for what SageMaker does not combine."""
    groups = resources.get("InstanceGroups")
    names = [group["InstanceGroupName"] for group in groups or ()]
    if groups and ("InstanceCount" in resources or "InstanceType" in resources):
        raise request_error("Give either InstanceGroups, or InstanceType and InstanceCount.")
    if len(set(names)) < len(names):
        raise request_error("InstanceGroupName must be unique.")
    if "KeepAlivePeriodInSeconds" in resources:
        if groups:
            raise request_error("KeepAlivePeriodInSeconds cannot be used with InstanceGroups.")
        if request.get("EnableManagedSpotTraining"):
            raise request_error("KeepAlivePeriodInSeconds cannot be used with spot training.")
    for channel in request.get("InputDataConfig", ()):
        source = channel["DataSource"].get("S3DataSource") or {}
        unknown = sorted({*source.get("InstanceGroupNames", ())} - {*names})
        if unknown:
            raise request_error(
                f"The channel {channel['ChannelName']} names the instance group {unknown[0]!r},"
                " which the ResourceConfig has not."
            )


def _value(text: str) -> Any:
    """Return the value of a hyperparameter: clients write it as JSON, people as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
