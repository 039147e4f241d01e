"""Steps to write in smdebug's format, and what lies in its files, read by other means than ours."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name
import numpy as np
import numpy.typing as npt

from stepwatch.model.record import Layout, StepRecord, TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import NUM_FIELDS, summarize
from stepwatch.store import Store
from tests.support import ROOT
from tests.support.formats.smdebug.event_messages import Event

GOLDEN = ROOT / "tests" / "golden" / "runs"
NUMPY = {
    1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8,
    8: np.complex64, 9: np.int64, 10: np.bool_, 17: np.uint16, 18: np.complex128,
    19: np.float16, 22: np.uint32, 23: np.uint64,
}  # fmt: skip


def step_of(
    arrays: Mapping[str, npt.NDArray[Any]],
    step: int = 0,
    *,
    mode: Mode = Mode.TRAIN,
    mode_step: int | None = None,
    time_ns: int = 1_700_000_000_250_000_000,
    worker: str = "worker_0",
    raw: bool = True,
) -> StepRecord:
    """Return a step on which these arrays were seen; of texts and complex numbers, no numbers."""
    layout = Layout(
        tuple(
            TensorInfo(name, kind_of(name), str(array.dtype), array.shape)
            for name, array in arrays.items()
        )
    )
    rows = [_row(array) for array in arrays.values()]
    return StepRecord(
        worker, mode, step, step if mode_step is None else mode_step, time_ns, layout,
        np.stack(rows) if rows else np.empty((0, NUM_FIELDS)), dict(arrays) if raw else {},
    )  # fmt: skip


def kind_of(name: str) -> str:
    """Return the built-in collection of a tensor of this name."""
    kinds = {"gradient": "gradients", "loss": "losses"}
    return kinds.get(name.partition("/")[0], "weights")


def _row(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    try:
        return summarize(array)
    except TypeError:
        row = np.full(NUM_FIELDS, np.nan)
        row[0] = array.size
        return row


def payloads(data: bytes) -> list[bytes]:
    """Return the payloads of the records of an event file."""
    found, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 12 : at + 12 + length])
        at += 16 + length
    return found


def events(store: Store, key: str) -> list[Any]:
    """Return the messages of an event file, as the real runtime reads them."""
    return [Event.FromString(payload) for payload in payloads(store.get(key))]


def tensors(store: Store, key: str) -> dict[str, npt.NDArray[Any]]:
    """Return the tensors of an event file, by name, in order."""
    return {
        event.summary.value[0].tag: array_of(event.summary.value[0].tensor)
        for event in events(store, key)
    }


def array_of(tensor: Any) -> npt.NDArray[Any]:
    """Return the value of a tensor message."""
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == 0:
        return np.array([text.decode() for text in tensor.string_val]).reshape(shape)
    return np.frombuffer(tensor.tensor_content, NUMPY[tensor.dtype]).reshape(shape)


def index(store: Store, key: str) -> dict[str, Any]:
    """Return an index file."""
    found: dict[str, Any] = json.loads(store.get(key))
    return found
