"""``stepwatch replay`` of a run of several processes: each runs its own step again, together."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from stepwatch import Trial
from stepwatch.formats.blackbox import read_frames
from stepwatch.store import open_store
from tests.support.cli.commands import STEPWATCH, call

SCRIPT = """\
import os, sys, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
if os.path.exists("refuses") and dist.get_rank() == 1:
    raise ValueError("no more of this")
torch.manual_seed(os.getpid())  # nothing is the same the second time
inputs = torch.randn(64, 6, generator=torch.Generator().manual_seed(0))
targets = (inputs.sum(1) > 0).long()
if os.path.exists("spoilt"):
    inputs[37, 2] = float(open("spoilt").read())
data = TensorDataset(inputs, targets)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
model = DistributedDataParallel(net)
optimizer = torch.optim.AdamW(model.parameters(), 0.01)
for inputs, targets in DataLoader(data, batch_size=4, sampler=DistributedSampler(data)):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
"""
LAUNCHED = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]

pytestmark = pytest.mark.slow


def record(folder, *options, spoilt=None):
    """Write the script and its run of two processes to a folder."""
    (folder / "train.py").write_text(SCRIPT)
    if spoilt is not None:
        (folder / "spoilt").write_text(spoilt)
    made = call(
        *LAUNCHED, "-m", "stepwatch", "run", "-o", "run", "--black-box", "4", *options, "train.py",
        cwd=folder, start=subprocess.run,
    )  # fmt: skip
    assert 0 == made.returncode, made.stderr
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    return record(folder, "--snapshot", "every=4", "--rules", "none")


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """The same, with row 37 of the data not finite."""
    return record(tmp_path_factory.mktemp("spoilt"), "--snapshot", "every=1", spoilt="nan")


def replay(folder, *arguments):
    return call(STEPWATCH, "replay", "run", "--trust", *arguments, cwd=folder)


class TestTogether:
    def test_each_process_gets_its_own_batch_and_all_average_their_gradients(self, recorded):
        """The step is written with what each of them saw."""
        done = replay(recorded, "--step", "6", "--json")
        said = json.loads(done.stdout)
        again = Trial(recorded / "run/replay-6")

        assert (0, "same statistics") == (done.returncode, said["outcome"])
        assert 2 == len(said["workers"])
        assert {"same statistics"} == {one["outcome"] for one in said["workers"]}
        assert (["worker_0", "worker_1"], [6]) == (list(again.workers), again.steps())

    def test_each_rank_is_reported_on_a_line(self, recorded):
        """What is shown in full is that of the process that differs most."""
        lines = replay(recorded, "--step", "5", "--quiet").stdout.splitlines()

        assert ["worker_0", "worker_1"] == sorted(line.partition(":")[0] for line in lines[:2])
        assert all("TRAIN step 5 was reproduced" in line for line in lines[:2])


class TestRowsAndCauses:
    def test_blame_names_the_worst_row_of_all_processes(self, spoilt):
        """Row 37 of the data, which one of them has drawn."""
        drawn = {}
        for worker in ("worker_0", "worker_1"):
            for frame in read_frames(open_store(str(spoilt / "run")), worker):
                if frame.kind == "begin" and 37 in frame.arrays["rows"]:
                    drawn[worker] = frame.mode_step
        ((worker, step),) = drawn.items()
        done = call(STEPWATCH, "blame", "run", "--step", str(step), "--json", cwd=spoilt)
        rows = json.loads(done.stdout)["rows"]
        said = call(STEPWATCH, "blame", "run", "--step", str(step), cwd=spoilt).stdout

        assert 8 == len(rows)
        assert {"worker_0", "worker_1"} == {row["worker"] for row in rows}
        assert (worker, 37) == (rows[0]["worker"], rows[0]["index"])
        assert f" of {worker} is " in said

    def test_a_row_of_one_process_is_proved_to_be_the_cause(self, spoilt):
        done = call(STEPWATCH, "prove", "run", "--json", cwd=spoilt)
        proof = json.loads(done.stdout)["proof"]

        assert (0, True, "rows") == (done.returncode, proof["proved"], proof["cause"])


class TestCannot:
    def test_a_failing_rank_is_reported_and_ends_the_others(self, recorded):
        """They would, in a collective."""
        (recorded / "refuses").touch()
        try:
            done = replay(recorded, "--step", "6")
        finally:
            (recorded / "refuses").unlink()

        assert 2 == done.returncode
        assert "worker_1: train.py did not come to the end of the step: " in done.stderr
        assert "ValueError: no more of this" in done.stderr

    def test_all_processes_must_be_there(self, recorded, tmp_path):
        """One alone would wait for the others."""
        shutil.copytree(recorded, tmp_path / "own")
        for folder in ("observations", "workers", "blackbox"):
            for path in (tmp_path / "own/run" / folder).glob("worker_1*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

        assert "has nothing of worker_1" in replay(tmp_path / "own", "--step", "6").stderr
