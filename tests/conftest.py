"""What all tests need."""

from __future__ import annotations

import os

# Before torch is imported, here and in child processes: several test processes on few cores make
# its threads wait for each other, tens of times longer than the work takes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# The same examples every time, and no clock: the machine may be busy.
settings.register_profile("stepwatch", derandomize=True, deadline=None)
settings.load_profile("stepwatch")
