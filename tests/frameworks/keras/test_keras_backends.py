"""The other backends of Keras keep to the same: the backend is chosen once in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.framework
TESTS = ("budget", "contract", "hook", "hook_config", "page", "smdebug", "torch_loops")


@pytest.mark.timeout(1800)
@pytest.mark.skipif("KERAS_BACKEND" in os.environ, reason="one is chosen for this process")
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_it_keeps_to_the_same(backend):
    """All that is tested of ``fit`` holds there, too."""
    tests = [str(Path(__file__).with_name(f"test_keras_{name}.py")) for name in TESTS]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "framework", *tests],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == ran.returncode, ran.stdout[-8000:]
