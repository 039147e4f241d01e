"""Jobs of real processes: how they end, whoever dies, and what their training is told."""

from __future__ import annotations

import json
import os

import pytest

from stepwatch import Trial
from stepwatch.errors import JobExists
from stepwatch.jobs import RuleSpec, attach, list_jobs
from tests.support.jobs.living import TELLS, TIMEOUT_S, TRAINS, WAITS, is_running, submit, wait_for

__all__ = ["submit"]


class TestEnds:
    def test_a_training_is_told_what_a_container_tells(self, submit, tmp_path):
        """Channels, hyperparameters, hosts and folders; and what it makes goes to the output."""
        (tmp_path / "data").mkdir()
        job = submit(
            TELLS,
            ["--fast"],
            processes=2,
            hyperparameters={"batch-size": "8"},
            inputs={"training": str(tmp_path / "data")},
            output=str(tmp_path / "out"),
        )
        record = job.wait(TIMEOUT_S)

        assert ("Completed", 0, "") == (record.status, record.exit_code, record.failure)
        lines = dict(line.split(": ", 1) for line in job.logs())
        second = json.loads(lines["algo-2"])
        assert ["--batch-size", "8", "--fast"] == second["arguments"]
        told = second["told"]
        assert ("algo-2", '["algo-1", "algo-2"]') == (told["SM_CURRENT_HOST"], told["SM_HOSTS"])
        assert {"8"} == {told["SM_HP_BATCH-SIZE"], told["SM_HP_BATCH_SIZE"]}
        assert (tmp_path / "data").samefile(told["SM_CHANNEL_TRAINING"])
        assert (tmp_path / "out" / "job-0" / "output" / "model.tar.gz").is_file()

    @pytest.mark.slow
    def test_what_is_noted_of_it_is_for_this_user_alone(self, submit, tmp_path):
        """Logs and ends of its processes, its records, its run and what its rules found."""
        before = os.umask(0o022)
        try:
            job = submit(
                TRAINS,
                ["--lr", "0.1", "--steps", "5"],
                capture=True,
                rules=[RuleSpec("loss_spike", "loss_spike")],
            )
            assert "Completed" == job.wait(TIMEOUT_S).status
        finally:
            os.umask(before)
        folder = tmp_path / "jobs"
        files = [path for path in folder.rglob("*") if path.is_file()]
        names = {path.name for path in files}

        assert {"algo-1.log", "algo-1.exit", "jobs.sqlite", "run.json", "findings.jsonl"} <= names
        assert [] == [str(path) for path in files if path.stat().st_mode & 0o777 != 0o600]
        assert 0o700 == folder.stat().st_mode & 0o777

    @pytest.mark.slow
    def test_a_failure_says_why(self, submit):
        """The last line by default, or what the training writes as its reason."""
        plain = submit("import sys; print('no data'); sys.exit(3)").wait(TIMEOUT_S)
        told = submit(
            "import os; open(os.environ['SM_OUTPUT_FAILURE'], 'w').write('bad labels'); 1/0"
        ).wait(TIMEOUT_S)

        assert ("Failed", 3, "AlgorithmError: no data (exit code 3)") == (
            plain.status,
            plain.exit_code,
            plain.failure,
        )
        assert "AlgorithmError: bad labels (exit code 1)" == told.failure

    @pytest.mark.slow
    def test_it_is_started_again_as_often_as_it_may(self, submit, tmp_path):
        """Until it succeeds."""
        mark = tmp_path / "mark"
        text = f"import pathlib, sys; p = pathlib.Path({str(mark)!r}); n = p.exists()\n"
        job = submit(text + "p.touch(); sys.exit(0 if n else 1)", retries=2)

        assert "Completed" == job.wait(TIMEOUT_S).status
        messages = [one.message for one in job.status().transitions if one.status == "Training"]
        assert ["training", "training, attempt 2"] == messages

    @pytest.mark.slow
    def test_it_is_stopped_with_all_that_it_started(self, submit):
        """By its user, or because it takes too long."""
        asked, slow = submit(WAITS), submit(WAITS, max_run_s=0.5)
        pids = []
        for job in (asked, slow):
            wait_for(lambda job=job: list(job.logs()) or job.status().has_ended, "no line")
            pids += [int(line) for line in job.logs()]
        attach("job-0", asked._records.home).stop("not needed")
        records = [job.wait(TIMEOUT_S) for job in (asked, slow)]

        assert ["Stopped", "MaxRuntimeExceeded"] == [record.secondary for record in records]
        assert ["not needed", "it trained longer than 0.5 s"] == [one.failure for one in records]
        wait_for(lambda: not any(map(is_running, pids)), "a process was left")

    def test_a_name_is_taken_once(self, submit):
        """The job that has it goes on."""
        job = submit(WAITS)
        with pytest.raises(JobExists):
            submit("", name=job.name)
        wait_for(lambda: list(job.logs()) or job.status().has_ended, "no line")
        assert not job.status().has_ended

    @pytest.mark.slow
    def test_fifty_at_once_all_end(self, submit, monkeypatch):
        """They wait for their turn."""
        monkeypatch.setenv("STEPWATCH_JOBS_AT_ONCE", "2")
        made = [submit("print('done')") for _ in range(50)]

        assert {"Completed"} == {job.wait(300).status for job in made}
        assert 50 == len(list_jobs(made[0]._records.home))


