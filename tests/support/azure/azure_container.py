"""A server for all tests of a session and a container for each; imported by name."""

from __future__ import annotations

import itertools
import os
import sys

import pytest

from tests.azure.azurite import Azurite
from tests.support.azure.raw_azure import RawAzure

_numbers = itertools.count()


@pytest.fixture(scope="session")
def azurite():
    """Return the variables by which the server is reached; it ends with the tests."""
    with Azurite() as server:
        yield server.environment


@pytest.fixture
def azure(azurite, monkeypatch, tmp_path):
    """Let this process, and its children, reach the server, and nothing of the user's."""
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, value in azurite.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return azurite


@pytest.fixture
def container(azure):
    """A new container, of which nobody else knows."""
    raw = RawAzure(f"test-{os.getpid()}-{next(_numbers)}", azure)
    raw.make()
    return raw
