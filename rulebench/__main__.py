"""The command line: ``python -m rulebench``."""

from __future__ import annotations

import os

# Before torch is imported: trainings are small, and each has a process of its own.
os.environ["OMP_NUM_THREADS"] = "1"

from rulebench.commands import main

if __name__ == "__main__":
    main()
