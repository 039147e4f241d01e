"""The black box: the last moments of a training, in a file that outlives its process.

The file is a ring of frames, mapped into memory: what was copied into the map belongs to the
kernel, and outlives the process however that dies. A frame carries its length, its sequence number
and a checksum over all of it, so nothing else has to be right for it to be read: a reader looks
for whole frames, wherever they lie, and sorts them. A writer that is killed at any byte therefore
loses the frame that it was writing, and of the oldest those that it was overwriting.

The ring of a run in a folder lies in that folder. That of a run elsewhere lies in the system's
folder for temporary files, because only a local file can be mapped; a note in the run says where.

The payload of a frame is the length of a JSON object (32 bits, little-endian), the JSON with its
kind and facts, and one safetensors file with its arrays.

============ ======================================================================================
Kind         What it says
============ ======================================================================================
``begin``    A model begins to run in a TRAIN step: its batch, and the states of random generators.
``loss``     What a loss was given beside what the model computed: targets.
``snapshot`` Weights, buffers and the optimizers' state, from before the optimizers' step.
``merge``    The frames of the step belong ``into`` the one before: two optimizers step in it.
``layout``   The tensors of the steps that follow; their ``layout`` is its number.
``step``     A step that is over: its statistics, digests and exponents, and full values as far as
             there was room.
``steps``    Several steps that are over, of each of which a few numbers are all that was captured.
``trigger``  Why the ring was copied to a dump.
``message``  What the training process has its companion do.
============ ======================================================================================
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import CorruptRun, StepwatchError
from ..model.json_text import parse_json
from ..model.record import Layout, ScalarSteps, StepRecord, TensorInfo
from ..model.steps import Mode
from ..numerics.digest import crc32c_of_array
from ..numerics.elements import kernel
from ..numerics.statistics import NUM_FIELDS, statistics_of_numbers
from ..store import BytesLike, Store, open_store, scheme_of
from ..store.local import local_path, make_private_folder, private_opener
from .native.blobs import BlobFile, encode_parts

MAGIC = b"STEPWBB1"
_HEADER = struct.Struct("<8sQ")  # magic; how many bytes follow this header
# Marker, bytes of payload, sequence number, checksum of these two numbers and of the payload.
_FRAME = struct.Struct("<8sQQI")
_NUMBERS = struct.Struct("<QQ")
_MARKER = b"\xf5frame"
# What follows says how it is checked: by CRC-32C, for which processors have an instruction, or by
# CRC-32, which is fast without our kernel.
_CRC32C, _CRC32 = b"C\n", b"\r\n"
_CHECKSUMS: dict[bytes, Callable[..., int]] = {_CRC32C: crc32c_of_array, _CRC32: zlib.crc32}
_KIND = _CRC32 if kernel is None else _CRC32C
_checksum_of_bytes: Callable[[bytes], int] = zlib.crc32 if kernel is None else kernel.crc32c
FRAME_BYTES = _FRAME.size
_SMALL_BYTES = 64 << 10


class Ring:
    """A ring file, made anew, that is written to by one process and one thread.

    The space is allocated at once: a full disk is an error here, and never a signal in the middle
    of a training.

    Args:
        path: The file; its folder is made if there is none.
        size_bytes: How large the file is, at least 4096.

    Raises:
        OSError: There is no space, no permission or no such path.
    """

    def __init__(self, path: Path, size_bytes: int) -> None:
        make_private_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        file = private_opener(str(path), flags)
        try:
            _allocate(file, max(size_bytes, mmap.PAGESIZE))
            self._map = mmap.mmap(file, max(size_bytes, mmap.PAGESIZE))
        except BaseException:
            path.unlink()
            raise
        finally:
            os.close(file)
        self.path = path
        # A view: numpy lets other threads run while it copies into it.
        self._bytes = np.frombuffer(self._map, np.uint8)[_HEADER.size :]
        self._small = memoryview(self._bytes)  # type: ignore[arg-type]  # and that does not
        self.capacity = len(self._bytes)
        #: How many bytes of frames were written, those that are gone included.
        self.written = 0
        self._sequence = 0
        self._map[: _HEADER.size] = _HEADER.pack(MAGIC, self.capacity)

    def write(self, parts: Sequence[BytesLike]) -> bool:
        """Append a frame, over the oldest ones.

        Args:
            parts: Its payload, in pieces.

        Returns:
            Whether it was: one that is larger than the ring is not.
        """
        length = sum(map(len, parts))
        if FRAME_BYTES + length > self.capacity:
            return False
        numbers = _NUMBERS.pack(length, self._sequence)
        if length <= _SMALL_BYTES:  # a call for each piece would take longer than to join them
            body = b"".join(parts)
            crc = _checksum_of_bytes(numbers + body)
            pieces: list[BytesLike] = [self._head(length, crc) + body]
        else:
            checksum = _CHECKSUMS[_KIND]
            crc = checksum(np.frombuffer(numbers, np.uint8))
            for part in parts:
                crc = checksum(np.frombuffer(part, np.uint8), crc) if len(part) else crc
            pieces = [self._head(length, crc), *filter(len, parts)]
        start = self.written
        for piece in pieces:
            self._copy(piece, start % self.capacity)
            start += len(piece)
        self.written = start
        self._sequence += 1
        return True

    def _head(self, length: int, crc: int) -> bytes:
        return _FRAME.pack(_MARKER + _KIND, length, self._sequence, crc)

    def room_after(self, start: int) -> int:
        """Return how many more bytes can be written before those at ``start`` are written over.

        Args:
            start: What ``written`` was when they were.
        """
        return self.capacity - (self.written - start)

    def content(self) -> memoryview:
        """Return a copy of all that is held, the oldest first."""
        start = self.written % self.capacity
        if self.written <= self.capacity:
            return self._bytes[: self.written].copy().data
        return np.concatenate([self._bytes[start:], self._bytes[:start]]).data

    def _copy(self, piece: BytesLike, start: int) -> None:
        first = self.capacity - start
        if len(piece) > first:
            whole = np.frombuffer(piece, np.uint8)
            self._bytes[start:] = whole[:first]
            self._bytes[: len(piece) - first] = whole[first:]
        elif len(piece) <= _SMALL_BYTES:
            # To let another thread run for so little means to wait until it is done.
            self._small[start : start + len(piece)] = piece
        else:
            self._bytes[start : start + len(piece)] = np.frombuffer(piece, np.uint8)


def ring_bytes(file: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the frames of a ring file, without its header."""
    return file[_HEADER.size :]


