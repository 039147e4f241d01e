"""Processing jobs: each rule of a training job is one; others judge runs that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...rules.compat import compat_status
from ..job_record import JobRecord
from ..judged import NAME
from ..processes import end_group
from ..reaping import reap
from ..spec import JobSpec
from .account import Account, processing_name
from .asked import local, refused
from .asked_rules import rule_spec
from .described import seconds
from .listing import page
from .training_jobs import begin

Asked = Mapping[str, Any]
Answer = dict[str, Any]
#: What is said of a processing job, by how its rule stands.
_STATUSES = {
    "InProgress": "InProgress",
    "Stopping": "Stopping",
    "Stopped": "Stopped",
    "Error": "Failed",
    "NotEvaluated": "Failed",
    "Failed": "Failed",
}


@dataclass(frozen=True, slots=True)
class ProcessingJob:
    """A rule of a job, as a job of its own.

    Args:
        name: As SageMaker would name it; of a job that trains nothing, its own.
        status: ``InProgress``, ``Completed``, ``Failed``, ``Stopping`` or ``Stopped``.
        created_ns: When it began, nanoseconds since the Unix epoch.
        changed_ns: When it last changed.
        record: The job.
        place: Of the rule among its rules.
    """

    name: str
    status: str
    created_ns: int
    changed_ns: int
    record: JobRecord
    place: int

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ("Completed", "Failed", "Stopped")


def create(account: Account, asked: Asked) -> Answer:
    """Let a rule judge a run that there is."""
    name, parameters = asked["ProcessingJobName"], asked.get("Environment", {})
    inputs = [one.get("S3Input", {}).get("S3Uri") for one in asked.get("ProcessingInputs", ())]
    outputs = asked.get("ProcessingOutputConfig", {}).get("Outputs", ())
    if NAME not in parameters or not inputs or inputs[0] is None:
        raise refused(
            "Stepwatch processes runs by rules, not data by images: give the run as an S3Input, and"
            f" the parameters of the rule as Environment, {NAME} among them."
        )
    configuration = {"RuleConfigurationName": parameters[NAME], "RuleParameters": parameters}
    spec = JobSpec(
        name,
        "",
        rules=(rule_spec(configuration, name),),
        output=outputs[0]["S3Output"]["S3Uri"] if outputs else "",
        max_run_s=asked.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400),
        judges=local(inputs[0]),
        request=asked,
    )
    arn = account.named_arn("processing-job", name)
    begin(account, spec, "Processing", arn)
    return {"ProcessingJobArn": arn}


def describe(account: Account, asked: Asked) -> Answer:
    """Say how a rule stands."""
    job = known(account, asked["ProcessingJobName"])
    spec, rule = job.record.spec, job.record.rules[job.place]
    details = compat_status(rule)[1]
    told = {
        **_summary(account, job),
        **(_asked_of(job) if spec.judges else _of_training(account, job)),
        "ProcessingStartTime": seconds(job.record.started_ns),
        "ExitMessage": details or None,
        "FailureReason": details if job.status == "Failed" else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def stop(account: Account, asked: Asked) -> Answer:
    """Stop a rule; its training goes on."""
    job = known(account, asked["ProcessingJobName"])
    if job.has_ended:
        raise refused(
            f"The request was rejected because the processing job is in status {job.status}."
        )
    name = job.record.spec.name
    if job.record.spec.judges:
        account.records.ask_stop(name, "stopped by its user")
        return {}
    account.records.judge(name, job.place, "Stopping")
    for process in account.records.processes(name):
        if process.role == f"rule-{job.place}":
            end_group(process)  # whoever watches over it notes the end
    return {}


def show_list(account: Account, asked: Asked) -> Answer:
    """List the rules of all jobs."""
    found, more = page(all_jobs(account), asked)
    return {"ProcessingJobSummaries": [_summary(account, job) for job in found], **more}


def known(account: Account, name: str) -> ProcessingJob:
    """Return the rule that is known by a name, as given or in small letters, as in its ARN.

    Raises:
        RequestRefused: There is none.
    """
    for job in all_jobs(account):
        if name.lower() == job.name.lower():
            return job
    raise refused(f"Could not find requested job with name: {name}")


_ECHOED = (
    *("ProcessingInputs", "ProcessingOutputConfig", "ProcessingResources", "StoppingCondition"),
    *("AppSpecification", "Environment", "RoleArn"),
)
_CLUSTER = {"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 30}


def all_jobs(account: Account) -> list[ProcessingJob]:
    """Return the rules of all jobs."""
    reap(account.records)
    records = [account.records.get(name) for name in account.records.names()]
    return [_job(record, place) for record in records for place in range(len(record.rules))]


def _job(record: JobRecord, place: int) -> ProcessingJob:
    rule = record.rules[place]
    name, status = processing_name(record.spec.name, rule.name), rule.status
    if record.spec.judges:
        name = record.spec.name
        status = rule.status if record.status == "Completed" else record.status
    told = _STATUSES.get(status, "Completed")
    return ProcessingJob(name, told, record.created_ns, rule.changed_ns, record, place)


def _asked_of(job: ProcessingJob) -> Answer:
    """Return what a job was asked for by its client."""
    asked = job.record.spec.request
    return {name: asked.get(name) for name in _ECHOED}


def _of_training(account: Account, job: ProcessingJob) -> Answer:
    """Return what SageMaker says of a rule of a training job."""
    spec, configuration = job.record.spec, _configuration(job)
    return {
        "TrainingJobArn": account.training_arn(spec.name),
        "RoleArn": spec.request.get("RoleArn", account.role_arn),
        "ProcessingResources": {"ClusterConfig": _CLUSTER},
        "AppSpecification": {"ImageUri": configuration.get("RuleEvaluatorImage", "stepwatch")},
        "Environment": dict(configuration.get("RuleParameters", {})),
    }


def _configuration(job: ProcessingJob) -> Mapping[str, Any]:
    asked = job.record.spec.request
    known: list[Mapping[str, Any]] = [
        *asked.get("DebugRuleConfigurations", ()),
        *asked.get("ProfilerRuleConfigurations", ()),
    ]
    return known[job.place] if job.place < len(known) else {}


def _summary(account: Account, job: ProcessingJob) -> Answer:
    told = {
        "ProcessingJobName": job.name,
        "ProcessingJobArn": account.named_arn("processing-job", job.name),
        "CreationTime": seconds(job.created_ns),
        "LastModifiedTime": seconds(job.changed_ns),
        "ProcessingJobStatus": job.status,
    }
    if job.has_ended:
        told["ProcessingEndTime"] = seconds(job.changed_ns)
    return told
