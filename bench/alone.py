"""Train one way in a process of its own, on one thread, and say what it took.

A compiler's own memory would hide ours, so the model is not compiled.

    python bench/alone.py KIND WAY FOLDER STEPS
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from footprint import footprint_of
from ways import OURS

WARM_UP = 5


def main() -> None:
    """Train as the arguments say and print the footprint as JSON."""
    kind, way, folder, steps = sys.argv[1:]
    torch.set_num_threads(1)
    if way in OURS:
        made = OURS[way]
    else:
        from rivals import RIVALS  # here: its imports take memory that no other way does

        made = RIVALS[way]
    training = made.make(kind, Path(folder))
    took = footprint_of(
        training.step, training.settle, training.close, warm_up=WARM_UP, steps=int(steps)
    )
    print(json.dumps(asdict(took)))


if __name__ == "__main__":
    main()
