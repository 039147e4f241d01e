"""What all tests need."""

from __future__ import annotations

import gc
import os
import signal

# Before torch is imported, here and in child processes: several test processes on few cores make
# its threads wait for each other, tens of times longer than the work takes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# The same examples every time, and no clock: the machine may be busy.
settings.register_profile("stepwatch", derandomize=True, deadline=None)
settings.load_profile("stepwatch")

# A shell lets what runs in its background ignore Ctrl-C, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def what_came_before():
    """Hide from the garbage collector what lived before these tests: a million objects.

    Hooks look through all objects for optimizers, and so does every collection: here it would take
    longer than what is tested, and find what earlier tests left behind.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Let Python clean up as ever: some libraries complain of what is left at its end."""
    gc.unfreeze()
