"""Metrics as clients define them: patterns over the log, and what is told of each."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import count

import pytest
from botocore.exceptions import ClientError

from stepwatch.jobs.logs import LogMetrics
from stepwatch.jobs.paths import JobPaths
from stepwatch_smdebug.sagemaker.account import Account
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request, shared, shared_client

_numbers = count()


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


class TestCloudWatch:
    """``TrainingJobAnalytics`` of the SDK asks so."""

    FIRST = 1_700_000_040  # a full minute

    @pytest.fixture
    def job(self):
        """Return a job that printed a loss in three seconds of two minutes."""
        records = shared().records
        spec = job_spec(defining(f"curve-{next(_numbers)}", loss=r"loss=(\S+)"), Account(records))
        records.add(spec)
        paths = JobPaths(records.home, spec.name)
        paths.make()
        log, clock = paths.log(0), paths.log(0).with_suffix(".times")
        lines = [b"loss=4\n", b"loss=2 loss=3\n", b"loss=1\n"]
        log.write_bytes(b"".join(lines))
        ends = [sum(map(len, lines[: n + 1])) for n in range(3)]
        times = [self.FIRST, self.FIRST + 1, self.FIRST + 60]
        clock.write_text(
            "".join(f"{end} {at * 1000}\n" for end, at in zip(ends, times, strict=True))
        )
        LogMetrics(spec.metrics, paths, [log], from_start=True).search()
        return spec.name

    def asked(self, job, period=60, name="loss"):
        """Return what is asked of a metric."""
        return {
            "Namespace": "/aws/sagemaker/TrainingJobs",
            "MetricName": name,
            "Dimensions": [{"Name": "TrainingJobName", "Value": job}],
            "Period": period,
        }

    def time(self, seconds=120):
        """Return the time that is asked for."""
        return {"StartTime": self.FIRST, "EndTime": self.FIRST + seconds}

    @pytest.mark.parametrize(("period", "expected"), [(60, [3.0, 1.0]), (1, [4.0, 2.5, 1.0])])
    def test_a_metric_is_told_by_periods(self, job, period, expected):
        """The mean of what was printed in each that has any."""
        told = shared_client("cloudwatch").get_metric_statistics(
            **self.asked(job, period), **self.time(), Statistics=["Average", "SampleCount"]
        )

        assert expected == [one["Average"] for one in told["Datapoints"]]
        assert 4 == sum(one["SampleCount"] for one in told["Datapoints"])
        assert self.FIRST == told["Datapoints"][0]["Timestamp"].timestamp()

    def test_what_nobody_printed_has_no_data(self, job):
        """Another metric, another job, another time, and names that lead elsewhere."""
        client = shared_client("cloudwatch")
        later = {"StartTime": self.FIRST + 120, "EndTime": self.FIRST + 240}
        for asked in (
            {**self.asked(job, name="none"), **self.time()},
            {**self.asked("nobody"), **self.time()},
            {**self.asked("../x"), **self.time()},
            {**self.asked(job), **later},
        ):
            told = client.get_metric_statistics(**asked, Statistics=["Average"])
            assert [] == told["Datapoints"]

    def test_several_are_asked_for_at_once(self, job):
        """The newest first, unless asked otherwise."""
        asked = self.asked(job)
        del asked["Period"]
        queries = [
            {"Id": stat.lower(), "MetricStat": {"Metric": asked, "Period": 60, "Stat": stat}}
            for stat in ("Minimum", "Maximum")
        ]
        told = shared_client("cloudwatch").get_metric_data(MetricDataQueries=queries, **self.time())

        assert {"minimum": [1.0, 2.0], "maximum": [1.0, 4.0]} == {
            one["Id"]: one["Values"] for one in told["MetricDataResults"]
        }

    @pytest.mark.parametrize(
        ("more", "why"),
        [({"Period": 7}, "multiple of 60"), ({"Statistics": []}, "greater than or equal to 1"),
         ({"ExtendedStatistics": ["p50"]}, "no percentiles")],
    )  # fmt: skip
    def test_what_is_not_answered_says_so(self, job, more, why):
        asked = {**self.asked(job), **self.time(), "Statistics": ["Average"], **more}
        with pytest.raises(ClientError, match=why):
            shared_client("cloudwatch").get_metric_statistics(**asked)


def describe(name):
    """Return what is told of a job."""
    return shared_client().describe_training_job(TrainingJobName=name)
