"""What all tests need."""

from __future__ import annotations

import os

# Before torch is imported, here and in child processes: several test processes on few cores make
# its threads wait for each other, tens of times longer than the work takes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
