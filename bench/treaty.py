"""What saving and reading in smdebug's format costs us, and what it costs the real smdebug.

One script, of its public API alone, runs under both: the real smdebug 1.0.34 in its own
environment, and the package of the same name here. A process of each trains the same small net,
round by round in turns, with reductions of weights, biases, gradients and the loss saved at every
step, and without a hook. Then each opens one run, of our writer, and reads all values.

    STEPWATCH_TREATY_PYTHON=PATH python bench/treaty.py [--steps N --rounds N]

``make bench`` makes the environment and runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from stepwatch.formats import RunTarget, Selection, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.smdebug.collections import RAW, SavedCollection
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.store import open_store

TARGET = 10
READ_STEPS, READ_TENSORS = 2000, 20

# What all trainings have in common; ``attach`` and ``settle`` are put before it.
TRAIN = """
import json, sys, time, torch
torch.set_num_threads(1)

def write_all(recorder):
    for writer in recorder._writers:  # they gather steps; to write them is part of the cost
        recorder._carrier.background.submit(writer.flush)
    recorder.flush()

def training(hooked):
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU()) for _ in range(5)]
    net, loss_of = torch.nn.Sequential(*layers), torch.nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(16, 32), torch.randn(16, 32)
    if hooked:
        attach(net, loss_of)
    def step():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
    return step

plain, watched = training(False), training(True)
for line in sys.stdin:
    steps, found = int(line), {}
    for name, step in (("plain", plain), ("watched", watched)):
        listen(name == "watched")
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        found[name] = time.perf_counter() - begin
        if name == "watched":
            settle()
        found[name + "_settled"] = time.perf_counter() - begin
    print(json.dumps(found), flush=True)
finish()
"""
OLD_API = """
import sys, smdebug, smdebug.pytorch as smd
hook = smd.Hook(
    out_dir=sys.argv[1],
    include_collections=["weights", "biases", "gradients", "losses"],
    save_config=smd.SaveConfig(save_interval=1),
    reduction_config=smd.ReductionConfig(
        reductions=["min", "max", "mean", "std"], norms=["l2"], abs_reductions=["mean"]),
)
def attach(net, loss_of):
    hook.register_module(net)
    hook.register_loss(loss_of)
def listen(on):
    pass
def settle():
    registered = getattr(hook, "_registered", None)
    if registered is not None:
        write_all(registered.recorder)
finish = hook.close
"""
OUR_HOOK = """
import sys
from stepwatch import TorchHook
hook = None
def attach(net, loss_of):
    global hook
    hook = TorchHook(net, run=sys.argv[1], format=sys.argv[2], say=lambda _: None, strict=True)
    hook.detach()
def listen(on):
    hook.attach() if on else hook.detach()
def settle():
    write_all(hook.recorder)
def finish():
    hook.close()
"""
READ_OLD_API = """
import json, sys, time
from smdebug.trials import create_trial
begin = time.perf_counter()
trial = create_trial(sys.argv[1])
names = trial.tensor_names()
opened = time.perf_counter()
count = 0
for name in names:
    tensor = trial.tensor(name)
    for step in tensor.steps():
        count += tensor.value(step) is not None
print(json.dumps([opened - begin, time.perf_counter() - begin, count]))
"""
READ_OURS = """
import json, sys, time
from stepwatch import Trial
begin = time.perf_counter()
trial = Trial(sys.argv[1])
names = trial.tensor_names()
opened = time.perf_counter()
count = sum(len(trial.tensor(name).values()) for name in names)
print(json.dumps([opened - begin, time.perf_counter() - begin, count]))
"""


class Child:
    """A process that trains on demand.

    Args:
        python: Its interpreter.
        script: What it runs.
        arguments: The folder to write to, and more.
    """

    def __init__(self, python: str, script: str, *arguments: str) -> None:
        command = [python, "-W", "ignore", "-c", script, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def train(self, steps: int) -> dict[str, float]:
        """Train so many steps of each way; return seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()