@pytest.mark.slow
class TestRules:
    def test_rules_judge_beside_the_training(self, submit):
        """Each by itself: one finds something, one nothing, one has nothing to judge."""
        rules = ["exploding_tensor", "all_zero:collection_names=outputs", "router_collapse"]
        job = submit(TRAINS, ["--lr", "1e6"], capture=True, rules=rules)
        record = job.wait(TIMEOUT_S)

        statuses = {rule.name: rule.status for rule in record.rules}
        assert {
            "exploding_tensor": "IssuesFound",
            "all_zero": "NoIssuesFound",
            "router_collapse": "NotEvaluated",
        } == statuses
        assert 40 == len(Trial(job.run).steps())

    def test_what_is_trained_again_takes_the_place_of_what_was(self, submit, tmp_path):
        """And the copy holds the same."""
        mark = tmp_path / "mark"
        text = f"import pathlib; p = pathlib.Path({str(mark)!r}); n = p.exists(); p.touch()\n"
        text += TRAINS + "if not n: raise RuntimeError('at the end')\n"
        options = {"capture": True, "retries": 1, "output": str(tmp_path / "out")}
        job = submit(text, ["--lr", "0.1"], **options)

        assert "Completed" == job.wait(TIMEOUT_S).status
        for run in (job.run, tmp_path / "out" / "job-0" / "debug-output"):
            trial = Trial(run)
            assert (40, "finished") == (len(trial.steps()), trial.state)

    def test_a_rule_that_dies_is_its_own_error(self, submit, tmp_path):
        """The training and the other rules go on."""
        rule = tmp_path / "mine.py"
        rule.write_text(
            "import os\n"
            "from stepwatch.rules import Rule\n"
            "class Dies(Rule):\n"
            "    name = 'dies'\n"
            "    def check(self, step):\n"
            "        os._exit(7)\n"
        )
        rules = [f"{rule}:Dies", "all_zero:collection_names=outputs"]
        record = submit(TRAINS, ["--lr", "0.1"], capture=True, rules=rules).wait(TIMEOUT_S)

        assert "Completed" == record.status
        assert ["Error", "NoIssuesFound"] == [one.status for one in record.rules]

    def test_a_finding_may_stop_the_job(self, submit):
        """The very job that the rule judges."""
        rules = [RuleSpec("exploding_tensor", "explodes", ("stop",))]
        arguments = ["--lr", "1e6", "--steps", "100000000"]
        record = submit(TRAINS, arguments, capture=True, rules=rules).wait(TIMEOUT_S)

        assert ("Stopped", "IssuesFound") == (record.status, record.rules[0].status)
        assert "exploding_tensor" in record.failure


SAVES = """
import os, sys, torch
weights = {"fc.weight": torch.ones(2, 2)}
path = os.path.join(os.environ[sys.argv[1]], "model.pt")
torch.save(weights, path)
if sys.argv[2] == "bad":
    weights["fc.weight"][0, 0] = torch.nan
torch.save(weights, path.replace("model.pt", "last.pt"))
"""


class TestWhatWasSaved:
    """A training that completes and leaves nan has not succeeded."""

    @pytest.mark.slow
    @pytest.mark.parametrize("folder", ["SM_MODEL_DIR", "SM_CHECKPOINT_DIR"])
    def test_a_model_that_is_not_finite_fails_its_job(self, submit, folder):
        record = submit(SAVES, [folder, "bad"], retries=1).wait(TIMEOUT_S)

        assert ("Failed", "Failed", 0) == (record.status, record.secondary, record.exit_code)
        assert "last.pt: 1 nan values in 1 tensor: fc.weight (exit code 0)" in record.failure
        assert record.failure.startswith("AlgorithmError: what it saved is not finite")
        assert 1 == sum(one.status == "Training" for one in record.transitions)

    @pytest.mark.parametrize(("made", "audits"), [("good", True), ("bad", False)])
    @pytest.mark.slow
    def test_others_complete(self, submit, made, audits):
        """Also one that is not to be looked at."""
        record = submit(SAVES, ["SM_MODEL_DIR", made], audits=audits).wait(TIMEOUT_S)

        assert ("Completed", "") == (record.status, record.failure)
