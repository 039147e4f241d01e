"""The files of one step as templates: made once, filled anew at every step.

Steps that store the same of the same tensors have the same bytes except for the wall time, the
step, the step within the mode and the contents, and these stand where they stood. One gather and
one scatter of NumPy put all of them in position, so that a step of hundreds of records costs
the interpreter, which training needs as well, some tens of microseconds.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stepwatch.formats.smdebug.layout import event_key
from stepwatch.model.record import StepRecord

from .selection import (
    DATA_TYPES,
    STEP_AT,
    WALL_TIME_AT,
    Content,
    Full,
    Number,
    StepShape,
    TensorSelection,
    record_head,
    record_tail,
    step_varint,
)

Positions = npt.NDArray[np.intp]
Bytes = npt.NDArray[np.uint8]


class StepTemplate:
    """Event file and index file of steps that store the same."""

    def __init__(self, choice: TensorSelection, shape: StepShape) -> None:
        self.choice = choice
        #: Of which tensors the full values are stored, in the order of their records.
        self.full_values = [entry.tag for entry in choice.entries if isinstance(entry, Full)]
        self._mode = shape.mode.value
        layer = _Layer(shape, len(choice.reductions))
        locations = [layer.add(entry) for entry in choice.entries]
        self._skeleton = np.frombuffer(b"".join(layer.pieces), np.uint8).copy()
        self._holes = layer.holes
        self._start_of = {tag: start for tag, start, _ in locations}
        self._size = layer.size
        self._groups, self._where, self._which = layer.scatter()
        self._index_body = _index_body(choice, locations)

    @property
    def has_events(self) -> bool:
        """Whether there is an event file; else shapes are all that is stored."""
        return bool(self.choice.entries)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored."""
        return not (self.choice.entries or self.choice.shapes)

    def event_file(
        self,
        record: StepRecord,
        numbers: npt.NDArray[np.float64],
        contents: Sequence[Content],
    ) -> bytes | memoryview:
        """Return the event file of a step, in memory of its own.

        ``numbers`` are its reductions, shape ``[tensors, reductions]``; ``contents`` the full
        values, in the order of their records.
        """
        start = struct.pack("<d", record.time_ns / 10**9)
        start += step_varint(record.step) + str(record.mode_step).encode()
        flat = numbers.ravel()
        with np.errstate(all="ignore"):  # beyond float32, or nan as a whole number
            parts = [flat[which].astype(dtype).view(np.uint8) for dtype, which in self._groups]
        source = np.concatenate([np.frombuffer(start, np.uint8), *parts])
        self._skeleton[self._where] = source[self._which]
        if not (self._holes or record.times_ns):
            return self._skeleton.tobytes()
        image = self._spliced(contents) if self._holes else self._skeleton.copy()
        for name, time_ns in record.times_ns.items():
            if name in self._start_of:
                at = self._start_of[name] + WALL_TIME_AT
                image[at : at + 8] = np.frombuffer(struct.pack("<d", time_ns / 10**9), np.uint8)
        return image.data

    def _spliced(self, contents: Sequence[Content]) -> Bytes:
        """Return the skeleton with the contents between; NumPy copies them without the GIL."""
        image: Bytes = np.empty(self._size, np.uint8)
        done = at = 0
        for hole, full in zip(self._holes, contents, strict=True):
            for piece in (self._skeleton[done:hole], full.data):
                image[at : at + len(piece)] = piece
                at += len(piece)
            done = hole
        image[at:] = self._skeleton[done:]
        return image

    def index_file(self, record: StepRecord) -> bytes:
        """Return the index file of a step."""
        meta = f'"mode": "{self._mode}", "mode_step": {record.mode_step}'
        if self.has_events:
            meta += f', "event_file_name": {json.dumps(event_key(record.step, record.worker))}'
        return b"".join((f'{{"meta": {{{meta}}}, '.encode(), self._index_body))


class _Layer:
    """Lays records one behind the other and notes where their parts come to lie."""

    def __init__(self, shape: StepShape, columns: int) -> None:
        self._shape = shape
        self._columns = columns
        self._tail, self._digits_at = record_tail(shape)
        self.pieces: list[bytes] = []
        self.holes: list[int] = []
        self.size = 0
        self._skeleton_size = 0
        self._starts: list[int] = []
        self._digits: list[int] = []
        # By dtype: which number, of all rows one behind the other, and where its bytes go.
        self._numbers: dict[np.dtype[np.generic], list[tuple[int, int]]] = {}

    def add(self, entry: Number | Full) -> tuple[str, int, int]:
        """Add a record; return its tag, its start in the file and its length."""
        if isinstance(entry, Number):
            full = Full(entry.tag, DATA_TYPES[entry.dtype], (), entry.dtype.itemsize)
        else:
            full = entry
        before = record_head(
            full.tag, full.data_type, full.shape, full.size_bytes,
            self._shape.step_bytes, len(self._tail),
        )  # fmt: skip
        self._starts.append(self._skeleton_size)
        self._append(before)
        if isinstance(entry, Number):
            number = entry.row * self._columns + entry.column
            self._numbers.setdefault(entry.dtype, []).append((number, self._skeleton_size))
            self._append(bytes(full.size_bytes))
        else:
            self.holes.append(self._skeleton_size)
        self._digits.append(self._skeleton_size + self._digits_at)
        self._append(self._tail)
        start, length = self.size, len(before) + full.size_bytes + len(self._tail)
        self.size += length
        return full.tag, start, length

    def _append(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self._skeleton_size += len(piece)

    def scatter(self) -> tuple[list[tuple[np.dtype[np.generic], Positions]], Positions, Positions]:
        """Return which numbers each dtype has, and where which byte of the source goes.

        The source is wall time, step, digits, then the numbers of each dtype.
        """
        starts, digits = np.array(self._starts, np.intp), np.array(self._digits, np.intp)
        runs = [
            (starts + WALL_TIME_AT, 8),
            (starts + STEP_AT, self._shape.step_bytes),
            (digits, self._shape.digits),
        ]
        where, which, at = [], [], 0
        for positions, width in runs:
            where.append((positions[:, None] + np.arange(width)).ravel())
            which.append(np.tile(np.arange(at, at + width), len(positions)))
            at += width
        groups = []
        for dtype, numbers in self._numbers.items():
            taken, positions = np.array(numbers, np.intp).T
            where.append((positions[:, None] + np.arange(dtype.itemsize)).ravel())
            which.append(np.arange(at, at + len(where[-1])))
            at += len(where[-1])
            groups.append((dtype, taken))
        return groups, np.concatenate(where), np.concatenate(which)


def _index_body(choice: TensorSelection, locations: Sequence[tuple[str, int, int]]) -> bytes:
    """Return the index file from behind its ``meta`` on."""
    tensors = [
        {"tensorname": tag, "start_idx": start, "length": length}
        for tag, start, length in locations
    ]
    shapes = [
        {"tensorname": name, "originalname": own_name, "shape": list(shape)}
        for name, own_name, shape in choice.shapes
    ]
    body = f'"tensor_payload": {json.dumps(tensors)}, "shape_payload": {json.dumps(shapes)}}}'
    return body.encode()
