"""Training jobs: what clients ask for, and what they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...errors import ConfigError, JobExists, JobNotFound, RequestRefused
from ..job_record import JobRecord
from ..reaping import reap
from ..spec import JobSpec
from ..submitting import submit, update
from .account import Account
from .asked import check_profiler, job_spec, refused
from .asked_rules import check_names, rule_specs
from .described import description, summary
from .listing import page

Asked = Mapping[str, Any]
Answer = dict[str, Any]


def create(account: Account, asked: Asked) -> Answer:
    """Begin a job."""
    spec = job_spec(asked, account)
    arn = account.training_arn(spec.name)
    begin(account, spec, "Training", arn)
    return {"TrainingJobArn": arn}


def begin(account: Account, spec: JobSpec, kind: str, arn: str) -> None:
    """Begin a job whose name is not taken.

    Raises:
        RequestRefused: It is.
    """
    try:
        submit(account.records, spec)
    except JobExists:
        raise RequestRefused(
            "ResourceInUse",
            f"{kind} job names must be unique within an AWS account and region, and a"
            f" {kind.lower()} job with this name already exists ({arn})",
        ) from None


def describe(account: Account, asked: Asked) -> Answer:
    """Say how a job stands."""
    return description(known(account, asked["TrainingJobName"]), account)


def stop(account: Account, asked: Asked) -> Answer:
    """Ask a job to stop; once more changes nothing."""
    record = known(account, asked["TrainingJobName"])
    try:
        account.records.ask_stop(record.spec.name, "stopped by its user")
    except ConfigError:
        raise refused(
            f"The request was rejected because the training job is in status {record.status}."
        ) from None
    return {}


def change(account: Account, asked: Asked) -> Answer:
    """Change what is profiled of a job that goes on, and which rules judge that."""
    record = known(account, asked["TrainingJobName"])
    spec, name = record.spec, record.spec.name
    profiler = asked.get("ProfilerConfig")
    check_profiler(profiler)
    rules = rule_specs({**asked, "DebugRuleConfigurations": ()})
    check_names([*spec.rules, *rules])
    request = dict(spec.request)
    if profiler is not None:
        # What is not said anew stays; but for disabling, which says all.
        kept = {} if profiler.get("DisableProfiler") else request.get("ProfilerConfig", {})
        request["ProfilerConfig"] = {**kept, "DisableProfiler": False, **profiler}
    if rules:
        before = request.get("ProfilerRuleConfigurations", ())
        request["ProfilerRuleConfigurations"] = [*before, *asked["ProfilerRuleConfigurations"]]
    try:
        update(account.records, name, request.get("ProfilerConfig"), rules, request)
    except ConfigError:
        raise refused(
            "The request was rejected because the training job is in status"
            f" {known(account, name).status}."
        ) from None
    return {"TrainingJobArn": account.training_arn(name)}


def show_list(account: Account, asked: Asked) -> Answer:
    """List jobs."""
    reap(account.records)
    found, more = page(account.records.overview(), asked)
    return {"TrainingJobSummaries": [summary(one, account) for one in found], **more}


def known(account: Account, name: str) -> JobRecord:
    """Return how a job stands.

    Raises:
        RequestRefused: There is no such job.
    """
    reap(account.records)
    with suppress(JobNotFound):
        record = account.records.get(name)
        if not record.spec.judges:
            return record
    raise refused("Requested resource not found.")
