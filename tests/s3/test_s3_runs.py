"""Runs that are written straight to S3, and looked at from there."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from stepwatch.trial import Trial
from tests.support.s3.fault_proxy import Fault, FaultProxy
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = [pytest.mark.s3, pytest.mark.timeout(180)]

SCRIPT = """
import sys
import torch

steps, fault_at = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(steps):
    batch = torch.randn(32, 8)
    loss = torch.nn.functional.mse_loss(model(batch), batch.sum(1, keepdim=True))
    if step == fault_at:
        loss = loss * float("nan")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, flush=True)
    if "--ask" in sys.argv:
        sys.stdin.readline()
print("trained")
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where rings lie
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.fixture
def place(bucket):
    return f"s3://{bucket.bucket}/runs/one"


def stepwatch(*words, **options):
    """Run a verb to its end; return what became of it."""
    return subprocess.run(
        [sys.executable, "-m", "stepwatch", *words], capture_output=True, text=True, **options
    )


def train(place, script, *arguments, options=(), **more):
    """Begin a training and return its process."""
    return subprocess.Popen(
        [sys.executable, "-m", "stepwatch", "run", "--run", place, *options, script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def train_until(process, step):
    """Let a training that asks take all steps up to one."""
    for line in iter(process.stdout.readline, ""):
        if line.strip() == str(step):
            return
        process.stdin.write("\n")
        process.stdin.flush()
    raise AssertionError(process.stderr.read())


class TestRunsOnS3:
    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_a_fault_is_found_there_by_who_reads(self, place, script, run_format):
        """Written by one process, judged by another, shown by a third; in both formats."""
        training = train(place, script, "60", "40", options=["--format", run_format])
        output, said = training.communicate(timeout=120)
        assert (0, True) == (training.returncode, output.endswith("trained\n"))
        assert "First value that is not finite, step 40 (non_finite_origin)\n" in said

        judged = json.loads(stepwatch("check", place, "--json").stdout)
        found = [(one["rule"], one["mode_step"]) for one in judged["findings"]]
        assert ("non_finite_origin", 40) in found
        shown = stepwatch("show", place)
        assert (0, True) == (shown.returncode, "60 TRAIN" in shown.stdout)
        assert 60 == len(Trial(place).steps())

    def test_values_are_read_from_there(self, place, script):
        """Whole tensors, by range of the object that holds those of many steps."""
        train(place, script, "20", "-1", options=["--save", "weights:raw:every=5"]).communicate()
        trial = Trial(place)

        shapes = {trial.tensor("0.weight").value(step).shape for step in (0, 5, 10, 15)}

        assert {(16, 8)} == shapes

    def test_a_watcher_follows_while_it_is_written(self, place, script):
        """What is found while the training runs is told while it runs."""
        training = train(place, script, "1000", "5", "--ask")
        train_until(training, 20)
        watcher = subprocess.Popen(
            [sys.executable, "-m", "stepwatch", "watch", place, "--rules", "non_finite_origin"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            told = next(line for line in watcher.stdout if "non_finite_origin" in line)
            assert "step 5" in told
            assert training.poll() is None
        finally:
            training.kill()
            watcher.kill()
            training.communicate()
            watcher.communicate()

    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_a_killed_writer_leaves_what_was_stored(self, place, script, run_format):
        """After SIGKILL in the middle: whole steps, from the first on; and that it died."""
        training = train(place, script, "100000", "-1", options=["--format", run_format])
        while not seen(place):
            training.stdout.readline()
        training.kill()
        training.communicate()
        trial = Trial(place)
        stored = trial.steps()

        assert "died" == trial.state
        assert list(range(len(stored))) == stored
        assert len(stored) == len(trial.tensor("loss/mse_loss").statistics()["mean"])

    def test_its_black_box_is_found_on_the_machine(self, place, script):
        """A file that is mapped cannot lie in a bucket; the run tells where it lies."""
        training = train(place, script, "100000", "-1", "--ask")
        train_until(training, 50)
        training.kill()
        training.communicate()
        box = stepwatch("blackbox", place)

        assert 0 == box.returncode, box.stderr
        last = re.search(r"^last step +(\d+)", box.stdout, re.MULTILINE)
        assert last is not None, box.stdout
        assert 0 < int(last[1]) <= 50

    def test_workers_write_one_run(self, place, script):
        """Each from its process, as they would from their machines."""
        variables = [
            {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
            for rank in range(2)
        ]
        workers = [train(place, script, "30", "-1", env=each) for each in variables]
        for worker in workers:
            worker.communicate(timeout=120)
        trial = Trial(place)

        assert ("finished", 30) == (trial.state, len(trial.steps()))
        assert {"worker_0", "worker_1"} == set(trial.workers)

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("s3://nosuch-bucket/run", "there is no bucket nosuch-bucket at http://127.0.0.1:"),
            ("s3:///run", "names no bucket"),
            ("s3://{bucket}/taken", "already holds a run"),
        ],
    )
    def test_what_cannot_be_written_to_is_told_before_training(self, bucket, script, url, reason):
        """In one line, and the script does not begin."""
        bucket.put("taken/run.json", b"{}")
        done = stepwatch("run", "--run", url.format(bucket=bucket.bucket), script, "3", "-1")

        assert "" == done.stdout
        assert 0 != done.returncode
        assert 1 == len(done.stderr.splitlines())
        assert reason in done.stderr

    def test_what_is_not_there_is_told_to_readers(self, bucket):
        """As of a folder."""
        for verb in ("show", "check", "watch"):
            done = stepwatch(verb, f"s3://{bucket.bucket}/nothing")
            assert f"no run at s3://{bucket.bucket}/nothing" in done.stderr
            assert 1 == len(done.stderr.splitlines())


class TestBadDays:
    def test_steps_survive_a_bad_way(self, place, script, s3, monkeypatch):
        """Every third request goes wrong, and all steps are stored."""
        numbers = iter(range(10**6))
        with FaultProxy(
            s3["AWS_ENDPOINT_URL"],
            lambda *_: Fault("unanswered") if next(numbers) % 3 == 2 else None,
        ) as proxy:
            variables = {**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
            training = train(place, script, "300", "-1", env=variables)
            _, said = training.communicate(timeout=120)

        assert (0, 300) == (training.returncode, len(Trial(place).steps())), said
        assert "finished" == Trial(place).state

    def test_a_server_that_goes_away_does_not_stop_the_training(self, place, script, s3):
        """It ends as it would have, waits for a while, and says what is lost."""
        with FaultProxy(s3["AWS_ENDPOINT_URL"], lambda *_: None) as proxy:
            variables = {**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
            training = train(place, script, "200", "-1", "--ask", env=variables)
            train_until(training, 100)
            proxy.close()
            training.stdin.write("\n" * 200)
            training.stdin.flush()
            next(line for line in training.stderr if "waiting for s3://" in line)
            training.send_signal(signal.SIGINT)
            output, said = training.communicate(timeout=30)

        assert (0, True) == (training.returncode, output.endswith("trained\n"))
        assert "lost: " in said


def seen(place):
    """Return whether a reader sees a step."""
    try:
        return bool(Trial(place).steps())
    except FileNotFoundError:
        return False