def frame_bytes(head: npt.NDArray[np.uint8]) -> int:
    """Return how large a frame is, from its first ``FRAME_BYTES`` bytes."""
    length: int = _FRAME.unpack(head.tobytes())[1]
    return FRAME_BYTES + length


def _allocate(file: int, size_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size_bytes)
        return
    zeros = bytes(1 << 20)
    while size_bytes > 0:
        size_bytes -= os.write(file, zeros[:size_bytes])


class CompleteFrame(NamedTuple):
    """A frame that is whole: where it lies, its sequence number and its payload."""

    start: int
    end: int
    sequence: int
    payload: memoryview


def complete_frames_in_ring(data: bytes) -> list[CompleteFrame]:
    """Return every whole frame of a ring file, or of what is left of one, in no order.

    Args:
        data: The file; it may have been written to while it was read.
    """
    found = list(complete_frames(data, _HEADER.size))
    first, last = (found[0].start, found[-1].end) if found else (len(data), _HEADER.size)
    # One may go on at the beginning: it lies after the last of the others and before the first.
    return found + list(complete_frames(data[last:] + data[_HEADER.size : first]))


def complete_frames(data: bytes, start: int = 0) -> Iterator[CompleteFrame]:
    """Yield every whole frame from ``start`` on, as they lie."""
    everything = np.frombuffer(data, np.uint8)
    start = data.find(_MARKER, start)
    while 0 <= start <= len(data) - FRAME_BYTES:
        marker, length, sequence, crc = _FRAME.unpack_from(data, start)
        end = start + FRAME_BYTES + length
        payload = everything[start + FRAME_BYTES : end]
        checksum = _CHECKSUMS.get(marker[len(_MARKER) :])
        is_whole = (
            checksum is not None
            and len(payload) == length
            and checksum(payload, checksum(_numbers(length, sequence))) == crc
        )
        if is_whole:
            yield CompleteFrame(start, end, sequence, payload.data)
        start = data.find(_MARKER, end if is_whole else start + 1)


