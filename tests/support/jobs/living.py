"""Jobs of real processes for tests: scripts, and a fixture that submits them. Imported by name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stepwatch.jobs import Job
from stepwatch.jobs.processes import end_group

TIMEOUT_S = 120
TELLS = """
import json, os, sys
told = {name: value for name, value in os.environ.items() if name.startswith("SM_")}
print(json.dumps({"told": told, "arguments": sys.argv[1:], "rank": os.environ.get("RANK")}))
open(os.path.join(told["SM_MODEL_DIR"], "weights"), "w").write("w")
"""
WAITS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
TRAINS = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[2]))
for step in range(int(sys.argv[4]) if len(sys.argv) > 4 else 40):
    x = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Return a function that submits a job of a script's text; none outlives its test."""
    monkeypatch.setenv("STEPWATCH_JOBS_AT_ONCE", "4")
    made = []

    def make(text, arguments=(), **options):
        script = tmp_path / f"script{len(made)}.py"
        script.write_text(text)
        options = {"capture": False, "name": f"job-{len(made)}", **options}
        made.append(Job(script, arguments, home=tmp_path / "jobs", **options))
        return made[-1].submit()

    yield make
    for job in made:
        for process in job._records.processes(job.name):
            end_group(process)


def wait_for(true, what):
    """Wait until something is so, and return it."""
    give_up_at = time.monotonic() + TIMEOUT_S
    while not (found := true()):
        assert time.monotonic() < give_up_at, what
        time.sleep(0.05)
    return found


def is_running(pid):
    """Return whether a process runs; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
