"""Runs the command as users do: another process, its output, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import fork_server

STEPWATCH = Path(sys.executable).with_name("stepwatch")

TRAINING = """\
import sys, threading
import torch
from torch.nn.functional import mse_loss

poll = lambda: None  # what follows cannot be pickled, and need not be
lock, itself = threading.Lock(), open(__file__)

def train(steps, spoiled=None, then=poll):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        if step == spoiled:
            x[3, 2] = torch.nan
            then()
        optimizer.zero_grad()
        loss = mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)
"""


def environment(**more):
    """Return a plain environment; warnings of torch about the machine are none of our business."""
    return {**os.environ, "TERM": "dumb", "COLUMNS": "200", **more}


def call(*command, cwd, start=fork_server.run, **options):
    """Run a command to its end; ``start=subprocess.run`` for a new interpreter."""
    return start(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=240,
        env=environment(), stdin=subprocess.DEVNULL, **options,
    )  # fmt: skip
