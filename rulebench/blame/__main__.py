"""``python -m rulebench.blame``: a broken row in each of 20 batches, and which is told first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import click

from .planted import FIRST, STEPS, planted

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_SCRIPTS = {"torch": "torch", "transformers": "transformers", "lightning": "lightning",
            "keras": "keras"}  # fmt: skip
_LIMIT_S = 600


class Try(NamedTuple):
    """What was told of one step.

    Args:
        step: The TRAIN step.
        planted: The index of the row that was broken.
        first: The index of the row that was told first; ``None`` if none was.
        why: Why none was.
    """

    step: int
    planted: int
    first: int | None
    why: str = ""


def tries(framework: str, number: int, steps: range) -> Iterator[Try]:
    """Train once with a broken row in each of the last batches, and have each step taken apart.

    Args:
        framework: One of the scripts.
        number: The seed.
        steps: The TRAIN steps to be taken apart.
    """
    script = str(_HERE / f"train_{framework}.py")
    with tempfile.TemporaryDirectory(prefix="rulebench-blame-") as folder:
        _stepwatch(folder, "run", "--run", "run", "--snapshot", "every=1", "--black-box", "256",
                   "--rules", "none", "--quiet", script, str(number))  # fmt: skip
        for step in steps:
            done = _stepwatch(folder, "blame", "run", "--step", str(step), "--json", "--trust")
            row = planted(step, number)
            if done.returncode:
                yield Try(step, row, None, done.stderr.strip().splitlines()[-1])
            else:
                yield Try(step, row, json.loads(done.stdout)["rows"][0]["index"])


def _stepwatch(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "stepwatch", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=_LIMIT_S,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def cost_of_indices() -> str:
    """Return what it takes to keep the indices of a batch, beside the training step."""
    import numpy as np
    import torch

    from stepwatch import TorchHook
    from stepwatch.hooks.torch.replay.rows import DrawnRows

    spent = {"seconds": 0.0}

    def timed(name: str) -> None:
        original = getattr(DrawnRows, name)

        def call(*args: object) -> object:
            began = time.perf_counter()
            found = original(*args)
            if name == "last" and found is not None:
                np.array(found, np.int64)
            spent["seconds"] += time.perf_counter() - began
            return found

        setattr(DrawnRows, name, call)

    for name in ("ahead", "drawn", "last"):
        timed(name)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.randn(6400, 64), torch.randint(10, (6400,)))
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters())
    steps = 0
    with TorchHook(run="memory://rows", say=lambda _: None):
        began = time.perf_counter()
        for _ in range(6):
            for inputs, targets in torch.utils.data.DataLoader(data, 32, shuffle=True):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
                steps += 1
        seconds = time.perf_counter() - began
    return (
        f"indices of 32 rows: {spent['seconds'] / steps * 1e6:.1f} us of a step of "
        f"{seconds / steps * 1e3:.2f} ms ({spent['seconds'] / seconds:.2%})"
    )


@click.command()
@click.option("--framework", "frameworks", multiple=True, type=click.Choice(list(_SCRIPTS)),
              help="Only this one; several times.")  # fmt: skip
@click.option("--seed", default=0, show_default=True)
@click.option("--tries", "number", default=STEPS - FIRST, show_default=True,
              help="How many steps of each.")  # fmt: skip
def main(frameworks: tuple[str, ...], seed: int, number: int) -> None:
    """Count how often the row that was broken is told first."""
    print("| framework | tries | planted row first |\n| --- | --- | --- |", flush=True)
    for framework in frameworks or _SCRIPTS:
        if find_spec(_SCRIPTS[framework]) is None:
            print(f"skipped {framework}: it is not installed")
            continue
        found = []
        for one in tries(framework, seed, range(STEPS - number, STEPS)):
            found.append(one)
            if one.first != one.planted:
                what = f"{one.first} instead of {one.planted} {one.why}"
                click.echo(f"{framework}, step {one.step}: {what}", err=True)
        right = sum(one.first == one.planted for one in found)
        print(f"| {framework} | {len(found)} | {right} ({right / len(found):.0%}) |", flush=True)
    print(cost_of_indices())


if __name__ == "__main__":
    main()
