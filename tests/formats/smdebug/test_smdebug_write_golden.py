"""What smdebug 1.0.34 wrote, written again by us from its values, has the same bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepwatch.formats.smdebug.collections import RAW, Stored
from stepwatch.formats.smdebug.layout import event_key, index_key, parse_step_key
from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS
from stepwatch.store import Store, open_store
from stepwatch_smdebug.format.writer import SmdebugWriter
from tests.support.formats.smdebug.smdebug_steps import GOLDEN, index, step_of, tensors

RUNS = (
    "dtypes",
    "many_index_dirs",
    "modes_interleaved",
    "mw_partial_running",
    "pt_ddp_all",
    "pt_modes_saveall",
    "pt_reductions_shapes",
    "pt_tensorboard",
    "tf2_keras_fit_eager",
    "xgb_saveall",
)
#: The one tensor that we do not store as a value: it has no elements, and smdebug's own reader
#: fails on it. Its shape is in the index instead.
EMPTY = {"dtypes": "empty"}
WALL_TIME = slice(13, 21)


def values_of(store: Store, key: str) -> StepRecord:
    """Return the step that an index file is of, with every tensor of its event file as a value."""
    step, worker = parse_step_key(key)
    there = index(store, key)
    event_file = there["meta"].get("event_file_name")
    record = step_of(
        tensors(store, event_file) if event_file else {},
        step,
        mode=Mode(there["meta"]["mode"]),
        mode_step=there["meta"]["mode_step"],
        worker=worker,
    )
    names = {info.name for info in record.layout.tensors}
    shapes = tuple(
        TensorInfo(one["tensorname"], "weights", "float32", tuple(one["shape"]))
        for one in there["shape_payload"]
        if one["tensorname"] not in names
    )
    rows = np.concatenate([record.statistics, np.zeros((len(shapes), NUM_FIELDS))])
    return replace(record, layout=Layout(record.layout.tensors + shapes), statistics=rows)


def written_again(store: Store, key: str, url: str) -> Store:
    """Return a store to which we wrote the step of an index file."""
    record = values_of(store, key)
    again = open_store(url)
    writer = SmdebugWriter(
        again,
        record.worker,
        stored_at=lambda name, *_: RAW if name in record.raw else Stored(shape=True),
    )
    writer.write(record)
    writer.flush()
    return again


def comparable(store: Store, step: int, worker: str) -> dict[str, bytes]:
    """Return the records of a step by name, their wall times made equal."""
    entries = index(store, index_key(step, worker))["tensor_payload"]
    data = store.get(event_key(step, worker)) if entries else b""
    found = {}
    for entry in entries:
        record = bytearray(data[entry["start_idx"] : entry["start_idx"] + entry["length"]])
        record[WALL_TIME] = bytes(8)
        found[entry["tensorname"]] = bytes(record)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_records_have_the_bytes_of_smdebug(run, tmp_path):
    """Every record is the one that smdebug wrote, to the byte, but for the wall time."""
    golden = open_store(GOLDEN / run)
    for number, key in enumerate(golden.list("index/")):
        step, worker = parse_step_key(key)
        again = written_again(golden, key, f"{tmp_path}/{number}")
        expected = comparable(golden, step, worker)
        expected.pop(EMPTY.get(run), None)

        assert expected == comparable(again, step, worker)


@pytest.mark.parametrize("run", [run for run in RUNS if run not in EMPTY])
def test_index_files_have_the_bytes_of_smdebug(run, tmp_path):
    """Every index file is the one that smdebug wrote, to the byte."""
    golden = open_store(GOLDEN / run)
    for number, key in enumerate(golden.list("index/")):
        again = written_again(golden, key, f"{tmp_path}/{number}")

        assert golden.get(key) == again.get(index_key(*parse_step_key(key)))
