"""Jobs whose processes train on nodes of a Ray cluster."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from stepwatch.errors import ConfigError
from stepwatch.jobs import Job
from stepwatch.jobs.records import Records
from stepwatch.jobs.spec import RuleSpec
from tests.support.frameworks.ray.ray_cluster import cluster

__all__ = ["cluster"]

pytestmark = [pytest.mark.framework, pytest.mark.timeout(300)]

TELL = """\
import os, sys
from pathlib import Path
print("parent", Path(f"/proc/{os.getppid()}/comm").read_text().strip())
print("folder", os.getcwd(), "arguments", sys.argv[1:], "mine", os.environ["MINE"], flush=True)
print("on the other output", file=sys.stderr, flush=True)
Path(os.environ["SM_MODEL_DIR"], "model.txt").write_text("made")
"""
WAIT = """\
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(0)))
Path(os.environ["SM_MODEL_DIR"], "pid").write_text(str(os.getpid()))
print("waiting", flush=True)
while True:
    time.sleep(0.1)
"""
SAVE = """\
import os, time
from stepwatch.testing import make_run
make_run(os.path.join(os.environ["SM_OUTPUT_DIR"], "tensors"), steps=9)
while True:
    time.sleep(0.1)
"""
EARLY = """\
from pathlib import Path
from stepwatch import Finding, Rule

class Early(Rule):
    name = "early"

    def check(self, step):
        if step.number == 3:
            where = Path("/proc/self/comm").read_text().strip()
            yield Finding(self.name, step.number, "", f"on {where}")
"""
MEET = """\
import os, socket
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    with socket.create_server(place) as server:
        print("met by", server.accept()[0].recv(16).decode())
else:
    while True:
        try:
            socket.create_connection(place).sendall(b"the other")
            break
        except ConnectionRefusedError:
            pass
"""


@pytest.fixture
def job(tmp_path, cluster):
    """Return a function that makes a job which takes a processor of the cluster."""

    def make(text, *arguments, **options):
        script = tmp_path / "script.py"
        script.write_text(text)
        told = {"capture": False, "environment": {"MINE": "yes"}, "ray": "CPU=1", **options}
        return Job(script, arguments, home=tmp_path / "jobs", **told)

    return make


def log_of(job):
    return [line for line in job.logs() if line]


def pid_of(job):
    """Wait for the process that a training notes, and return it."""
    note = job.folder / "model" / "pid"
    while not (note.exists() and note.read_text()):
        assert not job.status().has_ended, log_of(job)
        time.sleep(0.1)
    return int(note.read_text())


def kill(job, *roles):
    """Kill processes of this machine that belong to a job, each with all that it started."""
    for one in Records(job.folder.parent).processes(job.name):
        if one.role in roles:
            os.killpg(one.pid, signal.SIGKILL)


class TestTraining:
    def test_it_trains_on_a_node_as_it_would_here(self, job):
        """A process of Ray starts it; folder, arguments, variables and both outputs are kept."""
        made = job(TELL, "a", "b c").submit(wait=True)
        log = log_of(made)

        assert ("Completed", 0) == (made.status().status, made.status().exit_code), log
        assert log[0].startswith("parent ray::"), log
        assert f"folder {os.getcwd()} arguments ['a', 'b c'] mine yes" in log
        assert "on the other output" in log
        assert "made" == (made.folder / "model" / "model.txt").read_text()

    def test_one_that_fails_says_why(self, job):
        """Its last line and its exit status are those of a job of this machine."""
        made = job("import sys\nprint('before')\nsys.exit('no data')").submit(wait=True)
        record = made.status()

        assert ("Failed", 1) == (record.status, record.exit_code)
        assert "no data (exit code 1)" in record.failure

    def test_one_that_is_killed_says_by_what(self, job):
        made = job("import os\nos.kill(os.getpid(), 9)").submit(wait=True)

        assert "signal SIGKILL" in made.status().failure

    def test_it_is_told_to_stop(self, job):
        """By the same signal, with the time to say goodbye."""
        made = job(WAIT).submit()
        process = pid_of(made)
        made.stop()
        record = made.wait(120)

        assert "Stopped" == record.status
        assert "asked to end" in log_of(made)
        assert not Path(f"/proc/{process}").exists()

    def test_processes_of_one_job_meet(self, job):
        """On the node of the first, at a port that is free there."""
        made = job(MEET, processes=2).submit(wait=True)

        assert "Completed" == made.status().status
        assert "algo-1: met by the other" in log_of(made)

    def test_it_goes_on_where_its_runner_is_killed(self, job):
        """What keeps it on its node is another process; the next runner adopts that."""
        made = job(WAIT).submit()
        process = pid_of(made)
        kill(made, "runner")
        assert "InProgress" == made.status().status
        assert Path(f"/proc/{process}").exists()
        made.stop("not needed")
        record = made.wait(120)

        assert ("Stopped", "not needed") == (record.status, record.failure)
        assert "asked to end" in log_of(made)
        assert 1 == [one.status for one in record.transitions].count("Training")

    @pytest.mark.parametrize("killed", [("algo-1",), ("runner", "algo-1")])
    def test_nothing_is_left_of_it_where_what_keeps_it_is_killed(self, job, killed):
        """Ray ends what that began, and the job has failed, by the signal."""
        made = job(WAIT).submit()
        process = pid_of(made)
        kill(made, *killed)
        record = made.wait(120)
        give_up_at = time.monotonic() + 60
        while Path(f"/proc/{process}").exists():
            assert time.monotonic() < give_up_at
            time.sleep(0.2)

        assert "Failed" == record.status
        assert "signal SIGKILL" in record.failure

    def test_rules_judge_on_nodes_too(self, job, tmp_path):
        """Their statuses and what is done about findings reach the records, which stay here."""
        (tmp_path / "early.py").write_text(EARLY)
        rules = [RuleSpec(f"{tmp_path / 'early.py'}:Early", "early", ("stop",)), "exploding_tensor"]
        made = job(SAVE, rules=rules).submit()
        record = made.wait(200)
        early, exploding = record.rules

        assert ("Stopped", "IssuesFound") == (record.status, early.status), record
        assert "on ray::" in early.details
        assert "NoIssuesFound" == exploding.status

    @pytest.mark.parametrize("wrong", ["CPU", "CPU=many", "=", "CPU=1;GPU=1"])
    def test_resources_that_cannot_be_meant_are_refused(self, job, wrong):
        """Before anything is begun, with an example."""
        with pytest.raises(ConfigError, match="CPU=2,GPU=1"):
            job(TELL, ray=wrong)
