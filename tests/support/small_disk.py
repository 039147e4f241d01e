"""A disk that is soon full."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB that the test has for itself."""
    yield from _mounted(tmp_path / "disk", "1m")


@pytest.fixture
def disk(tmp_path):
    """A disk with room for a ring that the test has for itself."""
    yield from _mounted(tmp_path / "disk", "64m")


def _mounted(place, size):
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield place
    while os.path.ismount(place):  # what was mounted over it, too
        subprocess.run(["umount", "-l", str(place)], check=True)
