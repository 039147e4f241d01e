"""A server that dies in the middle: each verb ends, says why and what is left; no step is lost."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.testclient import TestClient

from stepwatch.capture import Recorder, mirror
from stepwatch.capture.output import Output
from stepwatch.cli import storage
from stepwatch.dashboard.app import make_app
from stepwatch.formats import outage
from stepwatch.formats.outage import Outage
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store import objects, open_store
from stepwatch.testing import make_run
from stepwatch.trial import Trial
from tests.s3.test_s3_mirror import differing
from tests.support.cli.run_verbs import READING, WRITING, run_verb
from tests.support.s3.fault_proxy import CUT, Fault, FaultProxy
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = [pytest.mark.s3, pytest.mark.timeout(120)]

FROM_BUCKET = READING | WRITING
TO_BUCKET = {name: WRITING[name] for name in ("mirror", "convert to smdebug")}
HOUR_S, MINUTE_S = 3600.0, 60.0


@pytest.fixture
def way(s3, bucket, monkeypatch):
    """A way to the server that can end; whoever finds it so asks once more, and gives up."""
    monkeypatch.setattr(objects, "PATIENCE_S", 0.5)
    monkeypatch.setattr(objects, "RETRIES", objects.RETRIES | {"max_retries": 0})
    with FaultProxy(s3["AWS_ENDPOINT_URL"], lambda *_: None) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


def dies_after(way, requests):
    """Let so many requests through, and then none."""
    way.seen.clear()
    way.fault = lambda *_: None if len(way.seen) <= requests else Fault(CUT)


def assert_given_up(way, status, printed):
    """It ended with the cause, the server, and how long that was asked."""
    last = printed.err.strip().splitlines()[-1]
    assert 2 == status, printed.err
    assert last.startswith("stepwatch: cannot ")
    assert f"{way.endpoint} does not answer" in last


class TestVerbs:
    @pytest.mark.parametrize("name", FROM_BUCKET)
    def test_one_that_reads_a_run_there_ends_with_the_cause(
        self, way, bucket, name, tmp_path, capsys
    ):
        """Whether the server dies at once or when half of what it asks for is there."""
        run = make_run(f"s3://{bucket.bucket}/runs/run", steps=6, raw=True)
        way.seen.clear()
        names = {"run": run, "folder": run.rpartition("/")[0]}
        assert run_verb(FROM_BUCKET[name], out=f"{tmp_path}/whole", **names) in (0, 1)
        whole = len(way.seen)
        for number, requests in enumerate((1, whole // 2)):
            capsys.readouterr()
            dies_after(way, requests)
            options = ["--patience", "0"] if name == "mirror" else []
            asked = [*FROM_BUCKET[name], *options]
            status = run_verb(asked, out=f"{tmp_path}/{number}", **names)

            assert_given_up(way, status, capsys.readouterr())
        way.fault = lambda *_: None

        assert list(range(6)) == Trial(run).steps()
        assert {path.name for path in tmp_path.glob("*.html")} <= {"whole.html"}

    @pytest.mark.parametrize("name", TO_BUCKET)
    def test_one_that_writes_there_says_what_is_left_and_can_be_called_again(
        self, way, bucket, name, tmp_path, capsys
    ):
        """A copy goes on where it was; what was half converted is to be deleted."""
        run = make_run(tmp_path / "run", steps=6, raw=True)
        out = f"s3://{bucket.bucket}/out"
        way.seen.clear()
        assert 0 == run_verb(TO_BUCKET[name], run=run, out=out)
        requests = len(way.seen) * 3 // 4
        capsys.readouterr()
        dies_after(way, requests)
        options = ["--patience", "0"] if name == "mirror" else []
        status = run_verb([*TO_BUCKET[name], *options], run=run, out=f"{out}2")
        printed = capsys.readouterr()
        way.fault = lambda *_: None
        left = open_store(TO_BUCKET[name][2].format(out=f"{out}2")).list()

        assert_given_up(way, status, printed)
        if name == "mirror":
            assert f"{len(left)} file" in printed.err
            assert "call it again to go on" in printed.err
            assert 0 == run_verb(TO_BUCKET[name], run=run, out=f"{out}2")
            assert list(range(6)) == Trial(f"{out}2-mirror").steps()
        else:
            assert left
            where = f"what was written of it to {out}2-smdebug is to be deleted by hand"
            assert where in printed.err

    def test_runs_are_listed_and_not_removed(self, way, bucket, capsys):
        """Of a bucket as of a folder; what would be removed must be of this machine."""
        place = f"s3://{bucket.bucket}/runs"
        make_run(f"{place}/deep/run", steps=6)
        make_run(f"{place}/old", steps=4, format="smdebug")
        assert 0 == run_verb(["runs", place, "--json"])
        listed = json.loads(capsys.readouterr().out)["runs"]
        assert 2 == run_verb(["runs", place, "--remove", "-y"])

        assert [("deep/run", 6), ("old", 4)] == [(one["run"], one["steps"]) for one in listed]
        assert "--remove removes runs of this machine" in capsys.readouterr().err
        assert list(range(4)) == Trial(f"{place}/old").steps()

    def test_a_run_that_is_not_merged_to_the_end_is_whole(self, way, bucket, capsys):
        """At whichever of its requests the server dies."""
        url = f"s3://{bucket.bucket}/parts"
        for number in range(4):
            make_run(f"{url}{number}", steps=6, raw=True)
            dies_after(way, 7 + 2 * number)
            run_verb(WRITING["compact"], run=f"{url}{number}")
            way.fault = lambda *_: None

            assert list(range(6)) == Trial(f"{url}{number}").steps()
            assert 0 == run_verb(WRITING["compact"], run=f"{url}{number}")
        assert "nothing of the run is lost" in capsys.readouterr().err

    def test_pages_answer_in_words_until_it_is_back(self, way, bucket):
        make_run(f"s3://{bucket.bucket}/runs/run", steps=6)
        app = make_app(f"s3://{bucket.bucket}/runs")
        with TestClient(app, base_url="http://localhost:6460") as client:

            def ask():
                while client.get("/api/runs").json()["pending"]:
                    pass
                return client.get("/api/scalars", params={"run": "run"})

            before = ask().json()
            dies_after(way, 0)
            refused = client.get("/api/matrix", params={"run": "run", "collection": "weights"})
            way.fault = lambda *_: None
            after = ask().json()

        assert before["lines"]
        assert before["lines"] == after["lines"]
        assert f"{way.endpoint} does not answer" in refused.json()["error"]


class Clock:
    """A clock that goes only while somebody waits."""

    def __init__(self):
        self.now_s = 1e6

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


LOSS = TensorInfo("loss", "losses", "float32", ())
WEIGHT = TensorInfo("weight", "weights", "float32", (16,))


def observe(recorder):
    """Record a step whose values say which one it is."""
    step = recorder.open_step(Mode.TRAIN)
    step.add(LOSS, np.float32(recorder.num_steps))
    step.add(WEIGHT, np.full(16, recorder.num_steps, np.float32))
    recorder.end_step(Mode.TRAIN)


WRITERS = {
    "native": "stepwatch.formats.native.writer",
    "smdebug": "stepwatch_smdebug.format.writer",
}


@pytest.mark.parametrize("run_format", WRITERS)
def test_an_hour_without_the_server_loses_nothing_and_keeps_the_order(
    way, bucket, monkeypatch, run_format
):
    """A step each minute meanwhile, by a clock of our own; every limit is as it is by default."""
    clock = Clock()
    monkeypatch.setattr(objects, "PATIENCE_S", 60.0)
    for module in (objects, outage):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(f"{WRITERS[run_format]}.Outage", lambda *_: Outage(clock.monotonic))
    url = f"s3://{bucket.bucket}/waiting"
    output = Output(format=run_format)
    recorder = Recorder(url, policy="weights:raw:every=1", output=output)

    def train(steps):
        for _ in range(steps):
            observe(recorder)
            clock.now_s += MINUTE_S
            with contextlib.suppress(TimeoutError):
                recorder.store_steps(20)

    train(5)
    dies_after(way, 0)
    began_s = clock.now_s
    train(60)
    away_s = clock.now_s - began_s
    way.fault = lambda *_: None
    train(5)
    end = recorder.close()
    trial = Trial(url)

    assert away_s >= HOUR_S
    assert (0, "", "") == (end.dropped, end.lost, end.error)
    assert list(range(70)) == trial.steps()
    assert [*range(70)] == [trial.tensor("weight").value(step)[0] for step in trial.steps()]


@pytest.mark.parametrize("run_format", WRITERS)
def test_an_hour_without_the_server_makes_a_mirror_late_and_no_more(
    way, bucket, monkeypatch, tmp_path, caplog, run_format
):
    """The run itself is what waits; each step is there, in its order, once the server is back."""
    clock = Clock()
    monkeypatch.setattr(objects, "PATIENCE_S", 60.0)
    monkeypatch.setattr(objects, "time", clock)
    for name in ("monotonic", "sleep"):
        monkeypatch.setattr(mirror, name, getattr(clock, name))
    copy = f"s3://{bucket.bucket}/copy"
    output = Output(format=run_format, mirror=copy)
    recorder = Recorder(tmp_path / "run", policy="weights:raw:every=1", output=output)

    def train(steps):
        for _ in range(steps):
            observe(recorder)
            clock.now_s += MINUTE_S
            recorder.store_steps(20)
            assert recorder._mirror._background.flush(20)  # it has tried, or copied all

    train(5)
    assert list(range(5)) == Trial(copy).steps()
    dies_after(way, 0)
    began_s = clock.now_s
    train(60)
    away_s = clock.now_s - began_s
    way.fault = lambda *_: None
    assert list(range(5)) == Trial(copy).steps()
    train(5)
    assert list(range(70)) == Trial(copy).steps()
    end = recorder.close()

    assert away_s >= HOUR_S
    assert (0, "", "") == (end.dropped, end.lost, end.error)
    assert 1 == sum("is late" in line for line in caplog.messages)
    assert set() == differing(str(tmp_path / "run"), copy)


def test_an_hour_without_the_server_is_waited_for_by_the_verb(
    way, bucket, monkeypatch, tmp_path, capsys
):
    """With the patience that it is given; it follows the run, and copies what came meanwhile."""
    clock = Clock()
    monkeypatch.setattr(objects, "PATIENCE_S", 60.0)
    monkeypatch.setattr(objects, "time", clock)
    copy, run = f"s3://{bucket.bucket}/copy", tmp_path / "run"
    recorder = Recorder(run, policy="weights:raw:every=1")
    for _ in range(5):
        observe(recorder)
    recorder.store_steps(20)
    began_s, pauses = clock.now_s, []

    def sleep(seconds):
        """Let a minute go by, and at last the hour and the run be over."""
        pauses.append(seconds)
        clock.now_s += MINUTE_S
        if clock.now_s - began_s < HOUR_S:
            observe(recorder)
            recorder.store_steps(20)
            dies_after(way, 0)
        else:
            way.fault = lambda *_: None
            recorder.close()

    monkeypatch.setattr(storage, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=sleep))
    status = run_verb(["mirror", "{run}", "{out}", "--patience", "7200"], run=str(run), out=copy)

    told = capsys.readouterr().err

    assert 0 == status, told
    assert clock.now_s - began_s >= HOUR_S
    assert max(pauses) <= 8
    assert 1 == told.count("it is tried again")
    assert Trial(run).steps() == Trial(copy).steps()
    assert set() == differing(str(run), copy)
