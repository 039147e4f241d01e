"""Runs as smdebug writes them, made by the real runtime of protocol buffers: not by our writer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwatch.formats.smdebug.layout import END_KEY, collections_key, event_key, index_key
from stepwatch.formats.smdebug.wire import DTYPES, smdebug_frame
from stepwatch.store import Store
from stepwatch.store.local import LocalStore
from tests.support.formats.smdebug.event_messages import Event

Array = npt.NDArray[Any]
#: Numbers of dtypes; the first of those that are the same in numpy.
NUMBERS = {dtype: number for number, dtype in reversed(DTYPES.items())}
MODE_NUMBERS = {"TRAIN": 1, "EVAL": 2, "PREDICT": 3, "GLOBAL": 4}
WALL_TIME = 1_700_000_000.25


def event(
    name: str,
    value: Array,
    step: int,
    *,
    mode: str = "TRAIN",
    mode_step: int | None = None,
    wall_time: float = WALL_TIME,
) -> bytes:
    """Return a tensor as a payload."""
    message = Event(wall_time=wall_time, step=step)
    written = message.summary.value.add(tag=name)
    written.tensor.tensor_shape.SetInParent()
    for size in value.shape:
        written.tensor.tensor_shape.dim.add(size=size, name=f"{name}_{size}")
    if value.dtype.kind == "U":
        written.tensor.string_val.extend(text.encode() for text in value.ravel().tolist())
    else:
        written.tensor.dtype = NUMBERS[value.dtype]
        written.tensor.tensor_content = value.tobytes()
    add = written.metadata.plugin_data.add
    add(plugin_name="mode_step", content=str(step if mode_step is None else mode_step))
    add(plugin_name="mode", content=str(MODE_NUMBERS[mode]))
    return bytes(message.SerializeToString())


def put_step(
    store: Store,
    step: int,
    values: Mapping[str, Array] | Sequence[tuple[str, Array]],
    *,
    worker: str = "worker_0",
    mode: str = "TRAIN",
    mode_step: int | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    wall_time: float = WALL_TIME,
) -> None:
    """Save what a worker saw at a step: the events, then their index."""
    within = step if mode_step is None else mode_step
    pairs = values.items() if isinstance(values, Mapping) else values
    records = [
        (
            name,
            smdebug_frame(
                event(
                    name, np.asarray(value), step, mode=mode, mode_step=within, wall_time=wall_time
                )
            ),
        )
        for name, value in pairs
    ]
    meta: dict[str, object] = {"mode": mode, "mode_step": within}
    if records:
        meta["event_file_name"] = event_key(step, worker)
        store.put(event_key(step, worker), b"".join(record for _, record in records))
    start, payload = 0, []
    for name, record in records:
        payload.append({"tensorname": name, "start_idx": start, "length": len(record)})
        start += len(record)
    shape_payload = [
        {"tensorname": name, "originalname": f"graph/{name}", "shape": list(shape)}
        for name, shape in (shapes or {}).items()
    ]
    index = {"meta": meta, "tensor_payload": payload, "shape_payload": shape_payload}
    store.put(index_key(step, worker), json.dumps(index).encode())


def put_collections(
    store: Store,
    worker: str = "worker_0",
    *,
    num_workers: int = 1,
    collections: Mapping[str, Mapping[str, object]] | None = None,
) -> None:
    """Save the collections of a worker; by default one that holds everything."""
    every = {"default": {"name": "default", "include_regex": [".*"], "tensor_names": []}}
    named = every if collections is None else collections
    file = {"collections": named, "_meta": {"num_workers": num_workers}}
    store.put(collections_key(worker), json.dumps(file).encode())


def put_end(store: Store) -> None:
    """Save the mark that says that training ended."""
    store.put(END_KEY, b"")


class Watched(LocalStore):
    """A store that notes what is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: list[tuple[str, int | None]] = []

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        self.read.append((key, length))
        return super().get(key, start, length)
