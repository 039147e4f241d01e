"""A verb that waits for a server says so, in one line."""

from __future__ import annotations

import io
import queue
import signal
import subprocess
import sys
import threading
from contextlib import redirect_stderr

import pytest

from stepwatch.runtime import waiting
from tests.support.cli.run_verbs import READING, WRITING, run_verb
from tests.support.store.canned_server import canned_server

pytest.importorskip("obstore")

GONE = "<Error><Code>NoSuchBucket</Code></Error>"
PATIENCE_S = 60.0
# Less than a connection may be silent before it is given up.
SILENT_S = 15.0
VERBS = {**READING, **WRITING}
QUIET = {
    name: arguments
    for name, arguments in VERBS.items()
    if "--json" in arguments
} | {
    "verify -q": ["verify", "{run}", "-q"],
    "mirror -q": ["mirror", "{run}", "{out}", "-q"],
    "audit as JSON": ["audit", "{run}", "--json"],
}  # fmt: skip
ALOUD = {name: arguments for name, arguments in VERBS.items() if name not in QUIET}


class Heard(io.StringIO):
    """A stream that says when a wait was told on it."""

    def __init__(self):
        super().__init__()
        self.waits = threading.Event()

    def write(self, text):
        if "waiting for" in text:
            self.waits.set()
        return super().write(text)


@pytest.fixture
def access(monkeypatch, tmp_path):
    """Keys of a server, whose address is still to be set."""
    for name, value in {
        "HOME": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.fixture
def ask(access, tmp_path):
    """Return a function that asks a server by a verb, and returns what was told meanwhile."""
    access.setattr(waiting, "LONG_S", 0.0)

    def run(arguments, before):
        heard = Heard()
        with canned_server(404, GONE, before=lambda: before(heard)) as server:
            access.setenv("AWS_ENDPOINT_URL", server.endpoint)
            names = {"run": "s3://bkt/runs/run", "folder": "s3://bkt/runs"}
            with redirect_stderr(heard):
                status = run_verb(arguments, out=f"{tmp_path}/out", **names)
        assert status == 2, heard.getvalue()
        return [line for line in heard.getvalue().splitlines() if "waiting for" in line]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ALOUD)
def test_a_verb_says_once_what_it_waits_for(ask, name):
    """The server answers once that was said."""
    (line,) = ask(ALOUD[name], lambda heard: heard.waits.wait(PATIENCE_S))

    assert line.startswith("stepwatch: waiting for ")
    assert "s3://bkt/runs" in line
    assert line.endswith("; Ctrl-C ends it")


@pytest.mark.slow
@pytest.mark.parametrize("name", QUIET)
def test_one_that_is_to_be_quiet_says_nothing_of_it(ask, name):
    assert [] == ask(QUIET[name], lambda heard: None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["show", "show as JSON", "runs", "audit", "mirror"])
def test_ctrl_c_ends_it_while_the_server_is_silent(access, tmp_path, name):
    """Not only once the server has answered, or the connection was given up."""
    first, started, ended = iter([True]), queue.SimpleQueue(), threading.Event()
    answered = []

    def interrupt():
        if next(first, False):
            started.get(timeout=PATIENCE_S).send_signal(signal.SIGINT)
        if not ended.wait(SILENT_S):
            answered.append(name)

    places = {"run": "s3://bkt/runs/run", "folder": "s3://bkt/runs", "out": f"{tmp_path}/out"}
    arguments = [one.format(**places) for one in VERBS[name]]
    with canned_server(404, GONE, before=interrupt) as server:
        access.setenv("AWS_ENDPOINT_URL", server.endpoint)
        verb = subprocess.Popen(
            [sys.executable, "-m", "stepwatch", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.put(verb)
        status = verb.wait(PATIENCE_S)
        ended.set()

    assert (130, []) == (status, answered)


def test_what_was_not_given_by_anybody_waits_in_silence():
    """As the store of a training does."""
    told = []
    with waiting.long_waits(told.append):
        pass
    with waiting.waiting_for("an answer"):
        pass

    assert [] == told
