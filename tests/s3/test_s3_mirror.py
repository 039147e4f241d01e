"""A run on this machine that is copied to S3, also when the way there is bad."""

from __future__ import annotations

import os
import signal

import pytest

from stepwatch.store import open_store
from stepwatch.trial import Trial
from tests.s3.test_s3_runs import script, stepwatch, train, train_until
from tests.support.s3.fault_proxy import Fault, FaultProxy
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3", "script"]

pytestmark = [pytest.mark.s3, pytest.mark.timeout(240)]


@pytest.fixture
def copy(bucket):
    return f"s3://{bucket.bucket}/copies/one"


@pytest.fixture
def run(tmp_path):
    return str(tmp_path / "run")


def differing(run, copy):
    """Return the keys that are not alike, but for those that mean nothing elsewhere."""
    here, there = open_store(run), open_store(copy)
    left_out = ("reserve/", "blackbox/")
    keys = {key for key in here.list() if not key.startswith(left_out)} ^ set(there.list())
    return keys or {key for key in there.list() if here.get(key) != there.get(key)}


def go_on(training, steps=1):
    """Answer a training that asks, so many times."""
    training.stdin.write("\n" * steps)
    training.stdin.flush()


@pytest.mark.parametrize("run_format", ["native", "smdebug"])
def test_the_copy_is_the_run(copy, run, script, run_format):
    """In both formats, and in the end byte for byte."""
    options = ["--mirror", copy, "--format", run_format, "--save", "weights:raw:every=5"]
    said = train(run, script, "40", "-1", options=options).communicate(timeout=120)[1]

    assert set() == differing(run, copy), said
    assert ("finished", 40) == ((trial := Trial(copy)).state, len(trial.steps()))


def test_a_network_that_is_away_for_a_while_is_made_up_for(copy, run, script, s3):
    """The training goes on meanwhile."""
    with FaultProxy(s3["AWS_ENDPOINT_URL"], lambda *_: None) as proxy:
        variables = {**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
        options = ["--mirror", copy]
        training = train(run, script, "300", "-1", "--ask", options=options, env=variables)
        train_until(training, 50)
        proxy.close()
        proxy.fault = lambda *_: Fault("cut")  # of connections that are held
        go_on(training)
        train_until(training, 250)
        proxy.fault = lambda *_: None
        proxy.open()
        go_on(training, 100)
        said = training.communicate(timeout=120)[1]

    assert 0 == training.returncode
    assert set() == differing(run, copy), said


def test_what_is_left_at_the_end_is_told_and_copied_later(copy, run, script, s3):
    """By the verb that is named; Ctrl-C leaves the wait, and the run is whole."""
    with FaultProxy(s3["AWS_ENDPOINT_URL"], lambda *_: None) as proxy:
        variables = {**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
        options = ["--mirror", copy]
        training = train(run, script, "100", "-1", "--ask", options=options, env=variables)
        train_until(training, 50)
        proxy.close()
        proxy.fault = lambda *_: Fault("cut")
        go_on(training, 100)
        next(line for line in training.stderr if "waiting for s3://" in line)
        training.send_signal(signal.SIGINT)
        said = training.communicate(timeout=60)[1]
    (told,) = [line for line in said.splitlines() if "is not complete" in line]
    words = told.partition("stepwatch mirror ")[2].split()

    assert (0, ["finished", 100]) == (
        training.returncode,
        [(trial := Trial(run)).state, len(trial.steps())],
    )
    assert "lost" not in said
    assert 0 == stepwatch("mirror", *words).returncode
    assert set() == differing(run, copy)
