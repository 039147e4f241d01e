"""A job whose runner is killed goes on, and ends as it would have ended."""

from __future__ import annotations

import os
import signal

import pytest

from stepwatch import Trial
from stepwatch.jobs.processes import MOST_RUNNERS, runners_of
from tests.support.jobs.living import TIMEOUT_S, TRAINS, WAITS, is_running, submit, wait_for

pytestmark = pytest.mark.slow

__all__ = ["submit"]

#: It ends when it is told to, by a file, and as that says.
ENDS = """
import os, sys, time
print("begun", os.getpid(), flush=True)
while not os.path.exists(os.environ["END"]):
    time.sleep(0.02)
print("loss: 0.25", flush=True)
sys.exit(int(open(os.environ["END"]).read() or 0))
"""


@pytest.fixture
def end(tmp_path):
    """Return the file that ends a training, by its exit code."""
    return tmp_path / "end"


def runners(job):
    """Return the processes that carry out a job, or did; the present one last."""
    return runners_of(job._records.processes(job.name))


def kill_runner(job):
    """Kill the process that carries out a job, and wait until it is gone."""
    pid = runners(job)[-1].pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_running(pid), "it was not killed")


def begun(submit, end, **options):
    """Return a job that trains until it is told to end."""
    job = submit(ENDS, environment={"END": str(end)}, **options)
    wait_for(lambda: list(job.logs()) and (job.folder / "logs" / "attempt.json").exists(), "none")
    return job


def told(end, text):
    """Tell a training to end: what is read is whole."""
    end.with_suffix(".new").write_text(text)
    end.with_suffix(".new").rename(end)


class TestKilledRunner:
    @pytest.mark.parametrize(
        ("code", "expected"),
        [("", ("Completed", "", 0)),
         ("3", ("Failed", "AlgorithmError: loss: 0.25 (exit code 3)", 3))],
    )  # fmt: skip
    def test_its_training_goes_on_and_the_next_runner_adopts_it(self, submit, end, code, expected):
        """It is the same process, and its exit code is that of the job."""
        job = begun(submit, end, metrics={"loss": r"loss: (\S+)"})
        kill_runner(job)
        assert is_running(int(next(job.logs()).split()[1]))
        assert "InProgress" == job.status().status
        told(end, code)
        record = job.wait(TIMEOUT_S)

        assert expected == (record.status, record.failure, record.exit_code)
        assert 2 == len(list(job.logs()))
        assert {"loss": 0.25} == job.metrics()
        assert 1 == [one.status for one in record.transitions].count("Training")

    def test_what_ended_while_nobody_looked_is_noted_as_it_ended(self, submit, end):
        """Also if that is long ago: it did not train too long."""
        job = begun(submit, end, max_run_s=600)
        kill_runner(job)
        told(end, "")
        wait_for(lambda: (job.folder / "logs" / "algo-1.exit").exists(), "it did not end")

        assert "Completed" == job.wait(TIMEOUT_S).status

    def test_it_is_stopped_with_all_that_it_started(self, submit):
        """By whoever adopts it."""
        job = submit(WAITS)
        wait_for(lambda: list(job.logs()), "no line")
        wait_for((job.folder / "logs" / "attempt.json").exists, "no attempt")
        kill_runner(job)
        job.stop("not needed")
        record = job.wait(TIMEOUT_S)

        assert ("Stopped", "not needed") == (record.status, record.failure)
        child = int(next(job.logs()))
        wait_for(lambda: not is_running(child), "a process was left")

    def test_its_rules_go_on(self, submit, tmp_path):
        """They judge every step once."""
        mark = tmp_path / "mark"
        waits = f"    while step == 20 and not os.path.exists({str(mark)!r}): time.sleep(0.02)\n"
        text = "import os, time\n" + TRAINS.replace("    x = torch", f"{waits}    x = torch", 1)
        job = submit(text, ["--lr", "0.1"], capture=True, rules=["exploding_tensor"])
        wait_for((job.folder / "logs" / "attempt.json").exists, "no attempt")
        kill_runner(job)
        mark.touch()
        record = job.wait(TIMEOUT_S)

        assert "Completed" == record.status, record.failure
        assert 40 == len(Trial(job.run).steps())
        assert ("NoIssuesFound", True) == (record.rules[0].status, "40" in record.rules[0].details)

    def test_it_is_trained_again_as_often_as_it_may(self, submit, end):
        """The attempts before the runner died count."""
        told(end, "3")
        job = submit(ENDS + "\n", environment={"END": str(end)}, retries=1)
        wait_for(lambda: list(job.logs()), "no line")
        record = job.wait(TIMEOUT_S)

        assert ("Failed", 2) == (
            record.status,
            [one.status for one in record.transitions].count("Training"),
        )

    def test_one_that_loses_every_runner_fails_and_nothing_of_it_goes_on(self, submit, end):
        """It is no use to try for ever."""
        job = begun(submit, end)
        pid = int(next(job.logs()).split()[1])
        for number in range(1, MOST_RUNNERS + 1):
            wait_for(lambda n=number: len(runners(job)) == n, "no runner")
            kill_runner(job)
            record = job.status()

        assert ("Failed", "InternalError: the process that ran the job died") == (
            record.status,
            record.failure,
        )
        wait_for(lambda: not is_running(pid), "a process was left")

    def test_one_that_waits_for_its_turn_keeps_it(self, submit, end, monkeypatch):
        """It trains once it is its turn."""
        monkeypatch.setenv("STEPWATCH_JOBS_AT_ONCE", "1")
        first = begun(submit, end)
        second = submit("print('done')")
        wait_for(lambda: runners(second), "no runner")
        kill_runner(second)
        kill_runner(first)
        told(end, "")

        assert ["Completed"] * 2 == [job.wait(TIMEOUT_S).status for job in (first, second)]
