"""Whatever dies or is full: statuses end true, nothing hangs, and nothing runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from stepwatch import Trial
from stepwatch.errors import StoreError
from stepwatch.jobs import Job, attach
from stepwatch.jobs.records import Records
from tests.support.jobs.living import TIMEOUT_S, TRAINS, WAITS, is_running, submit, wait_for

pytestmark = pytest.mark.slow

__all__ = ["submit"]


# It ends when it is told to, by a file.
ENDS = """
import os, time
print("begun", flush=True)
while not os.path.exists(os.environ["END"]):
    time.sleep(0.02)
"""


def processes(job):
    """Return the processes of a job by their roles."""
    return {one.role: one for one in job._records.processes(job.name)}


class TestKilled:
    def test_a_rule(self, submit, tmp_path):
        """It is an error of its own; the training and the other rule go on."""
        end = tmp_path / "end"
        job = submit(ENDS, rules=["loss_spike", "overfit"], environment={"END": str(end)})
        wait_for(lambda: "rule-1" in processes(job) and list(job.logs()), "no rule")
        os.kill(processes(job)["rule-0"].pid, signal.SIGKILL)
        wait_for(lambda: job.status().rules[0].status == "Error", "it was not noted")
        assert not job.status().has_ended

        end.touch()
        record = job.wait(TIMEOUT_S)
        assert ("Completed", "its process ended by signal 9") == (
            record.status,
            record.rules[0].details,
        )
        assert "NotEvaluated" == record.rules[1].status

    def test_the_training(self, submit):
        """The job failed by its signal, and what it started is gone."""
        job = submit(WAITS, rules=["loss_spike"])
        wait_for(lambda: list(job.logs()), "no line")
        child = int(next(job.logs()))
        os.kill(processes(job)["algo-1"].pid, signal.SIGKILL)
        record = job.wait(TIMEOUT_S)

        assert "Failed" == record.status
        assert record.failure.endswith("(signal SIGKILL)")
        assert "NotEvaluated" == record.rules[0].status
        wait_for(lambda: not is_running(child), "a process was left")

    @pytest.mark.slow
    def test_one_of_several_processes_that_train(self, submit):
        """The others end with it."""
        job = submit(WAITS, processes=2)
        wait_for(lambda: len(list(job.logs())) == 2, "no lines")
        os.kill(processes(job)["algo-2"].pid, signal.SIGKILL)
        record = job.wait(TIMEOUT_S)

        assert "Failed" == record.status
        children = [int(line.split()[1]) for line in job.logs()]
        wait_for(lambda: not any(map(is_running, children)), "a process was left")

    @pytest.mark.slow
    def test_who_submitted_it(self, submit, tmp_path):
        """It goes on."""
        script, end = tmp_path / "script.py", tmp_path / "end"
        script.write_text(ENDS)
        home = tmp_path / "elsewhere"
        text = (
            "import os, signal; from stepwatch.jobs import Job;"
            f"Job({str(script)!r}, name='orphan', capture=False, home={str(home)!r},"
            f" environment={{'END': {str(end)!r}}}).submit(); os.kill(os.getpid(), signal.SIGKILL)"
        )
        assert -signal.SIGKILL == subprocess.run([sys.executable, "-c", text]).returncode
        job = attach("orphan", home)
        wait_for(lambda: list(job.logs()), "no line")
        end.touch()

        assert "Completed" == job.wait(TIMEOUT_S).status


class TestFullDisk:
    def test_a_training_that_fills_it_fails_and_says_so(self, submit, small_disk, tmp_path):
        """What was noted stays true; once there is space again, the next job runs."""
        script = tmp_path / "fills.py"
        script.write_text(
            "import os\n"
            "with open(os.path.join(os.environ['SM_MODEL_DIR'], 'large'), 'wb') as file:\n"
            "    while True:\n"
            "        file.write(bytes(4096)); file.flush()\n"
        )
        home = small_disk / "jobs"
        options = {"home": home, "capture": False, "environment": {"STEPWATCH_JOBS_AT_ONCE": "4"}}
        job = Job(script, name="fills", **options).submit()
        large = job.folder / "model" / "large"

        def ended():
            try:  # each reading of the records may need space
                record = job.status()
                runner = processes(job).get("runner")
            except StoreError:
                large.unlink(missing_ok=True)  # somebody makes room
                return None
            if record.status == "InProgress" and runner and not is_running(runner.pid):
                large.unlink(missing_ok=True)
            return record if record.has_ended else None

        assert "Failed" == wait_for(ended, "it did not end").status
        large.unlink(missing_ok=True)
        script.write_text("print('done')")
        assert "Completed" == Job(script, name="next", **options).submit(wait=True).status().status

    def test_records_that_cannot_be_written_are_one_line(self, small_disk):
        """And nothing of a job is begun."""
        (small_disk / "large").write_bytes(bytes((1 << 20) - 8192))
        script = small_disk / "script.py"
        script.write_text("print()")
        job = Job(script, name="nowhere", home=small_disk / "jobs")
        with pytest.raises(StoreError, match=r"the records of jobs, .*jobs.sqlite, cannot be used"):
            job.submit()
        assert not job.folder.exists()

    def test_records_that_are_none(self, tmp_path):
        """They are told to be damaged, and left as they are."""
        (tmp_path / "jobs.sqlite").write_text("no database" * 100)
        with pytest.raises(StoreError, match="cannot be used: file is not a database"):
            Records(tmp_path).names()


@pytest.mark.slow
class TestAgain:
    def test_rules_judge_what_is_trained_again(self, submit, tmp_path):
        """Not what was before: they begin anew with it."""
        mark = tmp_path / "mark"
        text = (
            f"import pathlib; mark = pathlib.Path({str(mark)!r}); again = mark.exists()\n"
            "mark.touch()\n" + TRAINS + "if not again: raise RuntimeError('at the end')\n"
        )
        rules = ["exploding_tensor", "untrained_parameter"]
        record = submit(
            text, ["--lr", "0.1"], capture=True, rules=rules, retries=1
        ).wait(TIMEOUT_S)  # fmt: skip

        assert "Completed" == record.status
        assert ["NoIssuesFound", "NoIssuesFound"] == [one.status for one in record.rules]
        losses, parameters = (int(one.details.split()[0]) for one in record.rules)
        assert 40 == losses >= parameters  # which are not observed at each step

    def test_a_job_is_resumed_from_its_checkpoint(self, submit, tmp_path):
        """Its run keeps what was before the step with which it goes on."""
        text = """
import os, pathlib, sys, torch
folder = pathlib.Path(os.environ["SM_CHECKPOINT_DIR"])
first = int((folder / "step").read_text()) if (folder / "step").exists() else 0
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(first, 30):
    if step == 20 and not first:
        (folder / "step").write_text("12")
        sys.exit("it broke")
    x = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print("began with", first)
"""
        job = submit(text, capture=True, rules=["exploding_tensor"])
        assert "it broke" in job.wait(TIMEOUT_S).failure
        before = Trial(job.run).reader.manifest
        record = job.resume().wait(TIMEOUT_S)

        assert "Completed" == record.status, record.failure
        assert "began with 12" == list(job.logs())[-1]
        trial = Trial(job.run)
        assert (30, "finished") == (len(trial.steps()), trial.state)
        assert (before.run_id, (12,)) == (
            trial.reader.manifest.run_id,
            trial.reader.manifest.resumes,
        )
        assert "NoIssuesFound" == record.rules[0].status
        stretches = [one.status for one in record.transitions]
        assert ["Failed", "Restarting", "Downloading", "Training"] == stretches[4:8]
