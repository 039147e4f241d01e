"""Processing jobs: each rule of a training job is one; others judge runs that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepwatch.jobs.job_rules import RULE_NAME
from stepwatch.jobs.processes import end_group, reap
from stepwatch.jobs.records import JobRecord
from stepwatch.jobs.spec import JobSpec
from stepwatch.rules.compat import compat_status

from .account import Account, processing_name
from .requests import local_path, request_error, rule_spec
from .responses import epoch_seconds, list_page
from .training_jobs import begin

Request = Mapping[str, Any]
Response = dict[str, Any]
#: The status of a processing job, by that of its rule.
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
        index: The number of the rule among its rules, from 0.
    """

    name: str
    status: str
    created_ns: int
    changed_ns: int
    record: JobRecord
    index: int

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ("Completed", "Failed", "Stopped")


def create(account: Account, request: Request) -> Response:
    """Begin a job in which a rule judges an existing run."""
    name, parameters = request["ProcessingJobName"], request.get("Environment", {})
    inputs = [one.get("S3Input", {}).get("S3Uri") for one in request.get("ProcessingInputs", ())]
    outputs = request.get("ProcessingOutputConfig", {}).get("Outputs", ())
    if RULE_NAME not in parameters or not inputs or inputs[0] is None:
        raise request_error(
            "Stepwatch processes runs by rules, not data by images: give the run as an S3Input, and"
            f" the parameters of the rule as Environment, {RULE_NAME} among them."
        )
    configuration = {"RuleConfigurationName": parameters[RULE_NAME], "RuleParameters": parameters}
    spec = JobSpec(
        name,
        "",
        rules=(rule_spec(configuration, name),),
        output=outputs[0]["S3Output"]["S3Uri"] if outputs else "",
        max_run_s=request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400),
        judges=local_path(inputs[0]),
        request=request,
    )
    arn = account.named_arn("processing-job", name)
    begin(account, spec, "Processing", arn)
    return {"ProcessingJobArn": arn}


def describe(account: Account, request: Request) -> Response:
    """Describe a rule as a job."""
    job = find_job(account, request["ProcessingJobName"])
    spec, rule = job.record.spec, job.record.rules[job.index]
    details = compat_status(rule)[1]
    response = {
        **_summary(account, job),
        **(_request_of(job) if spec.judges else _of_training(account, job)),
        "ProcessingStartTime": epoch_seconds(job.record.started_ns),
        "ExitMessage": details or None,
        "FailureReason": details if job.status == "Failed" else None,
    }
    return {name: value for name, value in response.items() if value is not None}


def stop(account: Account, request: Request) -> Response:
    """Stop a rule; its training goes on."""
    job = find_job(account, request["ProcessingJobName"])
    if job.has_ended:
        raise request_error(
            f"The request was rejected because the processing job is in status {job.status}."
        )
    name = job.record.spec.name
    if job.record.spec.judges:
        account.records.record_stop_request(name, "stopped by its user")
        return {}
    account.records.judge(name, job.index, "Stopping")
    for process in account.records.processes(name):
        if process.role == f"rule-{job.index}":
            end_group(process)  # the runner notes the end
    return {}


def list_jobs(account: Account, request: Request) -> Response:
    """List the rules of all jobs."""
    found, more = list_page(all_jobs(account), request)
    return {"ProcessingJobSummaries": [_summary(account, job) for job in found], **more}


def find_job(account: Account, name: str) -> ProcessingJob:
    """Return the rule that is known by a name, as given or in small letters, as in its ARN.

    Raises:
        RequestRefused: There is none.
    """
    for job in all_jobs(account):
        if name.lower() == job.name.lower():
            return job
    raise request_error(f"Could not find requested job with name: {name}")


_ECHOED = (
    *("ProcessingInputs", "ProcessingOutputConfig", "ProcessingResources", "StoppingCondition"),
    *("AppSpecification", "Environment", "RoleArn"),
)
_CLUSTER = {"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 30}


def all_jobs(account: Account) -> list[ProcessingJob]:
    """Return the rules of all jobs."""
    reap(account.records)
    records = [account.records.get(name) for name in account.records.names()]
    return [_job(record, index) for record in records for index in range(len(record.rules))]


def _job(record: JobRecord, index: int) -> ProcessingJob:
    rule = record.rules[index]
    name, status = processing_name(record.spec.name, rule.name), rule.status
    if record.spec.judges:
        name = record.spec.name
        status = rule.status if record.status == "Completed" else record.status
    of_job = _STATUSES.get(status, "Completed")
    return ProcessingJob(name, of_job, record.created_ns, rule.changed_ns, record, index)


def _request_of(job: ProcessingJob) -> Response:
    return {name: job.record.spec.request.get(name) for name in _ECHOED}


def _of_training(account: Account, job: ProcessingJob) -> Response:
    """Return what SageMaker reports of a rule of a training job."""
    spec, configuration = job.record.spec, _configuration(job)
    return {
        "TrainingJobArn": account.training_arn(spec.name),
        "RoleArn": spec.request.get("RoleArn", account.role_arn),
        "ProcessingResources": {"ClusterConfig": _CLUSTER},
        "AppSpecification": {"ImageUri": configuration.get("RuleEvaluatorImage", "stepwatch")},
        "Environment": dict(configuration.get("RuleParameters", {})),
    }


def _configuration(job: ProcessingJob) -> Mapping[str, Any]:
    request = job.record.spec.request
    known: list[Mapping[str, Any]] = [
        *request.get("DebugRuleConfigurations", ()),
        *request.get("ProfilerRuleConfigurations", ()),
    ]
    return known[job.index] if job.index < len(known) else {}


def _summary(account: Account, job: ProcessingJob) -> Response:
    response = {
        "ProcessingJobName": job.name,
        "ProcessingJobArn": account.named_arn("processing-job", job.name),
        "CreationTime": epoch_seconds(job.created_ns),
        "LastModifiedTime": epoch_seconds(job.changed_ns),
        "ProcessingJobStatus": job.status,
    }
    if job.has_ended:
        response["ProcessingEndTime"] = epoch_seconds(job.changed_ns)
    return response
