"""Metrics as clients define them: patterns over the log, and what is told of each."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from botocore.exceptions import ClientError

from stepwatch.jobs.logs import LogMetrics
from stepwatch.jobs.paths import JobPaths
from stepwatch_smdebug.sagemaker.account import Account
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request, shared, shared_client


def defining(name, **patterns):
    """Return a request that defines metrics."""
    definitions = [{"Name": key, "Regex": pattern} for key, pattern in patterns.items()]
    algorithm = {**request(name)["AlgorithmSpecification"], "MetricDefinitions": definitions}
    return request(name, AlgorithmSpecification=algorithm)


def test_the_last_value_of_each_is_told():
    """With its name and its time; one that was never printed is left out."""
    records = shared().records
    asked = defining("measured", loss=r"loss=(\S+)", accuracy=r"accuracy=(\S+)")
    spec = job_spec(asked, Account(records))
    records.add(spec)
    paths = JobPaths(records.home, spec.name)
    paths.make()
    found = LogMetrics(spec.metrics, paths, [paths.log(0)])
    assert "FinalMetricDataList" not in describe(spec.name)
    paths.log(0).write_text("loss=2.5\nloss=1.25\n")
    found.search()
    (metric,) = describe(spec.name)["FinalMetricDataList"]

    assert ("loss", 1.25) == (metric["MetricName"], metric["Value"])
    assert abs(datetime.now(timezone.utc) - metric["Timestamp"]).total_seconds() < 100


def test_a_pattern_that_is_none_is_refused():
    """Before anything begins."""
    with pytest.raises(ClientError, match="the metric 'loss' has no regular expression") as caught:
        shared_client().create_training_job(**defining("unmeasured", loss="loss=("))
    assert "ValidationException" == caught.value.response["Error"]["Code"]


def describe(name):
    """Return what is told of a job."""
    return shared_client().describe_training_job(TrainingJobName=name)
