"""The composite action: its own steps, run by bash, against a server that is as GitHub's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from stepwatch.testing import make_run
from tests.support import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
JUDGE, COMMENT, END = ACTION["runs"]["steps"]


class Comments(BaseHTTPRequestHandler):
    """The comments of a pull request, and who may write them."""

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_GET(self):
        page = int(re.search(r"[?&]page=(\d+)", self.path)[1])
        there = list(self.server.comments.items())[(page - 1) * 100 : page * 100]
        self.answer(200, [{"id": number, "body": text} for number, text in there])

    def do_POST(self):
        if self.headers["Authorization"] != "Bearer secret":
            self.answer(403, {"message": "Resource not accessible by integration"})
            return
        assert self.path == "/repos/me/mine/issues/7/comments"
        self.server.comments[len(self.server.comments)] = self.body()
        self.answer(201, {})

    def do_PATCH(self):
        number = int(self.path.removeprefix("/repos/me/mine/issues/comments/"))
        self.server.comments[number] = self.body()
        self.answer(200, {})

    def log_message(self, *_):
        pass


@pytest.fixture
def pull_request():
    """A server with a pull request that others commented more than a page long."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Comments)
    server.comments = dict.fromkeys(range(120), "looks good")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def step(tmp_path, pull_request):
    """Return a function that runs a step as a runner of GitHub does: exit status, log, outputs."""
    for file in ("summary", "outputs"):
        (tmp_path / file).touch()

    def run(step, inputs, **more):
        given = {name: one["default"] for name, one in ACTION["inputs"].items()} | inputs
        fields = {f"inputs.{name}": text for name, text in given.items()} | more
        env = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: fields[found[1]], text)
            for name, text in step["env"].items()
        }
        host = f"http://127.0.0.1:{pull_request.server_address[1]}"
        runner = {
            "GITHUB_API_URL": host,
            "GITHUB_REPOSITORY": "me/mine",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_OUTPUT": str(tmp_path / "outputs"),
            "RUNNER_TEMP": str(tmp_path),
        }
        script = tmp_path / "step.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=tmp_path, env={**os.environ, **runner, **env}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        text = (tmp_path / "outputs").read_text()
        outputs = dict(line.split("=", 1) for line in text.splitlines())
        return done.returncode, done.stdout + done.stderr, outputs

    return run


def inputs(**more):
    return {"python": sys.executable, "token": "secret", "rules": "exploding_tensor", **more}


class TestJudging:
    @pytest.mark.slow
    def test_every_run_is_judged_and_the_verdict_kept(self, step, tmp_path):
        """As annotations, in the summary of the job, and as SARIF if that is asked for."""
        for name in ("one", "two"):
            make_run(tmp_path / "runs" / name, steps=5)
        status, log, outputs = step(JUDGE, inputs(sarif="out.sarif"))

        assert (0, "0") == (status, outputs["status"]), log
        assert 2 == log.count("::notice title=stepwatch::")
        assert "### ❔ `runs/one`" in (tmp_path / "summary").read_text()
        assert 2 == len(json.loads((tmp_path / "out.sarif").read_text())["runs"])

    def test_what_cannot_be_judged_is_an_error(self, step):
        """No run is there: the job ends with status 2 and has no verdict."""
        status, log, outputs = step(JUDGE, inputs())
        ended, *_ = step(END, {}, **{"steps.judge.outputs.status": outputs["status"]})

        assert (0, {"status": "2"}, 2) == (status, outputs, ended), log
        assert "no run fits 'runs/*'" in log


class TestCommenting:
    @pytest.fixture
    def verdict(self, tmp_path):
        file = tmp_path / "verdict.md"
        file.write_text("### ❌ `run`\n")
        return {
            "steps.judge.outputs.verdict": str(file),
            "github.event.pull_request.number": "7",
        }

    def test_a_pull_request_gets_one_comment_that_later_pushes_replace(
        self, step, pull_request, verdict, tmp_path
    ):
        """It is found among the comments of others by its mark."""
        first, log, _ = step(COMMENT, inputs(), **verdict)
        (tmp_path / "verdict.md").write_text("### ✅ `run`\n")
        second, *_ = step(COMMENT, inputs(), **verdict)
        *others, ours = pull_request.comments.values()

        assert (0, 0) == (first, second), log
        assert (120, {"looks good"}) == (len(others), set(others))
        assert "<!-- stepwatch -->\n### ✅ `run`\n" == ours

    def test_who_may_not_comment_is_warned(self, step, pull_request, verdict):
        """As in a pull request from a fork; the job goes on."""
        status, log, _ = step(COMMENT, inputs(token="none"), **verdict)

        assert (0, 120) == (status, len(pull_request.comments))
        assert "::warning title=stepwatch::cannot comment the pull request: HTTP Error 403" in log
