"""The operations of training jobs, and of their tags, which are kept and have no effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from stepwatch.errors import ConfigError, JobExists, JobNotFound, RequestRefused
from stepwatch.jobs.job import submit_job, update_job
from stepwatch.jobs.processes import reap
from stepwatch.jobs.records import JobRecord
from stepwatch.jobs.spec import JobSpec

from .account import Account, job_name_in
from .requests import check_names, check_profiler, job_spec, request_error, rule_specs
from .responses import list_page, training_description, training_summary, warm_pool

Request = Mapping[str, Any]
Response = dict[str, Any]
Tags = dict[str, str]


def add_tags(account: Account, request: Request) -> dict[str, Any]:
    """Add tags, or give them other values; the response has all."""
    new = _by_key(request["Tags"])
    return {"Tags": _tag_list(_change_tags(account, request, lambda tags: {**tags, **new}))}


def delete_tags(account: Account, request: Request) -> dict[str, Any]:
    """Remove tags that may be there."""
    gone = set(request["TagKeys"])
    _change_tags(account, request, lambda tags: {k: v for k, v in tags.items() if k not in gone})
    return {}


def list_tags(account: Account, request: Request) -> dict[str, Any]:
    """List the tags of a job."""
    spec = account.records.get(_job_of_arn(account, request)).spec
    return {"Tags": _tag_list(_by_key(spec.request.get("Tags", ())))}


def _change_tags(account: Account, request: Request, change: Callable[[Tags], Tags]) -> Tags:
    def changed(spec: JobSpec) -> JobSpec:
        tags = change(_by_key(spec.request.get("Tags", ())))
        return replace(spec, request={**spec.request, "Tags": _tag_list(tags)})

    spec = account.records.change(_job_of_arn(account, request), changed)
    return _by_key(spec.request["Tags"])


def _job_of_arn(account: Account, request: Request) -> str:
    """Return the name of the job that an ARN means."""
    name = job_name_in(request["ResourceArn"])
    for known in account.records.names():
        if known.lower() == name:
            return known
    raise RequestRefused("ValidationException", "Requested resource not found.")


def _by_key(tags: Any) -> Tags:
    return {tag["Key"]: tag["Value"] for tag in tags}


def _tag_list(tags: Tags) -> list[Tags]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def create(account: Account, request: Request) -> Response:
    """Begin a job."""
    spec = job_spec(request, account)
    arn = account.training_arn(spec.name)
    begin(account, spec, "Training", arn)
    return {"TrainingJobArn": arn}


def begin(account: Account, spec: JobSpec, kind: str, arn: str) -> None:
    """Begin a job.

    Raises:
        RequestRefused: Its name is taken.
    """
    try:
        submit_job(account.records, spec)
    except JobExists:
        raise RequestRefused(
            "ResourceInUse",
            f"{kind} job names must be unique within an AWS account and region, and a"
            f" {kind.lower()} job with this name already exists ({arn})",
        ) from None


def describe(account: Account, request: Request) -> Response:
    """Describe a job."""
    return training_description(find_job(account, request["TrainingJobName"]), account)


def stop(account: Account, request: Request) -> Response:
    """Ask a job to stop; once more changes nothing."""
    record = find_job(account, request["TrainingJobName"])
    try:
        account.records.record_stop_request(record.spec.name, "stopped by its user")
    except ConfigError:
        raise request_error(
            f"The request was rejected because the training job is in status {record.status}."
        ) from None
    return {}


def update(account: Account, request: Request) -> Response:
    """Change what is profiled of a job that goes on, and which rules judge that.

    How long its warm pool is kept can be changed later, too.
    """
    record = find_job(account, request["TrainingJobName"])
    if "ResourceConfig" in request:
        _keep_alive(account, record, request["ResourceConfig"]["KeepAlivePeriodInSeconds"])
        if not {"ProfilerConfig", "ProfilerRuleConfigurations"} & request.keys():
            return {"TrainingJobArn": account.training_arn(record.spec.name)}
        record = find_job(account, record.spec.name)
    spec, name = record.spec, record.spec.name
    profiler = request.get("ProfilerConfig")
    check_profiler(profiler)
    rules = rule_specs({**request, "DebugRuleConfigurations": ()})
    check_names([*spec.rules, *rules])
    whole = dict(spec.request)
    if profiler is not None:
        # What is left out stays; but for disabling, which replaces all.
        kept = {} if profiler.get("DisableProfiler") else whole.get("ProfilerConfig", {})
        whole["ProfilerConfig"] = {**kept, "DisableProfiler": False, **profiler}
    if rules:
        before = whole.get("ProfilerRuleConfigurations", ())
        whole["ProfilerRuleConfigurations"] = [*before, *request["ProfilerRuleConfigurations"]]
    try:
        update_job(account.records, name, whole.get("ProfilerConfig"), rules, whole)
    except ConfigError:
        raise request_error(
            "The request was rejected because the training job is in status"
            f" {find_job(account, name).status}."
        ) from None
    return {"TrainingJobArn": account.training_arn(name)}


def _keep_alive(account: Account, record: JobRecord, seconds: int) -> None:
    def changed(spec: JobSpec) -> JobSpec:
        resources = {**spec.request["ResourceConfig"], "KeepAlivePeriodInSeconds": seconds}
        return replace(spec, request={**spec.request, "ResourceConfig": resources})

    if "KeepAlivePeriodInSeconds" not in record.spec.request["ResourceConfig"]:
        raise request_error("The training job has no warm pool.")
    account.records.change(record.spec.name, changed)


def list_jobs(account: Account, request: Request) -> Response:
    """List jobs."""
    reap(account.records)
    listed = account.records.overview()
    if "WarmPoolStatusEquals" in request:
        wanted = request["WarmPoolStatusEquals"]
        records = map(account.records.get, [one.name for one in listed])
        listed = [
            one
            for one, record in zip(listed, records, strict=True)
            if (warm_pool(record) or {}).get("Status") == wanted
        ]
    found, more = list_page(listed, request)
    return {"TrainingJobSummaries": [training_summary(one, account) for one in found], **more}


def find_job(account: Account, name: str) -> JobRecord:
    """Return the record of a job that trains.

    Raises:
        RequestRefused: There is no such job.
    """
    reap(account.records, name)
    with suppress(JobNotFound):
        record = account.records.get(name)
        if not record.spec.judges:
            return record
    raise request_error("Requested resource not found.")
