"""Processes that a script starts: those that train together are watched; of others it is said."""

from __future__ import annotations

import multiprocessing

import pytest

from stepwatch import Trial
from stepwatch.cli.children import ChildProcesses

SPAWNS = """
import multiprocessing, sys

def fold(number):
    import torch
    model = torch.nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=fold, args=(number,)) for number in range(2)]
    for one in processes:
        one.start()
    for one in processes:
        one.join()
"""
#: Two train together, as often as the script is told to; the last one may fail.
TOGETHER = """
import os, sys, torch

def train(rank, message):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    if rank == 1 and message:
        raise RuntimeError(message)

if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        torch.multiprocessing.spawn(train, args=(sys.argv[2],), nprocs=2)
"""
#: Each child begins a run of its own.
BEGINS = """
import multiprocessing, sys, stepwatch

def fold(number):
    with stepwatch.init(f"fold-{number}", quiet=True):
        for step in range(3):
            stepwatch.log({"loss": number})

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    process = context.Process(target=fold, args=(7,))
    process.start()
    process.join()
"""


@pytest.mark.slow
def test_what_is_spawned_is_said_not_to_be_watched(write, stepwatch):
    told = stepwatch("run", write(SPAWNS, training=False))

    assert "not watched: 2 processes that the script started (fold); if they train," in told.stderr


@pytest.mark.slow
def test_what_torch_spawns_is_watched_as_the_workers_of_one_run(write, new_stepwatch, tmp_path):
    told = new_stepwatch("run", "--run=r", write(TOGETHER, training=False), "2", "")

    assert 0 == told.returncode, told.stderr
    assert "not watched" not in told.stderr
    for run in ("r", "r-2"):  # it spawns twice
        trial = Trial(tmp_path / run)
        assert ("finished", 3) == (trial.state, len(trial.steps()))
        assert ["worker_0", "worker_1"] == sorted(trial.workers)


@pytest.mark.slow
def test_what_fails_in_a_process_that_torch_spawns_fails_as_without(write, new_stepwatch, tmp_path):
    told = new_stepwatch("run", "--run=r", write(TOGETHER, training=False), "1", "it broke")

    assert 1 == told.returncode
    assert "ProcessRaisedException" in told.stderr
    assert "it broke" in told.stderr
    assert "failed" == Trial(tmp_path / "r").state


def test_what_torch_spawns_has_the_name_that_the_script_gave_it():
    def fold(number):
        pass

    spawning = pytest.importorskip("torch.multiprocessing.spawn")
    process = multiprocessing.Process(target=spawning._wrap, args=(fold, 0, (), None))
    assert "fold" == ChildProcesses._of_process(process)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_child_that_begins_a_run_has_one_of_its_own(write, new_stepwatch, tmp_path, method):
    told = new_stepwatch("run", write(BEGINS, training=False), method)

    assert 0 == told.returncode, told.stderr
    (run,) = (tmp_path / "runs").glob("fold-7-*")
    assert ("finished", 3) == (Trial(run).state, len(Trial(run).steps()))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/python3", "-u", "fold.py", "1"], "fold.py"),
        ("python train.py", "train.py"),
        (["torchrun", "--nproc-per-node", "2", "train.py"], "train.py"),
        (["python", "-m", "stepwatch", "run", "train.py"], ""),
        (["python", "-c", "from multiprocessing.spawn import spawn_main"], ""),
        (["git", "log"], ""),
        ([], ""),
    ],
)
def test_only_python_that_does_not_watch_itself_counts(command, expected):
    assert expected == ChildProcesses._of_command(None, command)


def test_workers_that_load_data_are_none(write, stepwatch):
    text = """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2)), num_workers=1)
train(3)
print(len(list(loader)))
"""
    told = stepwatch("run", write(text))

    assert "4" == told.stdout.splitlines()[-1]
    assert "not watched" not in told.stderr