def environment() -> dict[str, str]:
    """Return an environment in which the real smdebug is quick and quiet."""
    quiet = {"SMDEBUG_LOG_LEVEL": "critical", "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0"}
    return {**os.environ, **quiet, "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="steps of each way in a round")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    real = os.environ.get("STEPWATCH_TREATY_PYTHON")
    if real is None:
        sys.exit("$STEPWATCH_TREATY_PYTHON names no Python with the real smdebug; run: make bench")
    with tempfile.TemporaryDirectory(prefix="stepwatch-bench-") as folder:
        compare_saving(real, Path(folder), arguments.steps, arguments.rounds)
        compare_reading(real, Path(folder), arguments.rounds)


def compare_saving(real: str, folder: Path, steps: int, rounds: int) -> None:
    """Train under each, round by round, and print what a step costs."""
    children = {
        "the real smdebug": Child(real, OLD_API + TRAIN, str(folder / "real")),
        "our smdebug": Child(sys.executable, OLD_API + TRAIN, str(folder / "compat")),
        "TorchHook, native": Child(sys.executable, OUR_HOOK + TRAIN, str(folder / "n"), "native"),
        "TorchHook, smdebug": Child(sys.executable, OUR_HOOK + TRAIN, str(folder / "s"), "smdebug"),
    }
    for child in children.values():
        child.train(steps // 4)  # not timed
    found: dict[str, list[dict[str, float]]] = {name: [] for name in children}
    names = list(children)
    for number in range(rounds):
        turn = number % len(names)  # so that none always follows the same
        for name in names[turn:] + names[:turn]:
            found[name].append(children[name].train(steps))
    for child in children.values():
        child.close()
    report_saving(found, steps)


def report_saving(found: dict[str, list[dict[str, float]]], steps: int) -> None:
    """Print ms a step: training alone, with the hook, and until all is on disk."""
    print("saving at every step; ms a step: without a hook, with it, and until all is written")
    costs = {}
    for name, rounds in found.items():
        ms = {
            key: statistics.median(one[key] for one in rounds) / steps * 1000
            for key in ("plain", "watched", "watched_settled")
        }
        costs[name] = (ms["watched"] - ms["plain"], ms["watched_settled"])
        print(
            f"  {name:20s} {ms['plain']:7.3f} {ms['watched']:7.3f} {ms['watched_settled']:7.3f}"
            f"   costs {costs[name][0]:7.3f}   {1000 / ms['watched_settled']:7.0f} steps/s"
        )
    theirs, ours = costs["the real smdebug"], costs["our smdebug"]
    print(f"  what saving costs training: x {theirs[0] / ours[0]:.1f} less (target {TARGET})")
    print(f"  steps/s, all written: x {theirs[1] / ours[1]:.1f} (target {TARGET})")
    native, smdebug = costs["TorchHook, native"][0], costs["TorchHook, smdebug"][0]
    print(f"  smdebug's format against the native one: x {smdebug / native:.2f} (target 1)")


def compare_reading(real: str, folder: Path, rounds: int) -> None:
    """Open one run with each and read all of its values; print the best of some rounds."""
    run = folder / "to-read"
    write_run(run)
    ways = {
        "the real smdebug": (real, READ_OLD_API),
        "our smdebug": (sys.executable, READ_OLD_API),
        "stepwatch.Trial": (sys.executable, READ_OURS),
    }
    found: dict[str, list[list[float]]] = {name: [] for name in ways}
    for _ in range(max(2, rounds // 2)):
        for name, (python, script) in ways.items():
            found[name].append(read(python, script, run))
    print(f"opening {READ_STEPS} steps x {READ_TENSORS} tensors, and reading all values; s")
    best = {name: min(rounds, key=lambda one: one[1]) for name, rounds in found.items()}
    theirs = best["the real smdebug"][1]
    for name, (opened, read_all, count) in best.items():
        ratio = f"x {theirs / read_all:.1f} faster (target {TARGET})"
        print(f"  {name:20s} {opened:7.3f} {read_all:7.3f}   {count:.0f} values   {ratio}")


def read(python: str, script: str, run: Path) -> list[Any]:
    """Return seconds to open and to read, and how many values."""
    command = [python, "-W", "ignore", "-c", script, str(run)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    found: list[Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def write_run(path: Path) -> None:
    """Write the run that is read: small full values, as of weights and gradients."""
    random = np.random.default_rng(0)
    arrays = {
        f"layer{number}.weight": random.normal(size=(8, 4)).astype(np.float32)
        for number in range(READ_TENSORS)
    }
    infos = [TensorInfo(name, "weights", "float32", (8, 4)) for name in arrays]
    layout = Layout(tuple(infos))
    rows = np.stack([summarize(array) for array in arrays.values()])
    manifest = Manifest("bench", time.time_ns(), run_format="smdebug")
    collections = [SavedCollection("weights", (r"\.weight$",))]
    writer = open_writer(
        RunTarget(open_store(path), "worker_0", manifest), Selection(lambda *_: RAW, collections)
    )
    for step in range(READ_STEPS):
        record = StepRecord(
            "worker_0", Mode.TRAIN, step, step, time.time_ns(), layout, rows, arrays
        )
        writer.write(record)
    writer.close(End("finished", time.time_ns()))


if __name__ == "__main__":
    main()
