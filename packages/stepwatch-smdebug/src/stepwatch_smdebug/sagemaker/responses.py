"""Responses about jobs: their descriptions, pages of lists of them, and who a client is.

A page names the last item on it, so that the next one repeats or omits nothing where something
comes meanwhile. Every client is the one role of the one account, as STS and IAM answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from stepwatch.errors import RequestRefused
from stepwatch.jobs.logs import last_metrics
from stepwatch.jobs.paths import JobPaths
from stepwatch.jobs.records import JobRecord, Overview, RuleRecord
from stepwatch.rules.compat import compat_status

from .account import ACCOUNT_NUMBER, Account
from .requests import RULES

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
#: Where things lie in a container by default.
_LOCAL_PATHS = {
    "DebugHookConfig": "/opt/ml/output/tensors/",
    "TensorBoardOutputConfig": "/opt/ml/output/tensorboard",
}
_RULE_PATH = "/opt/ml/processing/output/rule/"


def training_description(record: JobRecord, account: Account) -> dict[str, Any]:
    """Return the response of DescribeTrainingJob; what has no value is left out."""
    spec, request = record.spec, record.spec.request
    response: dict[str, Any] = {
        "TrainingJobName": spec.name,
        "TrainingJobArn": account.training_arn(spec.name),
        "TrainingJobStatus": record.status,
        "SecondaryStatus": record.secondary,
        "FailureReason": record.failure if record.status == "Failed" else None,
        "CreationTime": epoch_seconds(record.created_ns),
        "TrainingStartTime": epoch_seconds(record.started_ns),
        "TrainingEndTime": epoch_seconds(record.ended_ns),
        "LastModifiedTime": epoch_seconds(record.changed_ns),
        "SecondaryStatusTransitions": [
            {
                "Status": one.status,
                "StartTime": epoch_seconds(one.started_ns),
                **({"EndTime": epoch_seconds(one.ended_ns)} if one.ended_ns is not None else {}),
                "StatusMessage": one.message,
            }
            for one in record.transitions
        ],
        "ModelArtifacts": {"S3ModelArtifacts": f"{spec.output_url}/output/model.tar.gz"},
        **{name: request.get(name) for name in _ECHOED},
        **{name: request.get(name, False) for name in _FLAGS},
        **_configurations(request),
        **_statuses(record, account),
        **_times(record),
        "FinalMetricDataList": _final_metrics(record, account),
        "WarmPoolStatus": warm_pool(record),
    }
    return {name: value for name, value in response.items() if value is not None}


def training_summary(job: Overview, account: Account) -> dict[str, Any]:
    """Return a job in the response of ListTrainingJobs."""
    response = {
        "TrainingJobName": job.name,
        "TrainingJobArn": account.training_arn(job.name),
        "CreationTime": epoch_seconds(job.created_ns),
        "TrainingEndTime": epoch_seconds(job.ended_ns),
        "LastModifiedTime": epoch_seconds(job.changed_ns),
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.secondary,
    }
    return {name: value for name, value in response.items() if value is not None}


def epoch_seconds(time_ns: int | None) -> float | None:
    """Return a time as the API has it: seconds, with milliseconds."""
    return None if time_ns is None else time_ns // 1_000_000 / 1000


def _configurations(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was configured, with the paths that the service would fill in."""
    response: dict[str, Any] = {
        name: {"LocalPath": path, **request[name]}
        for name, path in _LOCAL_PATHS.items()
        if name in request
    }
    for name in RULES:
        if name in request:
            response[name] = [{"LocalPath": _RULE_PATH, **one} for one in request[name]]
    return {**response, "ProfilerConfig": request.get("ProfilerConfig")}


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
        "LastModifiedTime": epoch_seconds(rule.changed_ns),
    }


def warm_pool(record: JobRecord) -> dict[str, Any] | None:
    """Return how the warm pool of a job stands, ``None`` if it asked for none.

    Nothing has to be kept: this machine is always warm, and the next job begins at once.
    """
    if "KeepAlivePeriodInSeconds" not in record.spec.request.get("ResourceConfig", {}):
        return None
    if not record.has_ended:
        return {"Status": "InUse"}
    return {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 0}


def _final_metrics(record: JobRecord, account: Account) -> list[dict[str, Any]] | None:
    found = last_metrics(JobPaths(account.records.home, record.spec.name))
    return [
        {"MetricName": one.name, "Value": one.value, "Timestamp": one.time_ms / 1000}
        for one in found
    ] or None


def _times(record: JobRecord) -> dict[str, Any]:
    if record.started_ns is None or record.ended_ns is None:
        return {}
    lasted_s = round((record.ended_ns - record.started_ns) / 1e9)
    return {"TrainingTimeInSeconds": lasted_s, "BillableTimeInSeconds": lasted_s}


