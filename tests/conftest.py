"""What all tests need."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile

# Before torch is imported, here and in child processes: several test processes on few cores make
# its threads wait for each other, tens of times longer than the work takes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What is kept between runs lies in the home of the user; that of tests is their own.
os.environ.setdefault("STEPWATCH_STATE", tempfile.mkdtemp(prefix="stepwatch-tests-"))

# What is printed into a pipe is as wide; tests of narrow terminals say so.
os.environ["COLUMNS"] = "240"

# The tier without PyTorch runs where there is none; where there is, nothing may import it.
WITHOUT_TORCH = bool(os.environ.get("STEPWATCH_WITHOUT_TORCH"))
if WITHOUT_TORCH:

    class _NoTorch:
        """Finds no PyTorch, and nothing else either."""

        def find_spec(self, fullname, path=None, target=None):
            if fullname == "torch":
                raise ModuleNotFoundError("these tests do without torch", name="torch")

    sys.meta_path.insert(0, _NoTorch())

import pytest  # noqa: E402
from _pytest.doctest import DoctestModule  # noqa: E402
from hypothesis import settings  # noqa: E402

from tests.support.selection import is_in_share, needs_torch  # noqa: E402

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


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Let a file of tests that cannot be imported fail: its examples may, by an option, be absent.

    That option is for the hooks of frameworks that are not installed. Once a module was passed over
    by it, what Python has of it counts as the whole, and none of its tests is missed.
    """
    report = yield
    if isinstance(collector, DoctestModule) and "unable to import" in str(report.longrepr):
        report.outcome = "failed"
    return report


def pytest_ignore_collect(collection_path):
    """Pass over what needs PyTorch, where it is to do without."""
    if WITHOUT_TORCH and needs_torch(collection_path):
        return True
    return None


def pytest_collection_modifyitems(config, items):
    """Keep the tests of one share, if one is asked for."""
    share = os.environ.get("STEPWATCH_SHARE", "")
    left = [item for item in items if not is_in_share(share, item.nodeid)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if is_in_share(share, item.nodeid)]
