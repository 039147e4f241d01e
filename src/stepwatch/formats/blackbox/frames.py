"""What a frame holds: a kind, facts as JSON, and arrays.

The payload is the length of the JSON (32 bits, little-endian), the JSON, and one safetensors file.

============ ======================================================================================
Kind         What it says
============ ======================================================================================
``begin``    A model begins to run in a TRAIN step: what it was given, where random numbers stand.
``loss``     What a loss was given beside what the model computed: targets.
``snapshot`` Weights, buffers and the optimizers' state, from before the optimizers' step.
``merge``    What was told of the step belongs ``into`` the one before: two optimizers step in it.
``layout``   The tensors of the steps that follow; their ``layout`` is its number.
``step``     A step that is over: its statistics, and full values as far as there was room.
``trigger``  Why the ring was copied to where it stays.
============ ======================================================================================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import CorruptRun
from ...record import Layout, StepRecord, TensorInfo
from ...statistics import NUM_FIELDS
from ...steps import Mode
from ...store import BytesLike, Store
from ..native.blobs import BlobFile, encode_parts
from .place import rings_and_dumps
from .ring import Whole

Array = npt.NDArray[np.generic]
BEGIN, LOSS, SNAPSHOT, MERGE, LAYOUT, STEP, TRIGGER = (
    "begin",
    "loss",
    "snapshot",
    "merge",
    "layout",
    "step",
    "trigger",
)
_LENGTH = struct.Struct("<I")
STATISTICS, RAW = "statistics", "raw/"


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One frame.

    Args:
        kind: What it says; see the module.
        worker: Who wrote it, such as ``worker_0``.
        meta: Facts; ``mode`` and ``mode_step`` say to which step it belongs, ``step`` is the
            global step, foretold where the step was not over, and ``time_ns`` when it was written.
        arrays: Values, by name.
        sequence: The number of the frame among those of its worker.
    """

    kind: str
    worker: str
    meta: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict)
    sequence: int = 0

    @property
    def mode_step(self) -> int:
        """The step within its mode."""
        return int(self.meta.get("mode_step", -1))


def encode_frame(
    kind: str, meta: Mapping[str, object], arrays: Mapping[str, Array]
) -> list[BytesLike]:
    """Return the payload of a frame, in pieces.

    Raises:
        TypeError: An array of a dtype that cannot be stored, or facts that are no JSON.
    """
    text = json.dumps({"kind": kind, **meta}).encode()
    return [_LENGTH.pack(len(text)), text, *(encode_parts(arrays) if arrays else ())]


def decode_frame(worker: str, whole: Whole) -> Frame:
    """Return the frame that has this payload.

    Raises:
        CorruptRun: It is none that ``encode_frame`` made.
    """
    payload, key = whole.payload, f"frame {whole.sequence} of {worker}"
    try:
        (length,) = _LENGTH.unpack_from(payload)
        start = _LENGTH.size + length
        meta = dict(json.loads(bytes(payload[_LENGTH.size : start])))
        kind = str(meta.pop("kind"))
    except (struct.error, ValueError, TypeError, KeyError) as error:
        raise CorruptRun(key, 0, f"no frame ({error!r})") from None
    blobs = payload[start:]
    arrays = {}
    if blobs:
        file = BlobFile(key, lambda first, size: bytes(blobs[first : first + size]))
        arrays = {name: file.get(name) for name in file.names}
    return Frame(kind, worker, meta, arrays, whole.sequence)


def read_frames(store: Store, worker: str | None = None) -> list[Frame]:
    """Return the frames of a run's rings and dumps, each once, in order for each worker.

    Args:
        store: Where the run lies; it may still be written.
        worker: Only this one's.
    """
    found: dict[tuple[str, int], Whole] = {}
    for who, wholes in rings_and_dumps(store):
        if worker in (None, who):
            found |= {(who, whole.sequence): whole for whole in wholes}
    return _with_steps([decode_frame(who, found[who, number]) for who, number in sorted(found)])


def _with_steps(frames: list[Frame]) -> list[Frame]:
    """Return the frames with the global steps that were foretold as those that they became."""
    became = {_place(frame): frame.meta["step"] for frame in frames if frame.kind == STEP}
    return [
        replace(frame, meta={**frame.meta, "step": became[_place(frame)]})
        if frame.kind != STEP and _place(frame) in became
        else frame
        for frame in frames
    ]


def _place(frame: Frame) -> tuple[str, object, int]:
    return frame.worker, frame.meta.get("mode"), frame.mode_step


def layout_meta(number: int, layout: Layout) -> dict[str, object]:
    """Return the facts of a ``layout`` frame."""
    names = [one.name for one in fields(TensorInfo)]
    tensors = [[getattr(tensor, name) for name in names] for tensor in layout.tensors]
    return {"layout": number, "fields": names, "tensors": tensors}


def step_records(frames: Iterable[Frame]) -> list[StepRecord]:
    """Return the steps that are over, as they were recorded; those of which all is known."""
    frames = list(frames)
    layouts = {
        (frame.worker, frame.meta["layout"]): _layout(frame.meta)
        for frame in frames
        if frame.kind == LAYOUT
    }
    return [
        _record(frame, layout)
        for frame in frames
        if frame.kind == STEP
        and (layout := layouts.get((frame.worker, frame.meta["layout"]))) is not None
        and frame.arrays[STATISTICS].shape == (len(layout), NUM_FIELDS)
    ]


def _layout(meta: Mapping[str, Any]) -> Layout:
    values = ([tuple(v) if isinstance(v, list) else v for v in row] for row in meta["tensors"])
    return Layout(
        tuple(TensorInfo(**dict(zip(meta["fields"], row, strict=True))) for row in values)
    )


def _record(frame: Frame, layout: Layout) -> StepRecord:
    meta = frame.meta
    return StepRecord(
        worker=frame.worker,
        mode=Mode(meta["mode"]),
        step=int(meta["step"]),
        mode_step=frame.mode_step,
        time_ns=int(meta["time_ns"]),
        layout=layout,
        statistics=np.asarray(frame.arrays[STATISTICS], np.float64),
        raw={
            name[len(RAW) :]: array for name, array in frame.arrays.items() if name.startswith(RAW)
        },
    )