_MOST_FIELDS = 1000
_STS, _IAM = (
    "https://sts.amazonaws.com/doc/2011-06-15/",
    "https://iam.amazonaws.com/doc/2010-05-08/",
)


def identity_response(account: Account, form: str) -> tuple[int, str]:
    """Return the status and the XML for a form of STS or IAM, ``Action=GetCallerIdentity&...``."""
    try:
        given = parse_qs(form, max_num_fields=_MOST_FIELDS)
    except ValueError as why:
        raise RequestRefused("SerializationException", f"no form: {why}") from None
    action = given.get("Action", [""])[0]
    if action == "GetCallerIdentity":
        fields = {"Arn": account.role_arn, "UserId": "STEPWATCH", "Account": ACCOUNT_NUMBER}
        return 200, _identity_xml(action, _STS, _identity_tags(fields))
    if action == "GetRole":
        fields = {
            "Path": "/",
            "RoleName": given.get("RoleName", ["stepwatch"])[0],
            "RoleId": "STEPWATCH",
            "Arn": account.role_arn,
            "CreateDate": "2020-01-01T00:00:00Z",
        }
        return 200, _identity_xml(action, _IAM, f"<Role>{_identity_tags(fields)}</Role>")
    if action == "SimulatePrincipalPolicy":  # what a role may do: roles mean nothing here
        decisions = [
            {"EvalActionName": name, "EvalResourceName": "*", "EvalDecision": "allowed"}
            for key, (name, *_) in sorted(given.items())
            if key.startswith("ActionNames.member.")
        ]
        members = "".join(f"<member>{_identity_tags(one)}</member>" for one in decisions)
        inside = f"<EvaluationResults>{members}</EvaluationResults><IsTruncated>false</IsTruncated>"
        return 200, _identity_xml(action, _IAM, inside)
    error = _identity_tags(
        {"Type": "Sender", "Code": "InvalidAction", "Message": f"no action {action!r}"}
    )
    return 400, f"<ErrorResponse><Error>{error}</Error></ErrorResponse>"


def _identity_xml(action: str, namespace: str, inside: str) -> str:
    return (
        f'<{action}Response xmlns="{namespace}"><{action}Result>{inside}</{action}Result>'
        f"<ResponseMetadata><RequestId>0</RequestId></ResponseMetadata></{action}Response>"
    )


def _identity_tags(fields: dict[str, str]) -> str:
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())


_PAGE_SIZE = 10


class ListedItem(Protocol):
    """A job in a list; times are nanoseconds since the Unix epoch."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def created_ns(self) -> int: ...
    @property
    def changed_ns(self) -> int: ...


T = TypeVar("T", bound=ListedItem)
_ORDERS: dict[str, Callable[[ListedItem], tuple[Any, str]]] = {
    "Name": lambda one: (one.name, one.name),
    "Status": lambda one: (one.status, one.name),
    "CreationTime": lambda one: (one.created_ns, one.name),
}


def list_page(listed: Sequence[T], request: Mapping[str, Any]) -> tuple[list[T], dict[str, str]]:
    """Return a page of a list as a request filters and sorts it, and the token of the next.

    Raises:
        RequestRefused: Its token is invalid.
    """
    order = _ORDERS[request.get("SortBy", "CreationTime")]
    is_descending = request.get("SortOrder", "Descending") == "Descending"
    wanted = [one for one in listed if _wanted(one, request)]
    found = sorted(wanted, key=order, reverse=is_descending)
    if request.get("NextToken"):
        after = _decode_token(request["NextToken"])
        found = [one for one in found if _is_behind(order(one), after, descending=is_descending)]
    size = request.get("MaxResults", _PAGE_SIZE)
    more = {"NextToken": _token(order(found[size - 1]))} if len(found) > size else {}
    return found[:size], more


def _wanted(one: ListedItem, request: Mapping[str, Any]) -> bool:
    for what, time_ns in (("CreationTime", one.created_ns), ("LastModifiedTime", one.changed_ns)):
        after, before = request.get(f"{what}After"), request.get(f"{what}Before")
        if after is not None and time_ns < after * 1e9:
            return False
        if before is not None and time_ns > before * 1e9:
            return False
    if request.get("NameContains", "").lower() not in one.name.lower():
        return False
    return bool(request.get("StatusEquals", one.status) == one.status)


def _is_behind(position: tuple[Any, str], after: tuple[Any, str], *, descending: bool) -> bool:
    try:
        return position < after if descending else position > after
    except TypeError:
        raise _invalid_token() from None


def _token(position: tuple[Any, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode()


def _decode_token(token: str) -> tuple[Any, str]:
    try:
        value, name = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, RecursionError):
        raise _invalid_token() from None
    return value, str(name)


def _invalid_token() -> RequestRefused:
    return RequestRefused("ValidationException", "The NextToken is invalid.")
