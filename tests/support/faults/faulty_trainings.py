"""A training that is given a fault at one of its steps, run with and without us.""" ""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepwatch import Trial
from stepwatch.cli.show import show
from tests.support import fork_server

STEPWATCH = Path(sys.executable).with_name("stepwatch")
STEPS = 60

# ``settle`` makes the moments exact: what was recorded up to it is stored or refused by then.
TRAINING = """\
import gc, os, resource, signal, subprocess, sys
import torch
from torch.nn.functional import mse_loss

def settle():
    recorders = sys.modules.get("stepwatch.capture.recorder")
    if recorders is not None:
        sys.modules["stepwatch.formats.native.writer"].GATHER_S = 0
        for one in gc.get_objects():
            if type(one) is recorders.Recorder:
                one.flush(20)

def train(steps=60, faults={}, width=8):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(steps):
        if step in faults:
            settle()
            faults[step]()
        optimizer.zero_grad()
        loss = mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)

"""


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    status: int
    output: str
    told: str


@dataclass(frozen=True)
class Watched:
    """A script that ran by itself and under ``stepwatch run``, and the run."""

    plain: Ended
    watched: Ended
    run: Path | str

    @property
    def trial(self):
        return Trial(self._folder)

    @property
    def _folder(self):
        """The run, of whatever store it was written by."""
        return re.sub(r"^slow://[^/]*", "", str(self.run))

    @property
    def end(self):
        return self.trial.reader.ends()["worker_0"]

    def shown(self, what):
        """Return what ``stepwatch show`` says of something, of each line."""
        result = CliRunner().invoke(show, [self._folder], catch_exceptions=False)
        lines = [line.partition(" ") for line in result.output.splitlines()]
        return [text.strip() for name, _, text in lines if name == what]

    def assert_unharmed(self):
        """The same losses and the same end; one that hangs is given up by whoever waits for it."""
        assert (self.plain.output, self.plain.status) == (self.watched.output, self.watched.status)


def start(command, folder, env=os.environ, **options):
    """Return a function that waits until the command has ended."""
    process = fork_server.Popen(
        [str(part) for part in command], cwd=folder, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**env, "TERM": "dumb", "OMP_NUM_THREADS": "1"}, **options,
    )  # fmt: skip

    def ended(timeout=240):
        try:
            output, told = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ended(process.returncode, output, told)

    return ended


def start_python(text, folder):
    """Return a function that waits until a script, with the training at hand, has ended."""
    script = folder / "train.py"
    script.write_text(TRAINING + text)
    return start((sys.executable, script), folder)


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """Return a function that runs a script without us, each script once."""

    @cache
    def alone(text):
        return start_python(text, tmp_path_factory.mktemp("plain"))()

    return alone


@pytest.fixture
def faulty(tmp_path, plain):
    """Return a function that runs a script with and without us.

    It takes what follows the training in the script; the text to run without us, where the fault
    is one of what only we use; where the run is to lie; and options of ``stepwatch run``.
    """

    def both(text, *, alone=None, run=None, options=(), **process):
        script = tmp_path / "train.py"
        script.write_text(TRAINING + text)
        run = run or tmp_path / "run"
        watch = (STEPWATCH, "run", "--run", run, *options, script)
        watched = start(watch, tmp_path, **process)
        expected = plain(alone or text)
        return Watched(expected, watched(), run)

    return both
