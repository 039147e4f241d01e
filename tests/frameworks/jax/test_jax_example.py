"""The example in ``examples/05_jax.py`` does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.framework, pytest.mark.timeout(600)]

TRY = Path(__file__).parents[2] / "examples" / "try_example.py"


def test_its_mistake_is_found():
    """By the command that stands in it."""
    command = [sys.executable, TRY, "05_jax"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
