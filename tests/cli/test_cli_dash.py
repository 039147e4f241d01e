"""``stepwatch dash``: what it prints, refuses, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import urllib.request

import pytest

from stepwatch.testing import make_run
from tests.support.cli.commands import STEPWATCH, environment


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
    def test_it_says_where_and_ends_with_ctrl_c(self, serve, tmp_path):
        """The status is 0: that is how it is meant to end."""
        make_run(tmp_path / "runs/one", steps=2)
        process, line = serve("--port", "0", "--no-open")
        url = re.search(r"http://localhost:\d+/", line)[0]
        with urllib.request.urlopen(f"{url}api/runs") as answer:
            assert b'"one"' in answer.read()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert (0, "") == (process.returncode, err)

    def test_beyond_this_machine_a_token_is_made(self, serve, tmp_path):
        """And printed with the address, which is all that one needs."""
        make_run(tmp_path / "one", steps=2)
        _, line = serve("one", "--host", "0.0.0.0", "--port", "0", "--no-open")

        assert re.search(r"http://[^/]+/\?token=[\w-]{20,}", line)

    def test_a_folder_that_is_not_there_is_refused(self, refused):
        """With what makes one."""
        assert "no folder" in refused("dash", "nowhere", "--no-open")

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
