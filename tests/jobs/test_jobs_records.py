"""The records of jobs: what is noted once stays, whoever asks and whoever writes beside."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading

import pytest

from stepwatch.errors import ConfigError, JobExists, JobNotFound
from stepwatch.jobs.records import Records
from stepwatch.jobs.spec import JobSpec, RuleSpec

RULES = (RuleSpec("loss_spike", "loss_spike", ("stop",)), RuleSpec("all_zero", "zeros"))


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "jobs")


def job(name="first", **options):
    return JobSpec(name, "train.py", **options)


class TestRecords:
    def test_what_was_asked_for_comes_back(self, records):
        """Every field, through the file."""
        spec = job(
            arguments=("--fast",),
            hyperparameters={"lr": "0.1"},
            inputs={"training": "data"},
            environment={"A": "b"},
            processes=2,
            rules=RULES,
            hook={"CollectionConfigurations": []},
            tensorboard={},
            profiler={"DisableProfiler": True},
            source="s3://bucket/code.tar.gz",
            checkpoints="s3://bucket/checkpoints",
            request={"TrainingJobName": "first"},
            output="s3://bucket/jobs",
            max_run_s=60.0,
            retries=1,
        )
        records.add(spec)

        other = job("other", save=("gradients:raw",), judges="runs/a")
        records.add(other)

        assert spec == Records(records.home).get("first").spec
        assert other == Records(records.home).get("other").spec

    def test_who_has_read_sees_what_others_change_later(self, records):
        """A thread keeps its connection, and others come and go in this process and in others."""
        adds = (
            "import sys; from pathlib import Path; from stepwatch.jobs.records import Records;"
            "from stepwatch.jobs.spec import JobSpec;"
            "Records(Path(sys.argv[1])).add(JobSpec(sys.argv[2], 'train.py'))"
        )
        found = []
        for name in ("here-1", "there-1", "here-2", "there-2"):
            if name.startswith("here"):
                records.add(job(name))
            else:
                subprocess.run([sys.executable, "-c", adds, records.home, name], check=True)
            found.append(sorted(records.names()))

        assert [
            ["here-1"],
            ["here-1", "there-1"],
            ["here-1", "here-2", "there-1"],
            ["here-1", "here-2", "there-1", "there-2"],
        ] == found

    def test_a_file_that_took_the_place_of_another_is_read(self, records):
        """As where somebody deletes the folder of jobs and begins anew."""
        records.add(job("gone"))
        assert ["gone"] == records.names()
        shutil.rmtree(records.home)
        assert [] == records.names()
        Records(records.home).add(job("new"))

        assert ["new"] == records.names()

    def test_a_job_goes_through_its_life_in_order(self, records):
        """Each stretch ends when the next begins; the last ends with the job."""
        records.add(job())
        for secondary in ("Downloading", "Training", "Uploading"):
            records.move("first", "InProgress", secondary)
        assert records.end("first", "Completed", "Completed", exit_code=0)

        record = records.get("first")
        stretches = [(one.status, one.ended_ns is None) for one in record.transitions]
        names = ("Starting", "Downloading", "Training", "Uploading", "Completed")
        assert [(name, False) for name in names] == stretches
        assert record.created_ns <= record.started_ns <= record.ended_ns
        assert ("Completed", 0) == (record.status, record.exit_code)

    def test_the_first_end_stays(self, records):
        """Who finds a runner dead and the runner itself may both note one."""
        records.add(job())
        assert records.end("first", "Failed", "Failed", "x" * 2000)
        assert not records.end("first", "Completed", "Completed")
        records.move("first", "InProgress", "Training")

        record = records.get("first")
        assert ("Failed", 1024) == (record.status, len(record.failure))

    def test_rules_stand_side_by_side(self, records):
        """One that failed says nothing of the other."""
        records.add(job(rules=RULES))
        records.judge("first", 1, "Error", "no such thing")

        rules = [(one.name, one.status) for one in records.get("first").rules]
        assert [("loss_spike", "InProgress"), ("zeros", "Error")] == rules

    def test_a_stop_has_the_reason_that_came_first(self, records):
        """What has ended cannot be stopped."""
        records.add(job())
        records.record_stop_request("first", "a rule")
        records.record_stop_request("first", "a user")
        assert ("Stopping", "a rule") == (
            records.get("first").status,
            records.get("first").stop_asked,
        )

        records.end("first", "Stopped", "Stopped")
        with pytest.raises(ConfigError, match="the job 'first' has ended: Stopped"):
            records.record_stop_request("first", "late")

    def test_names_are_taken_once_and_found_by_a_near_one(self, records):
        """Whatever became of the job."""
        records.add(job())
        with pytest.raises(JobExists, match="there is a job named 'first' already"):
            records.add(job())
        with pytest.raises(JobNotFound, match=r"no job is named 'fisrt'.*did you mean first"):
            records.get("fisrt")

    def test_only_so_many_are_under_way_and_the_oldest_goes_first(self, records):
        """Asked in whatever order, from however many processes."""
        names = [f"job-{number}" for number in range(6)]
        for name in names:
            records.add(job(name))

        assert [True, True, False] == [records.take_slot(name, 2) for name in names[:3]]
        assert not records.take_slot("job-5", 3)
        records.end("job-0", "Completed", "Completed")
        assert [False, True] == [records.take_slot(name, 2) for name in ("job-3", "job-2")]

    def test_many_write_at_a_time(self, records):
        """Each change is whole; none is lost, and none is refused."""
        errors = []

        def live(number):
            try:
                own = Records(records.home)
                own.add(job(f"job-{number}", rules=RULES))
                for index in range(2):
                    own.judge(f"job-{number}", index, "NoIssuesFound")
                own.end(f"job-{number}", "Completed", "Completed")
            except Exception as error:  # noqa: BLE001  shown below
                errors.append(error)

        threads = [threading.Thread(target=live, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [] == errors
        found = [records.get(name) for name in records.names()]
        assert {("Completed", 2)} == {
            (one.status, sum(rule.status == "NoIssuesFound" for rule in one.rules)) for one in found
        }
        assert 16 == len(found)


class TestSpec:
    @pytest.mark.parametrize(
        ("name", "options", "why"),
        [
            ("a_b", {}, "'a_b' is no name of a job"),
            ("-a", {}, "is no name of a job"),
            ("a" * 64, {}, "at most 63"),
            ("a", {"processes": 0}, "at least 1 process"),
            ("a", {"max_run_s": 0}, "must be positive"),
            ("a", {"hook": {}, "save": ("weights:raw",)}, "give one of them"),
            ("a", {"rules": (RULES[0], RULES[0])}, "two rules of a job are called 'loss_spike'"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, name, options, why):
        """Before anything begins."""
        with pytest.raises(ConfigError, match=why):
            job(name, **options)
