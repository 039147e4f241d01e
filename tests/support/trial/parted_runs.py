"""Runs that are the same up to a point, written without a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute

from stepwatch import Trial
from stepwatch.diff.align import TwoRuns
from stepwatch.diff.divergence import Search
from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.interface import StepRange
from stepwatch.formats.manifest import End, Manifest
from stepwatch.formats.native.observations import text_codes, to_table
from stepwatch.formats.native.parts import PartMeta, Span, clustered_rows, write_part
from stepwatch.formats.native.writer import NativeWriter, start_run
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.statistics import NUM_FIELDS, summarize
from stepwatch.store import Store, open_store

KINDS = {
    "batch/0": "batches",
    "output/fc": "outputs",
    "loss/mse": "losses",
    "fc.weight": "weights",
    "gradient/fc.weight": "gradients",
    "learning_rate/0": "learning_rates",
    "loop/scheduler_steps": "loop",
}
STEPS = 40
#: What a step of a training made of numbers alone does to the values before it is recorded.
Change = Callable[[int, dict[str, np.ndarray]], None]


def unchanged(step: int, values: dict[str, np.ndarray]) -> None:
    """Leave everything as it is."""


def training(
    change: Change = unchanged, steps: int = STEPS, worker: str = "worker_0"
) -> Iterator[StepRecord]:
    """Yield the steps of a training in which each number follows from those before it.

    Args:
        change: Changes what the step starts from, by name: ``fc.weight``, ``batch/0`` and
            ``learning_rate/0``; what it puts in beside them is added to the output, loss or
            gradient of its name.
        steps: How many.
        worker: Who sees it.
    """
    weight = np.linspace(-1, 1, 12, dtype=np.float32)
    for step in range(steps):
        batch = np.random.default_rng(step).normal(size=12).astype(np.float32)
        values = {"fc.weight": weight, "batch/0": batch, "learning_rate/0": np.float64(0.1)}
        change(step, values)
        output = values["fc.weight"] * values["batch/0"] + values.get("output/fc", np.float32(0))
        loss = np.float32((output**2).mean()) + values.get("loss/mse", np.float32(0))
        gradient = output * values["batch/0"] / 12 * loss
        gradient = gradient + values.get("gradient/fc.weight", np.float32(0))
        rate = np.float32(values["learning_rate/0"])
        weight = values["fc.weight"] - rate * gradient
        of_step = {
            "batch/0": values["batch/0"],
            "output/fc": output,
            "loss/mse": loss,
            "fc.weight": values["fc.weight"],
            "gradient/fc.weight": gradient,
            "learning_rate/0": values["learning_rate/0"],
        }
        yield record(step, of_step, worker=worker)


def record(
    step: int,
    values: Mapping[str, np.ndarray],
    *,
    worker: str = "worker_0",
    mode: Mode = Mode.TRAIN,
    mode_step: int | None = None,
    digests: Iterable[str] = (),
) -> StepRecord:
    """Return a step with these values, and digests of some of them."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    tensors = tuple(
        TensorInfo(name, KINDS.get(name, "weights"), array.dtype.name, array.shape)
        for name, array in arrays.items()
    )
    rows = np.stack([summarize(array) for array in arrays.values()])
    made = StepRecord(
        worker, mode, step, step if mode_step is None else mode_step, 1, Layout(tensors), rows
    )
    return replace(made, digests={name: digest(arrays[name]) for name in digests})


def write(url: object, *streams: Iterable[StepRecord], format: str = "native") -> str:
    """Write a run that has ended, of one worker for each stream, and return its URL."""
    store = open_store(str(url))
    manifest = Manifest("made", 1, ("train.py",), run_format=format, num_workers=len(streams))
    if format == "native":
        start_run(store, manifest)
    for rank, records in enumerate(streams):
        worker = f"worker_{rank}"
        native = format == "native"
        writer = (
            NativeWriter(store, worker)
            if native
            else open_writer(RunTarget(store, worker, manifest))
        )
        for one in records:
            writer.write(one)
        writer.close(End("finished", 2))
    return store.url


def search(here: object, there: object, ignore: Iterable[str] = ()) -> Search:
    """Return what finds where two runs part."""
    return Search(TwoRuns(Trial(str(here)), Trial(str(there)), tuple(ignore)))


def write_long_run(store: Store, steps: int, parts: int, parted_at: int) -> None:
    """Write a merged run of 54 tensors whose numbers are others from a step on.

    All parts hold the same numbers, but for those from ``parted_at`` on: to make them costs more
    than to write them.
    """
    start_run(store, Manifest("long", 1))
    each = steps // parts
    same, other = (_clustered(each, seed) for seed in (0, 1))
    for first in range(0, steps, each):
        span = Span("worker_0", first, first + each - 1)
        meta = PartMeta(first - 1, (StepRange(Mode.TRAIN, first, each, 1, first, 1),))
        own = same if parted_at > span.last else other
        if span.first < parted_at <= span.last:
            late = same.column("step").to_numpy() + first >= parted_at
            columns = [
                pa.compute.if_else(pa.array(late), other.column(name), same.column(name))
                if pa.types.is_float64(same.schema.field(name).type)
                else same.column(name)
                for name in same.column_names
            ]
            own = pa.table(columns, schema=same.schema)
        write_part(store, span, clustered_rows(_shifted(own, first)), meta)
    store.put("end/worker_0.json", End("finished", 2, steps).to_json())


def parts_of(store: Store) -> dict[str, int]:
    """Return the sizes of the parts of a run, by key."""
    return {key: store.size(key) for key in store.list("observations/")}


def _clustered(steps: int, seed: int) -> pa.Table:
    """Return rows of steps from 0 on, by tensor and then by step, as in a part that was merged."""
    kinds = ("weights", "gradients", "outputs")
    tensors = [(f"{kind}/{place}", kind) for kind in kinds for place in range(18)]
    layout = Layout(tuple(TensorInfo(name, kind, "float32", (64, 64)) for name, kind in tensors))
    numbers = np.random.default_rng(seed).random((steps, len(tensors), NUM_FIELDS))
    numbers[..., :5] = [4096, 0, 0, 0, 0]
    numbers[..., 5:7] = numbers[..., 5:7].astype(np.float32)
    records = [
        StepRecord("worker_0", Mode.TRAIN, step, step, step, layout, numbers[step])
        for step in range(steps)
    ]
    table = to_table(records, [None] * steps)
    names = text_codes(table.column("tensor"))
    rank = np.argsort(np.argsort(names.values))[names.codes]
    return table.take(pa.array(np.lexsort((table.column("step").to_numpy(), rank))))


def _shifted(table: pa.Table, first: int) -> pa.Table:
    for name in ("step", "mode_step"):
        place = table.column_names.index(name)
        column = pa.array(table.column(name).to_numpy() + first)
        table = table.set_column(place, table.schema.field(name), column)
    return table
