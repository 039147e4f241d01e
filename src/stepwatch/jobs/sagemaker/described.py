"""How a job of ours stands, in the words of DescribeTrainingJob."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...rules.compat import compat_status
from ..job_record import JobRecord, Overview, RuleRecord
from ..metrics import last_metrics
from ..place import Place
from .account import Account
from .asked_rules import RULES

_ECHOED = (
    *("AlgorithmSpecification", "RoleArn", "InputDataConfig", "OutputDataConfig"),
    *("ResourceConfig", "VpcConfig", "StoppingCondition", "HyperParameters", "CheckpointConfig"),
    *("Environment", "RetryStrategy", "ExperimentConfig", "RemoteDebugConfig", "InfraCheckConfig"),
)
_FLAGS = (
    "EnableNetworkIsolation",
    "EnableInterContainerTrafficEncryption",
    "EnableManagedSpotTraining",
)
#: Where in a container things lie that nobody gave a place.
_PLACES = {
    "DebugHookConfig": "/opt/ml/output/tensors/",
    "TensorBoardOutputConfig": "/opt/ml/output/tensorboard",
}
_RULE_PLACE = "/opt/ml/processing/output/rule/"


def description(record: JobRecord, account: Account) -> dict[str, Any]:
    """Return what is said of a job; what has no value is left out."""
    spec, asked = record.spec, record.spec.request
    told: dict[str, Any] = {
        "TrainingJobName": spec.name,
        "TrainingJobArn": account.training_arn(spec.name),
        "TrainingJobStatus": record.status,
        "SecondaryStatus": record.secondary,
        "FailureReason": record.failure if record.status == "Failed" else None,
        "CreationTime": seconds(record.created_ns),
        "TrainingStartTime": seconds(record.started_ns),
        "TrainingEndTime": seconds(record.ended_ns),
        "LastModifiedTime": seconds(record.changed_ns),
        "SecondaryStatusTransitions": [
            {
                "Status": one.status,
                "StartTime": seconds(one.started_ns),
                **({"EndTime": seconds(one.ended_ns)} if one.ended_ns is not None else {}),
                "StatusMessage": one.message,
            }
            for one in record.transitions
        ],
        "ModelArtifacts": {"S3ModelArtifacts": f"{spec.output_url}/output/model.tar.gz"},
        **{name: asked.get(name) for name in _ECHOED},
        **{name: asked.get(name, False) for name in _FLAGS},
        **_configurations(asked),
        **_statuses(record, account),
        **_times(record),
        "FinalMetricDataList": _metrics(record, account),
    }
    return {name: value for name, value in told.items() if value is not None}


def summary(job: Overview, account: Account) -> dict[str, Any]:
    """Return what a list says of a job."""
    told = {
        "TrainingJobName": job.name,
        "TrainingJobArn": account.training_arn(job.name),
        "CreationTime": seconds(job.created_ns),
        "TrainingEndTime": seconds(job.ended_ns),
        "LastModifiedTime": seconds(job.changed_ns),
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.secondary,
    }
    return {name: value for name, value in told.items() if value is not None}


def seconds(time_ns: int | None) -> float | None:
    """Return a time as the API has it: seconds, with milliseconds."""
    return None if time_ns is None else time_ns // 1_000_000 / 1000


def _configurations(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was configured, with the places that the service would fill in."""
    told: dict[str, Any] = {
        name: {"LocalPath": place, **asked[name]}
        for name, place in _PLACES.items()
        if name in asked
    }
    for name in RULES:
        if name in asked:
            told[name] = [{"LocalPath": _RULE_PLACE, **one} for one in asked[name]]
    return {**told, "ProfilerConfig": asked.get("ProfilerConfig")}


def _statuses(record: JobRecord, account: Account) -> dict[str, Any]:
    num_debug = len(record.spec.request.get(RULES[0], ()))
    debug, profiler = (
        [_status(record.spec.name, rule, account) for rule in rules]
        for rules in (record.rules[:num_debug], record.rules[num_debug:])
    )
    return {
        "DebugRuleEvaluationStatuses": debug or None,
        "ProfilerRuleEvaluationStatuses": profiler or None,
        "ProfilingStatus": "Enabled" if record.spec.profile_url else "Disabled",
    }


def _status(job: str, rule: RuleRecord, account: Account) -> dict[str, Any]:
    status, details = compat_status(rule)
    return {
        "RuleConfigurationName": rule.name,
        "RuleEvaluationJobArn": account.processing_arn(job, rule.name),
        "RuleEvaluationStatus": status,
        **({"StatusDetails": details} if details else {}),
        "LastModifiedTime": seconds(rule.changed_ns),
    }


def _metrics(record: JobRecord, account: Account) -> list[dict[str, Any]] | None:
    found = last_metrics(Place(account.records.home, record.spec.name))
    return [
        {"MetricName": one.name, "Value": one.value, "Timestamp": one.time_ms / 1000}
        for one in found
    ] or None


def _times(record: JobRecord) -> dict[str, Any]:
    if record.started_ns is None or record.ended_ns is None:
        return {}
    lasted_s = round((record.ended_ns - record.started_ns) / 1e9)
    return {"TrainingTimeInSeconds": lasted_s, "BillableTimeInSeconds": lasted_s}
