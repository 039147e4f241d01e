"""What jobs write, as CloudWatch shows it: whole lines, in order, each once, at times that stay."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from stepwatch.jobs.logs import LogClock, LogTimes
from stepwatch.jobs.paths import JobPaths
from stepwatch_smdebug.sagemaker import logs
from stepwatch_smdebug.sagemaker.account import Account
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request, rule, shared, shared_client

GROUP = "/aws/sagemaker/TrainingJobs"


@pytest.fixture
def job(request_name):
    """Note a job that nobody carries out, with a log of ten lines, two a second."""
    records = shared().records
    records.add(
        job_spec(request(request_name, DebugRuleConfigurations=[rule("Overfit")]), Account(records))
    )
    paths = JobPaths(records.home, request_name)
    paths.make()
    lines = [f"line {number}\n" for number in range(10)]
    paths.log(0).write_text("".join(lines))
    times = [f"{14 * (n + 1)} {1_000_000 + 1000 * n}\n" for n in range(5)]
    paths.log(0).with_suffix(".times").write_text("".join(times))
    return paths


@pytest.fixture
def request_name(request):
    return f"logs-{abs(hash(request.node.name)) % 10**8}"


def stream(job):
    """Return the name of the stream of a job's first process."""
    (found,) = shared_client("logs").describe_log_streams(
        logGroupName=GROUP, logStreamNamePrefix=f"{job.name}/"
    )["logStreams"]
    return found["logStreamName"]


def events(job, **more):
    """Return what the first process of a job wrote."""
    return shared_client("logs").get_log_events(
        logGroupName=GROUP, logStreamName=stream(job), **more
    )


def messages(told):
    return [event["message"] for event in told["events"]]


class TestReading:
    def test_all_of_it_page_by_page(self, job):
        """At the end the token stays the same."""
        found, token = [], {}
        while True:
            told = events(job, startFromHead=True, limit=3, **token)
            found += messages(told)
            if token.get("nextToken") == told["nextForwardToken"]:
                break
            token = {"nextToken": told["nextForwardToken"]}

        assert [f"line {number}" for number in range(10)] == found
        assert f"{job.name}/algo-1-" in stream(job)

    def test_from_a_time_on(self, job):
        """Lines have the time at which they were first seen, and keep it."""
        told = events(job, startFromHead=True, startTime=1_002_000)
        assert [f"line {number}" for number in range(4, 10)] == messages(told)
        assert [1_002_000, 1_002_000, 1_003_000] == [
            event["timestamp"] for event in told["events"][:3]
        ]
        until = events(job, startFromHead=True, endTime=1_001_000)
        assert ["line 0", "line 1"] == messages(until)

    def test_the_last_lines_and_back(self, job):
        """By default, as CloudWatch does."""
        last = events(job, limit=2)
        before = events(job, limit=2, nextToken=last["nextBackwardToken"])
        assert (["line 8", "line 9"], ["line 6", "line 7"]) == (messages(last), messages(before))

    def test_what_is_written_meanwhile_comes_next(self, job):
        """A line is shown once it is whole and was seen."""
        token = events(job, startFromHead=True)["nextForwardToken"]
        with job.log(0).open("a") as file:
            file.write("line 10\nline")
        assert [] == messages(events(job, nextToken=token))
        with job.log(0).with_suffix(".times").open("a") as file:
            file.write("82 1010000\n")
        told = events(job, nextToken=token)
        assert ["line 10"] == messages(told)

        shared().records.end(job.name, "Failed", "Failed")
        assert ["line"] == messages(events(job, nextToken=told["nextForwardToken"]))

    def test_what_is_no_text_is_shown_as_far_as_it_is(self, job):
        """Long lines come in parts, and every part ends."""
        shared().records.end(job.name, "Failed", "Failed")
        job.log(0).write_bytes(b"\xff\n" + b"x" * (3 << 20))
        job.log(0).with_suffix(".times").unlink()
        found, token = [], {}
        for _ in range(6):
            told = events(job, startFromHead=True, **token)
            found += messages(told)
            token = {"nextToken": told["nextForwardToken"]}

        assert "\ufffd" == found[0]
        assert 3 << 20 == sum(map(len, found[1:]))

    def test_what_is_not_there(self, job):
        """By the code that clients wait with."""
        client = shared_client("logs")
        for asked in ({"logGroupName": "/other"}, {"logGroupName": GROUP}):
            with pytest.raises(ClientError, match="ResourceNotFoundException"):
                client.get_log_events(logStreamName="nosuch/algo-1", **asked)
        none = client.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix="nosuch/")
        assert [] == none["logStreams"]

    def test_a_token_of_nobody(self, job):
        """It is refused."""
        with pytest.raises(ClientError, match="InvalidParameterException"):
            events(job, nextToken="f/../../etc/passwd")

    def test_rules_have_streams_of_their_own(self, job):
        """Under the names of their processing jobs."""
        job.rule_log(0).write_text("step 3: it overfits\n")
        LogClock(job.logs).note()
        summaries = shared_client().list_processing_jobs(NameContains=job.name)
        (name,) = [one["ProcessingJobName"] for one in summaries["ProcessingJobSummaries"]]
        group = {"logGroupName": "/aws/sagemaker/ProcessingJobs"}
        client = shared_client("logs")
        (found,) = client.describe_log_streams(**group, logStreamNamePrefix=name)["logStreams"]
        told = client.get_log_events(**group, logStreamName=found["logStreamName"])

        assert ["step 3: it overfits"] == messages(told)


class TestTimes:
    def test_the_clock_notes_what_grew(self, tmp_path):
        """Once, and again only if it grows."""
        log = tmp_path / "algo-1.log"
        log.write_text("a\n")
        clock = LogClock(tmp_path)
        clock.note()
        clock.note()
        first = LogTimes.read(log, None)
        log.write_text("a\nb\n")
        clock.tick()  # too soon
        assert first == LogTimes.read(log, None)
        clock.note()

        assert ((2,), (2, 4)) == (first.sizes, LogTimes.read(log, None).sizes)

    def test_a_clock_that_is_set_back_and_a_line_that_was_torn(self, tmp_path):
        """Times never go back; what was not written whole is not read."""
        log = tmp_path / "algo-1.log"
        log.write_text("x" * 40)
        log.with_suffix(".times").write_text("10 5000\n20 4000\n15 6000\n30 70")
        times = LogTimes.read(log, None)
        ended = LogTimes.read(log, 4500)

        assert ((10, 20), (5000, 5000)) == (times.sizes, times.times_ms)
        assert (40, 6000) == (ended.size, ended.times_ms[-1])
        assert (0, 20) == (times.start(5000), times.start(5001))

    def test_pages_are_as_long_as_those_of_cloudwatch(self):
        """So that clients hold no more than there."""
        assert (10_000, 1 << 20) == (logs._MOST_EVENTS, logs._MOST_BYTES)
