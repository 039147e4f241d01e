"""The dashboard as a browser asks it: answers, refusals, and what it may run."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import os
import re
import socket

import pytest
from starlette.testclient import TestClient

from stepwatch.dashboard import runs
from stepwatch.dashboard.app import make_app
from stepwatch.formats.settings import RunSettings, write_settings
from stepwatch.store import open_store
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.support.looked_at import EVIL, told


@pytest.fixture
def client(runs_folder):
    with TestClient(make_app(str(runs_folder)), base_url="http://localhost:6460") as client:
        yield client


def modules_of(client, *names):
    """Return these modules of the page, and all that they import before they run."""
    found, left = set(), {*names}
    while left:
        found |= left
        texts = [client.get(f"/static/{name}").text for name in left]
        left = {one for text in texts for one in re.findall(r'from "\./(.+?)"', text)} - found
    return found


def all_runs(client):
    """Return the table of runs once all were looked at."""
    while True:
        found = told(client.get("/api/runs"))
        if not found["pending"]:
            return {run["name"]: run for run in found["runs"]}


class TestRuns:
    def test_all_runs_beneath_the_place_are_listed(self, client):
        """In either format and however deep; one that is damaged says so."""
        found = all_runs(client)

        assert {"healthy", "deep/faulty", "smdebug", "damaged"} == set(found)
        assert ("finished", 16, 0) == tuple(
            found["healthy"][what] for what in ("state", "steps", "findings")
        )
        assert "unreadable" == found["damaged"]["state"]
        assert "is damaged" in found["damaged"]["error"]
        assert ("nan", 2) == (found["deep/faulty"]["last_loss"], found["deep/faulty"]["findings"])

    def test_a_run_that_begins_while_one_looks_is_found(self, client, runs_folder):
        """It is asked for by name before the list was taken again."""
        all_runs(client)
        make_run(runs_folder / "later", steps=2)

        assert 2 == told(client.get("/api/run", params={"run": "later"}))["steps"]["GLOBAL"]

    @pytest.mark.parametrize("name", ["../healthy", "/etc", "deep", "..", "", "deep/../healthy"])
    def test_what_is_not_listed_is_not_opened(self, client, name):
        """No path leads out of the place."""
        answer = client.get("/api/run", params={"run": name})

        assert 404 == answer.status_code
        assert "no run" in json.loads(answer.text)["error"]

    def test_what_people_call_a_run_is_in_its_row(self, client, runs_folder):
        """Its tags, note and project, and each value of its configuration among the settings."""
        called = RunSettings(
            project="vision", tags=("base",), note="first try", config={"model": {"layers": 2}}
        )
        write_settings(open_store(runs_folder / "healthy"), called)
        row = all_runs(client)["healthy"]

        assert (["base"], "first try", "vision") == (row["tags"], row["note"], row["project"])
        assert "2" == row["settings"]["model.layers"]

    def test_a_damaged_run_is_an_answer(self, client):
        """What is damaged, and where."""
        assert "is damaged" in told(client.get("/api/run", params={"run": "damaged"}))["error"]

    def test_what_cannot_be_meant_is_refused(self, client):
        """With status 400 and one line."""
        answer = client.get("/api/scalars", params={"run": "healthy", "axis": "mood"})

        assert 400 == answer.status_code
        assert "there are step" in json.loads(answer.text)["error"]

    def test_an_answer_is_computed_once_until_the_run_changes(self, client, monkeypatch):
        """A hundred who ask wait for one."""
        from stepwatch.dashboard import app

        calls = []
        rules = app._ANSWERS["rules"]
        monkeypatch.setitem(app._ANSWERS, "rules", lambda *args: calls.append(1) or rules(*args))
        for _ in range(5):
            client.get("/api/rules", params={"run": "healthy"})

        assert [1] == calls

    @pytest.mark.parametrize("path", ["/static/lines.js", "/api/scalars?run=healthy"])
    def test_what_a_browser_has_is_not_sent_again(self, client, path):
        """It is compressed, and asked for by its tag."""
        first = client.get(path)
        again = client.get(path, headers={"if-none-match": first.headers["etag"]})

        assert "gzip" == first.headers["content-encoding"]
        assert "no-cache" == first.headers["cache-control"]
        assert (304, b"") == (again.status_code, again.content)

    def test_only_traces_of_the_run_are_given(self, client):
        """No other file of it, and none beside it."""
        for key in ("run.json", "../healthy/run.json", ""):
            query = {"run": "healthy", "key": key}
            assert 400 == client.get("/api/trace", params=query).status_code

    def test_two_runs_are_compared(self, client):
        """And a run is not compared with itself."""
        query = {"a": "healthy", "b": "deep/faulty"}

        assert not told(client.get("/api/compare", params=query))["same"]
        same = client.get("/api/compare", params={"a": "healthy", "b": "healthy"})
        assert 400 == same.status_code


class TestStatic:
    @pytest.mark.parametrize(
        "path", ["/", "/style.css", "/static/uplot/uPlot.iife.min.js", "/static/app.js"]
    )
    def test_the_page_comes_with_a_policy(self, client, path):
        """No script or style but its own files, nothing from elsewhere, in no frame."""
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]

        assert 200 == answer.status_code
        assert re.search(r"script-src 'self' 'sha256-[^']+'(;|$)", policy)
        assert "'unsafe-inline'" not in policy
        assert "'unsafe-eval'" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "nosniff" == answer.headers["x-content-type-options"]

    def test_of_scripts_in_the_page_only_its_own_may_run(self, client):
        """The policy names it by its content."""
        page = client.get("/")
        scripts = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()) for one in scripts]

        allowed = re.findall("'sha256-([^']+)'", page.headers["content-security-policy"])
        assert 1 == len(scripts)
        assert allowed == [one.decode() for one in digests]

    def test_what_a_headline_needs_is_read_first(self, client):
        """Every module is named in the page, none is found only when another one is read."""
        page = client.get("/").text
        first = {*re.findall(r'<link rel="modulepreload" href="static/(.+?)">', page)}
        (after,) = re.findall(r"for \(const name of (\[.+?\])\)", page)
        later = {f"{name}.js" for name in json.loads(after)}

        assert modules_of(client, "app.js", "run.js") == {"app.js", *first}
        assert modules_of(client, "evidence.js") - {"app.js", *first} == later
        assert ["static/app.js"] == re.findall(r'<script .*?src="(.+?)"', page)

    def test_no_markup_is_made_of_text(self):
        """What a page shows it makes of elements and text nodes."""
        from stepwatch.dashboard.app import _STATIC

        for path in _STATIC.glob("*.js"):  # uPlot's, in its folder, is given no text
            text = path.read_text()
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
                assert word not in text, path.name

    def test_no_file_outside_is_served(self, client):
        """However it is written."""
        for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
            assert 404 == client.get(path).status_code

    def test_names_are_told_as_they_are(self, client):
        """They are JSON; what shows them makes text of it."""
        found = told(client.get("/api/tensors", params={"run": "deep/faulty", "search": "onerror"}))

        assert [EVIL] == [entry["path"] for entry in found["entries"]]


class TestGate:
    @pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:6460", "[::1]:6460", "10.0.0.7"])
    def test_this_machine_is_asked_by_its_names_and_addresses(self, client, host):
        """An address is what it is."""
        assert 200 == client.get("/api/runs", headers={"host": host}).status_code

    @pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "a b"])
    def test_other_names_are_not_served(self, client, host):
        """They were made to resolve to this machine by somebody else."""
        assert 421 == client.get("/api/runs", headers={"host": host}).status_code

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
    def test_pages_elsewhere_may_not_ask(self, client, origin):
        """Also not those of another port."""
        assert 403 == client.get("/api/runs", headers={"origin": origin}).status_code

    def test_nothing_can_be_changed(self, client):
        """Everything is asked by GET."""
        for method in (client.post, client.put, client.delete):
            assert 405 == method("/api/runs").status_code


class TestToken:
    @pytest.fixture
    def guarded(self, runs_folder):
        app = make_app(str(runs_folder), token="s3cret-token")
        with TestClient(app, base_url="http://localhost:6460") as client:
            yield client

    @pytest.mark.parametrize("path", ["/", "/api/runs", "/static/app.js", "/events?run=healthy"])
    def test_without_it_nothing_is_shown(self, guarded, path):
        """Not even the page."""
        assert 401 == guarded.get(path).status_code
        assert 401 == guarded.get(path, headers={"authorization": "Bearer s3cret"}).status_code

    def test_who_opens_the_address_with_it_is_let_in(self, guarded):
        """It moves from the address into a cookie that scripts and other sites cannot use."""
        answer = guarded.get("/", params={"token": "s3cret-token"}, follow_redirects=False)
        cookie = answer.headers["set-cookie"].lower()

        assert (303, "/") == (answer.status_code, answer.headers["location"])
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert 200 == guarded.get("/api/runs").status_code

    def test_programs_tell_it_in_a_header(self, guarded):
        """As a bearer."""
        header = {"authorization": "Bearer s3cret-token"}

        assert 200 == guarded.get("/api/runs", headers=header).status_code


class TestOneRun:
    def test_a_single_run_is_the_place_itself(self, runs_folder):
        """It is called as its folder."""
        with TestClient(make_app(str(runs_folder / "healthy"))) as client:
            client.base_url = "http://localhost:6460"
            found = told(client.get("/api/runs"))

            assert found["one"]
            assert ["healthy"] == [run["name"] for run in found["runs"]]
            assert "no problem seen" == told(client.get("/api/run?run=healthy"))["verdict"]

    def test_an_empty_folder_has_no_runs_yet(self, tmp_path):
        """That is no error."""
        with TestClient(make_app(str(tmp_path)), base_url="http://localhost:1") as client:
            assert [] == told(client.get("/api/runs"))["runs"]


def num_open_trials():
    gc.collect()
    return sum(isinstance(one, Trial) for one in gc.get_objects())


def test_a_run_that_goes_on_is_held_once_however_often_it_is_listed(tmp_path, monkeypatch):
    """And one that has ended not at all."""
    monkeypatch.setattr(runs, "_AGAIN_S", {})
    monkeypatch.setattr(runs, "_AGAIN_ENDED_S", 0.0)
    make_run(tmp_path / "ended", steps=4)
    make_run(tmp_path / "running", steps=4)
    (tmp_path / "running/end/worker_0.json").unlink()
    (tmp_path / "running/run.json").write_text(
        json.dumps(
            json.loads((tmp_path / "running/run.json").read_text())
            | {"host": socket.gethostname(), "pid": os.getpid()}
        )
    )
    before = num_open_trials()
    with TestClient(make_app(str(tmp_path)), base_url="http://localhost:6460") as client:
        for _ in range(5):
            states = {name: run["state"] for name, run in all_runs(client).items()}
        after = num_open_trials()

    assert {"ended": "finished", "running": "running"} == states
    assert 1 == after - before
