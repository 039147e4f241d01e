"""Jobs that wait for their turn: each has a process, so that process must be small."""

from __future__ import annotations

import subprocess
import sys

LARGE = ("pyarrow", "numpy", "torch", "obstore", "botocore")


def test_a_runner_imports_what_it_needs_when_its_turn_comes():
    """Hundreds may wait; what reads and writes runs is some sixty megabytes in each."""
    text = f"import stepwatch.jobs.runner, sys; print([m for m in {LARGE} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert "[]\n" == found.stdout
