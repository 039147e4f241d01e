"""Servers come and go, and there may be several: jobs are none of theirs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from botocore.exceptions import ClientError

from stepwatch_smdebug.sagemaker.serve import _listen
from tests.support.jobs.sagemaker.serving import (
    TIMEOUT_S,
    Server,
    ended,
    request,
    wait_for,
    write_source,
)

WAITS = """
import os, time
print("begun", flush=True)
while not os.path.exists(os.environ["END"]):
    time.sleep(0.02)
"""


CLIENTS = """
import botocore.session
session = botocore.session.Session()
session.set_credentials("key", "secret")
client = lambda service: session.create_client(service, region_name="us-east-1")
print(client("sts").get_caller_identity()["Arn"])
print(client("iam").get_role(RoleName="stepwatch")["Role"]["Arn"])
print(client("sagemaker").list_training_jobs()["TrainingJobSummaries"])
print(client("logs").describe_log_streams(logGroupName="/aws/sagemaker/TrainingJobs")["logStreams"])
print(client("cloudwatch").get_metric_data(
    MetricDataQueries=[], StartTime=0, EndTime=1)["MetricDataResults"])
"""


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a server on one folder of jobs."""
    servers = []

    def make():
        servers.append(Server(tmp_path / "jobs"))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


class TestWhatIsPrinted:
    @pytest.mark.slow
    def test_clients_need_no_other_variable(self, tmp_path):
        """What is printed for a shell lets all services be found: none is asked elsewhere."""
        command = [sys.executable, "-m", "stepwatch", "serve", "--port", "0"]
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        server = subprocess.Popen(
            [*command, "--jobs", str(tmp_path)], stdout=subprocess.PIPE, text=True, env=own
        )
        try:
            listening, clients = server.stdout.readline(), server.stdout.readline()
            _, _, export = clients.partition("clients: ")
            script = f"{export.strip()}\nexec {sys.executable} -c '{CLIENTS}'"
            done = subprocess.run(
                ["sh", "-c", script], capture_output=True, text=True, env=own, timeout=TIMEOUT_S
            )
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

        assert listening.startswith("listening at http://127.0.0.1:")
        role = "arn:aws:iam::000000000000:role/stepwatch"
        assert done.stdout.splitlines()[1:] == [role, "[]", "[]", "[]"], done.stderr


def test_answers_are_sent_without_delay():
    """A client that keeps its connection waits for no timer of TCP."""
    with (
        closing(_listen("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            assert socket.IPPROTO_TCP == accepted.proto  # what asyncio goes by


class TestServers:
    @pytest.mark.slow
    def test_one_is_killed_and_another_goes_on(self, start, tmp_path):
        """The job trains meanwhile; whatever was told stays."""
        write_source(tmp_path, WAITS)
        first = start()
        end = tmp_path / "end"
        asked = request("lives-on", tmp_path, Environment={"END": str(end)})
        arn = first.client().create_training_job(**asked)["TrainingJobArn"]
        log = tmp_path / "jobs" / "lives-on" / "logs" / "algo-1.log"
        wait_for(lambda: log.exists() and log.read_text(), "it did not begin")
        first.process.kill()
        first.process.wait()

        client = start().client()
        told = client.describe_training_job(TrainingJobName="lives-on")
        assert ("InProgress", arn) == (told["TrainingJobStatus"], told["TrainingJobArn"])
        end.touch()
        assert "Completed" == ended(client, "lives-on")["TrainingJobStatus"]

    @pytest.mark.slow
    def test_two_have_one_list(self, start, tmp_path):
        """A name is taken once, at whichever, and one stops what the other began."""
        write_source(tmp_path, WAITS)
        clients = [server.client() for server in (start(), start())]
        asked = request("wanted", tmp_path, Environment={"END": str(tmp_path / "end")})

        def create(client):
            try:
                client.create_training_job(**asked)
            except ClientError as error:
                return error.response["Error"]["Code"]
            return "made"

        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(create, clients * 5))
        assert ["ResourceInUse"] * 9 + ["made"] == sorted(answers)

        clients[1].stop_training_job(TrainingJobName="wanted")
        assert "Stopped" == ended(clients[0], "wanted")["TrainingJobStatus"]

    @pytest.mark.slow
    def test_it_ends_when_it_is_told_to(self, start):
        """By Ctrl-C, at once."""
        server = start()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(TIMEOUT_S) in (0, 130, -signal.SIGINT)

    @pytest.mark.slow
    def test_a_port_that_is_taken(self, tmp_path):
        """One line says what to do."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            command = [sys.executable, "-m", "stepwatch", "serve", "--jobs", str(tmp_path)]
            done = subprocess.run(
                [*command, "--port", str(taken.getsockname()[1])],
                capture_output=True,
                text=True,
                check=False,
            )
        assert 2 == done.returncode
        assert done.stderr.endswith("give another --port, or 0\n")
        assert 1 == len(done.stderr.splitlines())
