"""``stepwatch dash``: what it prints, refuses, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from stepwatch.testing import hostile_runs, make_run
from stepwatch.testing.hostile import SECRET
from tests.support.cli.commands import STEPWATCH, environment
from tests.support.endless_requests import bytes_until_refused


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts the verb and returns its process and the line it printed."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [STEPWATCH, "dash", *arguments], cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process, process.stdout.readline()

    yield start
    for process in started:
        process.kill()
        process.communicate()


class TestDash:
    @pytest.mark.slow
    def test_it_says_where_and_ends_with_ctrl_c(self, serve, tmp_path):
        """The status is 0: that is how it is meant to end."""
        make_run(tmp_path / "runs/one", steps=2)
        process, line = serve("--port", "0", "--no-open")
        url, token = re.search(r"(http://localhost:\d+/)\?token=([\w-]{20,})", line).groups()
        asked = urllib.request.Request(
            f"{url}api/runs", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked) as answer:
            assert b'"one"' in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}api/runs")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert (0, "") == (process.returncode, err)

    def test_all_may_look_only_on_this_machine(self, serve, refused, tmp_path):
        """And only if that is asked for."""
        make_run(tmp_path / "one", steps=2)
        _, line = serve("one", "--no-token", "--port", "0", "--no-open")
        url = re.search(r"http://localhost:\d+/", line)[0]
        with urllib.request.urlopen(f"{url}api/runs") as answer:
            assert b'"one"' in answer.read()

        assert "whoever reaches 0.0.0.0 could look; leave out --no-token" in refused(
            "dash", str(tmp_path), "--no-token", "--host", "0.0.0.0", "--no-open"
        )

    @pytest.mark.slow
    def test_hostile_runs_keep_it_neither_from_answering_nor_from_ending(self, serve, tmp_path):
        """Whatever is wrong with others, a run is listed, and each is answered in words."""
        make_run(tmp_path / "runs/good", steps=2)
        names = [f"{Path(run).parent.name}/run" for _, run in hostile_runs(tmp_path / "runs")]
        process, line = serve("--no-token", "--port", "0", "--no-open")
        url = re.search(r"http://localhost:\d+/", line)[0]
        answers = []
        for path in ("api/runs", *(f"api/run?run={name}" for name in names)):
            try:
                with urllib.request.urlopen(url + path, timeout=60) as answer:
                    answers.append((answer.status, answer.read()))
            except urllib.error.HTTPError as refusal:
                answers.append((refusal.code, refusal.read()))
        process.terminate()
        _, err = process.communicate(timeout=60)

        assert b'"good"' in answers[0][1]
        assert {status for status, _ in answers} <= {200, 400, 404}
        assert all(isinstance(json.loads(body), dict | list) for _, body in answers)
        assert not any(SECRET.encode() in body for _, body in answers)
        assert "Traceback" not in err

    @pytest.mark.slow
    @pytest.mark.parametrize("headers", ["long", "many"])
    def test_headers_have_an_end(self, serve, tmp_path, headers):
        """Before who asks is known; whichever parser of HTTP is installed."""
        make_run(tmp_path / "one", steps=2)
        _, line = serve("one", "--no-token", "--port", "0", "--no-open")
        url = re.search(r"http://localhost:\d+/", line)[0]
        assert 0 < bytes_until_refused(url, headers=headers)
        with urllib.request.urlopen(f"{url}api/runs") as answer:
            assert b'"one"' in answer.read()

    def test_a_folder_that_is_not_there_is_refused(self, refused):
        """With what makes one."""
        assert "no folder" in refused("dash", "nowhere", "--no-open")

    @pytest.mark.slow
    def test_without_a_run_it_waits_for_the_first(self, tmp_path):
        """Nobody named the folder that is not there yet."""
        command = [STEPWATCH, "dash", "--port", "0", "--no-token", "--json"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
            url = json.loads("".join([*iter(server.stdout.readline, "}\n"), "}"]))["url"]
            make_run(tmp_path / "runs" / "first", steps=2)
            with urllib.request.urlopen(f"{url}api/runs") as answer:
                told = answer.read()
            server.terminate()

        assert b'"first"' in told

    def test_a_port_that_is_taken_is_refused(self, refused, tmp_path):
        """If it was asked for."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            said = refused("dash", str(tmp_path), "--port", port, "--no-open")

        assert f"cannot listen on 127.0.0.1 port {port}" in said
        assert "--port 0" in said

    def test_a_token_that_no_address_can_hold_is_refused(self, refused, tmp_path):
        """It has to be typed and to be sent in a header."""
        assert "letters, digits" in refused("dash", str(tmp_path), "--token", "s ä&", "--no-open")
