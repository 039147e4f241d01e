"""A disk that is soon full."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB that the test has for itself."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
