"""A server for all tests of a session and a bucket for each; imported by name."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
from functools import cache

import pytest

from tests.s3.ceph import Ceph
from tests.support.s3.raw_s3 import RawS3

_numbers = itertools.count()
# Set by who runs the tests with a server of its own: several processes then share it.
_SHARED = "STEPWATCH_TEST_S3"


@cache
def s3_environment():
    """Return the variables by which a server is reached; it ends with this process."""
    if os.environ.get(_SHARED):
        return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    server = Ceph()
    server.__enter__()
    atexit.register(server.__exit__)
    return server.environment


@pytest.fixture
def s3(monkeypatch, tmp_path):
    """Let this process, and its children, reach the server, and nothing of the user's."""
    server = s3_environment()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return server


@pytest.fixture
def bucket(s3):
    """A new bucket, of which nobody else knows."""
    raw = RawS3(f"test-{os.getpid()}-{next(_numbers)}")
    raw.make()
    return raw
