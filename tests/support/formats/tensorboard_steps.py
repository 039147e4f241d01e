"""Steps to show in TensorBoard, and TensorBoard's own eyes on the files."""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

from stepwatch.formats.manifest import End
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS, summarize

BEGAN_NS = 1_700_000_000_250_000_000
END = End("finished", BEGAN_NS, 1)
KINDS = {
    "loss": "losses", "learning_rate": "learning_rates", "gradient": "gradients",
    "output": "outputs", "scalar": "scalars", "optimizer": "optimizer",
}  # fmt: skip


def step_of(
    arrays: Mapping[str, npt.NDArray[Any] | float],
    step: int = 0,
    *,
    mode: Mode = Mode.TRAIN,
    raw: bool = False,
    layout: Layout | None = None,
) -> StepRecord:
    """Return a step on which these arrays were seen, a second after the one before.

    The first part of a name says the kind of the tensor; others are weights.
    """
    values = {name: np.asarray(array) for name, array in arrays.items()}
    infos = (
        TensorInfo(
            name, KINDS.get(name.partition("/")[0], "weights"), array.dtype.name, array.shape
        )
        for name, array in values.items()
    )
    rows = [_row(array) for array in values.values()]
    return StepRecord(
        "worker_0", mode, step, step, BEGAN_NS + step * 10**9, layout or Layout(tuple(infos)),
        np.stack(rows), values if raw else {},
    )  # fmt: skip


def _row(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        return summarize(array)
    except TypeError:  # text and complex numbers have none
        return np.zeros(NUM_FIELDS)


def seen(folder: Path, run: str = "TRAIN") -> EventAccumulator:
    """Return what TensorBoard has read of a run, every point and histogram of it."""
    everything = {"scalars": 0, "histograms": 0, "tensors": 0}
    return EventAccumulator(os.fspath(folder / run), size_guidance=everything).Reload()


def curve(read: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    """Return steps and values of a curve."""
    return [(point.step, point.value) for point in read.Scalars(tag)]


def files(folder: Path, run: str = "TRAIN") -> list[Path]:
    """Return the files of a run, in the order in which TensorBoard reads them."""
    return sorted(path for path in (folder / run).iterdir() if path.is_file())


def events(path: Path) -> Iterator[Event]:
    """Yield the events of a file; TensorBoard tests the checksums."""
    yield from map(Event.FromString, RawEventFileLoader(os.fspath(path)).Load())


def histograms(path: Path) -> dict[str, Any]:
    """Return the histograms of a file by tag; of many under one tag the last."""
    return {
        value.tag: value.histo
        for event in events(path)
        for value in event.summary.value
        if value.HasField("histo")
    }


def slow_histogram(values: npt.NDArray[Any]) -> tuple[list[float], list[float]]:
    """Return upper limits and counts of the filled range, an empty bucket before: one by one."""
    positive = [1e-12]
    while positive[-1] * 1.1 < 1e20:
        positive.append(positive[-1] * 1.1)
    limits = [-limit for limit in reversed(positive)] + [0.0] + positive
    counts = [0] * (len(limits) - 1)
    for value in map(float, values.ravel()):
        counts[min(max(bisect.bisect_right(limits, value) - 1, 0), len(counts) - 1)] += 1
    filled = [bucket for bucket, count in enumerate(counts) if count]
    first, last = filled[0], filled[-1]
    return limits[first : last + 2], [0.0, *map(float, counts[first : last + 1])]
