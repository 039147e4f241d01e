"""How fast full values are written, beside how fast this machine takes bytes at all."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from models import Training

from stepwatch.formats.manifest import Manifest
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize
from stepwatch.store import open_store

STEPS, ROUNDS = 8, 7


@dataclass(frozen=True)
class WriteRate:
    """What was measured.

    Args:
        ours: Through ``NativeWriter``, as fast as it can, until the last file has its name;
            10⁹ bytes of values per second.
        plain: The same bytes to as many files by ``os.write``, likewise.
        size_mb: Bytes of values in each round, in 10⁶.
        fraction: Median over the rounds of ours by plain.
    """

    ours: float
    plain: float
    size_mb: float
    fraction: float


def write_rate(kind: str, folder: Path) -> WriteRate:
    """Write weights and gradients of some steps in turns: by us, and by the system alone.

    Nothing is forced to the disk by either; what is compared is the page cache.

    Args:
        kind: A key of ``models.KINDS``.
        folder: An empty one; what is written there is removed.
    """
    records = raw_steps(kind)
    size = sum(array.nbytes for record in records for array in record.raw.values())
    ours, plain = [], []
    for number in range(ROUNDS + 1):  # the first meets cold caches and is not counted
        run, copies = folder / f"run{number}", folder / f"plain{number}"
        ours.append(seconds_of_ours(run, records))
        files = [path.read_bytes() for path in run.rglob("*") if path.is_file()]
        shutil.rmtree(run)
        plain.append(seconds_of_plain(copies, files))
        shutil.rmtree(copies)
    ratios = [system / us for us, system in zip(ours[1:], plain[1:], strict=True)]
    mine, theirs = (size / statistics.median(seconds[1:]) / 1e9 for seconds in (ours, plain))
    return WriteRate(mine, theirs, size / 1e6, statistics.median(ratios))


def raw_steps(kind: str) -> list[StepRecord]:
    """Return steps with the full values of weights and gradients, as a hook hands them on."""
    training = Training(kind)
    training.step()
    arrays: dict[str, np.ndarray] = {}
    for name, parameter in training.model.named_parameters():
        arrays[name] = parameter.detach().numpy()
        if parameter.grad is not None:
            arrays[f"gradient/{name}"] = parameter.grad.numpy()
    infos = [TensorInfo(name, "weights", "float32", array.shape) for name, array in arrays.items()]
    layout, rows = Layout(tuple(infos)), np.stack([summarize(array) for array in arrays.values()])
    return [
        StepRecord(
            worker="worker_0",
            mode=Mode.TRAIN,
            step=step,
            mode_step=step,
            time_ns=time.time_ns(),
            layout=layout,
            statistics=rows,
            raw={name: array.copy() for name, array in arrays.items()},
        )
        for step in range(STEPS)
    ]


def seconds_of_ours(run: Path, records: list[StepRecord]) -> float:
    """Return how long the writer takes for all steps."""
    store = open_store(run)
    start_run(store, Manifest("bench", time.time_ns()))
    writer = NativeWriter(store, "worker_0")
    begin = time.perf_counter()
    for record in records:
        writer.write(record)
    writer.flush()
    return time.perf_counter() - begin


def seconds_of_plain(folder: Path, files: list[bytes]) -> float:
    """Return how long it takes to write these bytes to a file each, by nothing but the system."""
    folder.mkdir()
    begin = time.perf_counter()
    for number, data in enumerate(files):
        file = os.open(folder / str(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.close(file)
    return time.perf_counter() - begin