def _numbers(length: int, sequence: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(_NUMBERS.pack(length, sequence), np.uint8)


BLACKBOX_FOLDER = "blackbox/"
_RING, _DUMPS, _NOTE = ".ring", ".frames", ".json"


def dumps_prefix(worker: str) -> str:
    """Return what the keys of a worker's dumps begin with."""
    return f"{BLACKBOX_FOLDER}{worker}/"


def dump_key(worker: str, step: int, reason: str) -> str:
    """Return the key of a dump.

    Example:
        >>> dump_key("worker_0", 17, "non-finite loss")
        'blackbox/worker_0/17-non-finite-loss.frames'
    """
    slug = "".join(letter if letter.isalnum() or letter in "_-" else "-" for letter in reason)
    return f"{dumps_prefix(worker)}{step}-{slug}{_DUMPS}"


def open_ring(store: Store, worker: str, size_bytes: int) -> Ring:
    """Make the ring of a worker.

    Raises:
        OSError: There is no space or no permission for it.
    """
    return Ring(ring_path(store, worker), size_bytes)


def ring_path(store: Store, worker: str) -> Path:
    """Return where the ring of a worker is to lie; if not in the run, a note there says where."""
    if scheme_of(store.url) == "file":
        return Path(local_path(store.url)) / f"{BLACKBOX_FOLDER}{worker}{_RING}"
    path = Path(tempfile.mkdtemp(prefix="stepwatch-")) / f"{worker}{_RING}"
    note = {"host": socket.gethostname(), "path": str(path)}
    store.put(f"{BLACKBOX_FOLDER}{worker}{_NOTE}", json.dumps(note).encode())
    return path


def remove_ring(store: Store, worker: str, path: Path) -> None:
    """Remove a ring, and what said where it was."""
    path.unlink(missing_ok=True)
    if scheme_of(store.url) != "file":
        store.delete(f"{BLACKBOX_FOLDER}{worker}{_NOTE}")
    with suppress(OSError):  # dumps lie in it, or other rings
        path.parent.rmdir()


def is_ring(key: str) -> bool:
    """Return whether a key is that of a ring, or of the note that says where it is."""
    return key.startswith(BLACKBOX_FOLDER) and not key.endswith(_DUMPS)


def dump_keys(store: Store) -> list[str]:
    """Return the keys of the dumps of a run."""
    return [key for key in store.list(BLACKBOX_FOLDER) if key.endswith(_DUMPS)]


def rings_and_dumps(store: Store) -> Iterator[tuple[str, list[CompleteFrame]]]:
    """Yield the frames of each dump and each ring of a run, with the name of the worker."""
    for key in store.list(BLACKBOX_FOLDER):
        worker = key[len(BLACKBOX_FOLDER) :].partition("/")[0].partition(".")[0]
        with suppress(FileNotFoundError):  # the run has just ended, and needs it no more
            if key.endswith(_DUMPS):
                yield worker, list(complete_frames(store.get(key)))
            elif key.endswith(_RING):
                yield worker, complete_frames_in_ring(store.get(key))
            elif key.endswith(_NOTE):
                yield worker, complete_frames_in_ring(_ring_elsewhere(store.get(key)))


def _ring_elsewhere(note: bytes) -> bytes:
    """Return the ring that a note names; nothing if it is not on this machine."""
    try:
        noted = parse_json(note)
        folder, name = os.path.split(noted["path"])
        is_here = noted["host"] == socket.gethostname() and name.endswith(_RING)
        # as a store reads it, which opens nothing but a file
        return open_store(folder).get(name) if is_here else b""
    except (OSError, ValueError, KeyError, TypeError, StepwatchError):
        return b""


Array = npt.NDArray[np.generic]
(
    BEGIN_FRAME,
    LOSS_FRAME,
    SNAPSHOT_FRAME,
    MERGE_FRAME,
    LAYOUT_FRAME,
    STEP_FRAME,
    STEPS_FRAME,
    TRIGGER_FRAME,
    MESSAGE_FRAME,
) = (
    "begin",
    "loss",
    "snapshot",
    "merge",
    "layout",
    "step",
    "steps",
    "trigger",
    "message",
)
_LENGTH = struct.Struct("<I")
_to_json = json.JSONEncoder().encode
#: What the first ``begin`` frame of a step says of the optimizers' options, by number of the
#: parameter group, in a run with snapshots.
OPTIONS = "options"
#: The array of a ``begin`` frame with the rows of the data set that were drawn last before it.
DATA_ROWS = "rows"
STATISTICS_ARRAY, RAW_PREFIX, EXPONENTS_PREFIX = "statistics", "raw/", "exponents/"
_NUMBERS_ARRAY, _VALUES_ARRAY = "numbers", "values"


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One frame.

    Args:
        kind: What it says; see the module.
        worker: Who wrote it, such as ``worker_0``.
        meta: Facts; ``mode`` and ``mode_step`` say to which step it belongs, ``step`` is the
            global step, announced where the step was not over, and ``time_ns`` when it was written.
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
    text = _to_json({"kind": kind, **meta}).encode()
    return [_LENGTH.pack(len(text)), text, *(encode_parts(arrays) if arrays else ())]


def encode_step(
    record: StepRecord, layout: int, left_out: int, raw: Mapping[str, Array], elsewhere: str = ""
) -> list[BytesLike]:
    """Return the payload of a ``step`` frame, in pieces, as ``encode_frame`` would.

    Every step pays for it, so what is the same in most of them is not encoded anew.

    Args:
        record: The step.
        layout: The number of its layout.
        left_out: How many frames are missing.
        raw: The full values that are kept.
        elsewhere: The name of the file that holds the others, if one does.
    """
    text = (
        f'{{"kind": "{STEP_FRAME}", "mode": "{record.mode.value}", "mode_step": {record.mode_step},'
        f' "step": {record.step}, "time_ns": {record.time_ns}, "layout": {layout},'
        f' "left_out": {left_out}'
    )
    if record.digests:
        text += f', "digests": {json.dumps(dict(record.digests))}'
    if elsewhere:
        text += f', "elsewhere": {json.dumps(elsewhere)}'
    facts = f"{text}}}".encode()
    head: list[BytesLike] = [_LENGTH.pack(len(facts)), facts]
    if not raw and not record.exponents:
        return [*head, _head_of_statistics(len(record.layout)), record.statistics.tobytes()]
    arrays: dict[str, Array] = {STATISTICS_ARRAY: record.statistics}
    arrays.update((EXPONENTS_PREFIX + name, counts) for name, counts in record.exponents.items())
    arrays.update((RAW_PREFIX + name, array) for name, array in raw.items())
    return [*head, *encode_parts(arrays)]


def encode_scalars(steps: ScalarSteps, layout: int, left_out: int) -> list[BytesLike]:
    """Return the payload of a ``steps`` frame, in pieces.

    Args:
        steps: The steps.
        layout: The number of their layout.
        left_out: How many frames are missing.
    """
    facts = {"mode": steps.mode.value, "layout": layout, "left_out": left_out}
    arrays = {_NUMBERS_ARRAY: steps.numbers, _VALUES_ARRAY: steps.values}
    return encode_frame(STEPS_FRAME, facts, arrays)


@lru_cache(maxsize=64)
def _head_of_statistics(rows: int) -> bytes:
    """Return all but the numbers of a file with the statistics of so many tensors alone."""
    length, header, _ = encode_parts({STATISTICS_ARRAY: np.empty((rows, NUM_FIELDS))})
    return bytes(length) + bytes(header)


def is_of_kind(payload: memoryview, kind: str) -> bool:
    """Return whether a payload is that of a frame of a kind, without decoding it."""
    start = f'{{"kind": "{kind}"'.encode()
    return payload[_LENGTH.size : _LENGTH.size + len(start)] == start


def decode_frame(worker: str, whole: CompleteFrame) -> Frame:
    """Return the frame that has this payload.

    Raises:
        CorruptRun: It is none that ``encode_frame`` made.
    """
    key = f"frame {whole.sequence} of {worker}"
    meta, blobs = _facts(key, whole.payload)
    kind = str(meta.pop("kind"))
    arrays = {}
    if blobs:
        file = BlobFile(key, lambda first, size: bytes(blobs[first : first + size]))
        arrays = {name: file.get(name) for name in file.names}
    return Frame(kind, worker, meta, arrays, whole.sequence)


def _facts(key: str, payload: memoryview) -> tuple[dict[str, Any], memoryview]:
    """Return the facts of a payload, and what comes after them."""
    try:
        (length,) = _LENGTH.unpack_from(payload)
        start = _LENGTH.size + length
        meta = dict(parse_json(bytes(payload[_LENGTH.size : start])))
        meta["kind"]
    except (struct.error, ValueError, TypeError, KeyError) as error:
        raise CorruptRun(key, 0, f"no frame ({error!r})") from None
    return meta, payload[start:]


def step_frames(frame: Frame) -> Iterator[Frame]:
    """Yield a ``step`` frame for each step of a ``steps`` frame; any other frame itself.

    Raises:
        CorruptRun: Its arrays do not go together.
    """
    if frame.kind != STEPS_FRAME:
        yield frame
        return
    numbers, values = frame.arrays.get(_NUMBERS_ARRAY), frame.arrays.get(_VALUES_ARRAY)
    if numbers is None or values is None or numbers.shape != (len(values), 3) or values.ndim != 2:
        raise CorruptRun(f"frame {frame.sequence} of {frame.worker}", 0, "no steps")
    for (step, mode_step, time_ns), rows in zip(
        numbers.tolist(), statistics_of_numbers(values), strict=True
    ):
        meta = {**frame.meta, "step": step, "mode_step": mode_step, "time_ns": time_ns}
        yield replace(frame, kind=STEP_FRAME, meta=meta, arrays={STATISTICS_ARRAY: rows})


def read_frames(
    store: Store, worker: str | None = None, *, left_out: Collection[str] = ()
) -> list[Frame]:
    """Return the frames of a run's rings and dumps, each once, in order for each worker.

    Messages to a companion, which say nothing of the training, are left out.

    Args:
        store: Where the run lies; it may still be written.
        worker: Only this one's.
        left_out: Kinds that are not wanted either; a ring may hold 100,000 steps of a few numbers
            each, in ``STEPS_FRAME``.
    """
    unwanted = (MESSAGE_FRAME, *left_out)
    frames = (
        decode_frame(who, whole)
        for who, whole in _in_order(store)
        if worker in (None, who) and not any(is_of_kind(whole.payload, kind) for kind in unwanted)
    )
    return _with_steps([each for frame in frames for each in step_frames(frame)])


def read_records(store: Store, after: Mapping[str, int]) -> list[StepRecord]:
    """Return the last steps of a run's rings and dumps, in order for each worker.

    Of earlier ones, of which there may be 100,000, no more than the number is decoded.

    Args:
        store: Where the run lies.
        after: The steps that come after this one of their worker are wanted; all of others.
    """
    frames: list[Frame] = []
    for who, whole in _in_order(store):
        last, payload = after.get(who, -1), whole.payload
        if is_of_kind(payload, STEP_FRAME) and _facts(who, payload)[0].get("step", -1) <= last:
            continue
        if any(is_of_kind(payload, kind) for kind in (LAYOUT_FRAME, STEP_FRAME, STEPS_FRAME)):
            frames += step_frames(decode_frame(who, whole))
    return [record for record in step_records(frames) if record.step > after.get(record.worker, -1)]


def _in_order(store: Store) -> list[tuple[str, CompleteFrame]]:
    """Return the frames of rings and dumps, each once, in order for each worker."""
    found = {
        (who, whole.sequence): whole for who, wholes in rings_and_dumps(store) for whole in wholes
    }
    return [(who, found[who, number]) for who, number in sorted(found)]


def _with_steps(frames: list[Frame]) -> list[Frame]:
    """Return the frames with global steps that were announced replaced by the actual ones."""
    became = {_step_key(frame): frame.meta["step"] for frame in frames if frame.kind == STEP_FRAME}
    return [
        replace(frame, meta={**frame.meta, "step": became[_step_key(frame)]})
        if frame.kind != STEP_FRAME and _step_key(frame) in became
        else frame
        for frame in frames
    ]


def _step_key(frame: Frame) -> tuple[str, object, int]:
    return frame.worker, frame.meta.get("mode"), frame.mode_step


def layout_meta(number: int, layout: Layout) -> dict[str, object]:
    """Return the facts of a ``layout`` frame."""
    names = [one.name for one in fields(TensorInfo)]
    tensors = [
        [*(getattr(tensor, name) for name in names[:-2]), *tensor.unnamed]
        for tensor in layout.tensors
    ]
    return {"layout": number, "fields": names, "tensors": tensors}


def step_records(frames: Iterable[Frame]) -> list[StepRecord]:
    """Return the steps that are over, as they were recorded; those of which all is known."""
    frames = list(frames)
    layouts = {
        (frame.worker, frame.meta["layout"]): layout_of(frame.meta)
        for frame in frames
        if frame.kind == LAYOUT_FRAME
    }
    return [
        step_record(frame, layout)
        for frame in frames
        if frame.kind == STEP_FRAME
        and (layout := layouts.get((frame.worker, frame.meta["layout"]))) is not None
        and frame.arrays[STATISTICS_ARRAY].shape == (len(layout), NUM_FIELDS)
    ]


def layout_of(meta: Mapping[str, Any]) -> Layout:
    """Return the layout that ``layout_meta`` was given."""
    values = ([tuple(v) if isinstance(v, list) else v for v in row] for row in meta["tensors"])
    return Layout(
        tuple(TensorInfo(**dict(zip(meta["fields"], row, strict=True))) for row in values)
    )


def step_record(frame: Frame, layout: Layout) -> StepRecord:
    """Return the step of a ``step`` frame, as it was recorded."""
    meta = frame.meta
    return StepRecord(
        worker=frame.worker,
        mode=Mode(meta["mode"]),
        step=int(meta["step"]),
        mode_step=frame.mode_step,
        time_ns=int(meta["time_ns"]),
        layout=layout,
        statistics=np.asarray(frame.arrays[STATISTICS_ARRAY], np.float64),
        raw=_named(frame.arrays, RAW_PREFIX),
        digests=meta.get("digests", {}),
        exponents=_named(frame.arrays, EXPONENTS_PREFIX),
    )


def _named(arrays: Mapping[str, Array], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
