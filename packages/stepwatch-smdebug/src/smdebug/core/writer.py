"""Writes files of a step directly, as smdebug's own hooks and tools do."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy.typing as npt

from stepwatch.formats.smdebug.wire import (
    FRAME_BYTES,
    HEADER_BYTES,
    bytes_field,
    double_field,
    float_field,
    frame,
    smdebug_frame,
    varint_field,
)
from stepwatch.formats.tensorboard import histogram, histogram_value
from stepwatch_smdebug.format.selection import (
    STEP_AT,
    WALL_TIME_AT,
    StepShape,
    record_head,
    record_tail,
    step_varint,
    tensor_content,
)

from ..exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from .access_layer.base import TSAccessBase
from .locations import (
    IndexFileLocationUtils,
    TensorboardFileLocation,
    TensorFileLocation,
    TensorLocation,
    TensorShape,
)
from .modes import ModeKeys, to_mode
from .tfevent.index_file_writer import IndexWriter, open_to_write
from .utils import get_relative_event_file_path, make_numpy_array, parse_worker_name_from_file

__all__ = ["FileWriter"]

# The fields of the messages.
_WALL_TIME, _STEP, _GRAPH, _SUMMARY, _RUN_METADATA = 1, 2, 4, 5, 8
_VALUE, _TAG, _SIMPLE_VALUE = 1, 1, 2


class FileWriter:
    """Writes what one worker saves at one step; it appears when the writer is closed.

    Args:
        trial_dir: The run, a folder or a URL; of files for TensorBoard their folder.
        worker: The worker, as file names have it.
        step: The global step.
        wtype: ``events``, with an index, or ``tensorboard``.
        mode: Of a step for TensorBoard.
        max_queue: Has no effect, and neither have ``flush_secs`` and ``verbose``.
        write_checksum: Whether a record ends with its checksum, as TensorBoard wants it. What
            reads events wants none.

    Raises:
        SMDebugValueError: Another ``wtype``.
    """

    def __init__(
        self,
        trial_dir: str,
        worker: str,
        step: int = 0,
        wtype: str = "events",
        mode: ModeKeys = ModeKeys.GLOBAL,
        max_queue: int = 10,
        flush_secs: float = 120,
        verbose: bool = False,
        write_checksum: bool = False,
    ) -> None:
        del max_queue, flush_secs, verbose
        self.trial_dir = trial_dir
        self.worker = worker
        self.step = step
        self.wtype = wtype
        self.mode = mode
        self.write_checksum = write_checksum
        self.index_writer: IndexWriter | None = None
        self._file: TSAccessBase | None = None
        if wtype == "events":
            location = TensorFileLocation(step, worker)
            self.event_file_path = location.get_file_location(trial_dir)
            key = IndexFileLocationUtils.get_index_key_for_step(trial_dir, step, worker)
            self.index_writer = IndexWriter(key)
        elif wtype == "tensorboard":
            board = TensorboardFileLocation(step, worker, mode)
            self.event_file_path = board.get_file_location(trial_dir)
        else:
            raise SMDebugValueError(f"wtype is 'events' or 'tensorboard', got {wtype!r}")

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write_tensor(
        self,
        tdata: object,
        tname: str,
        write_index: bool = True,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        timestamp: float | None = None,
    ) -> None:
        """Write a value.

        Args:
            tdata: An array, a number, a text, or a list of those.
            tname: Its name.
            write_index: Whether the index names it, so that a trial finds it.
            mode: Its mode.
            mode_step: The step, as the mode counts it; the global step by default.
            timestamp: Seconds since the Unix epoch; now by default.

        Raises:
            SMDebugTypeError: It is none of those.
            SMDebugValueError: ``mode`` is no mode.
        """
        if not isinstance(mode, ModeKeys | None):
            names = ", ".join(str(one) for one in ModeKeys)
            raise SMDebugValueError(f"mode is one of {names}, got {mode!r}")
        mode = mode or ModeKeys.GLOBAL
        mode_step = self.step if mode_step is None else mode_step
        values = make_numpy_array(tdata)
        data = _tensor_record(tname, values, self.step, mode, mode_step, timestamp or time.time())
        if self.write_checksum:
            data = frame(data[HEADER_BYTES : HEADER_BYTES - FRAME_BYTES])
        start, length = self._append(data)
        if write_index and self.index_writer is not None:
            path = get_relative_event_file_path(self.event_file_path)
            worker = parse_worker_name_from_file(path)
            where = TensorLocation(tname, mode.name, mode_step, path, start, length, worker)
            self.index_writer.add_index(where)

    def write_shape(
        self,
        name: str,
        shape: Iterable[int],
        mode: ModeKeys = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        original_name: str | None = None,
    ) -> None:
        """Write a shape, without the value.

        Raises:
            SMDebugRuntimeError: Files for TensorBoard have none.
        """
        if self.index_writer is None:
            raise SMDebugRuntimeError("shapes lie in an index, which files for TensorBoard lack")
        self.index_writer.add_shape(TensorShape(name, mode.name, mode_step, shape, original_name))

    def write_scalar_summary(
        self, name: str, value: object, global_step: int, timestamp: float | None = None
    ) -> None:
        """Write a point of a curve for TensorBoard.

        Raises:
            SMDebugRuntimeError: It has more than one element.
        """
        array = make_numpy_array(value)
        if array.size != 1:
            raise SMDebugRuntimeError(f"one number is needed, got {array.size} of {name}")
        point = bytes_field(_TAG, _clean(name)) + float_field(_SIMPLE_VALUE, float(array.item()))
        self._write_summary(bytes_field(_VALUE, point), global_step, timestamp)

    def write_histogram_summary(
        self, tdata: object, tname: str, global_step: int, bins: str = "default"
    ) -> None:
        """Write a histogram for TensorBoard; nothing where there is nothing to count.

        Raises:
            SMDebugValueError: Other bins than TensorBoard's.
        """
        if bins != "default":
            raise SMDebugValueError(f"bins are those of TensorBoard, 'default'; got {bins!r}")
        counted = histogram(make_numpy_array(tdata))
        if counted is not None:
            self._write_summary(histogram_value(_clean(tname), counted), global_step, None)

    def write_summary(self, summ: Any, global_step: int, timestamp: float | None = None) -> None:
        """Write a ``Summary`` of protocol buffers, whichever package made it."""
        self._write_summary(summ.SerializeToString(), global_step, timestamp)

    def write_graph(self, graph: Any) -> None:
        """Write a ``GraphDef`` of protocol buffers, whichever package made it."""
        self._write_event(bytes_field(_GRAPH, graph.SerializeToString()))

    def write_pytorch_graph(self, graph_profile: tuple[Any, Any]) -> None:
        """Write what ``torch.utils.tensorboard`` makes of a model: its graph and its profile."""
        self.write_graph(graph_profile[0])
        metadata = bytes_field(1, b"step1") + bytes_field(2, graph_profile[1].SerializeToString())
        self._write_event(bytes_field(_RUN_METADATA, metadata))

    def flush(self) -> None:
        """Hand on what was written; it appears at ``close``."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Let the values appear, then their index."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.index_writer is not None:
            self.index_writer.close()

    def name(self) -> str:
        """Return the path of the file.

        Raises:
            SMDebugRuntimeError: Nothing was written yet.
        """
        if self._file is None:
            raise SMDebugRuntimeError("there is no file before something is written")
        return self.event_file_path

    def _write_summary(self, summary: bytes, step: int, timestamp: float | None) -> None:
        head = double_field(_WALL_TIME, timestamp or time.time()) + varint_field(_STEP, step)
        self._write_event(head + bytes_field(_SUMMARY, summary))

    def _write_event(self, payload: bytes) -> None:
        self._append(frame(payload) if self.write_checksum else smdebug_frame(payload))

    def _append(self, data: bytes) -> list[int]:
        self._file = self._file or open_to_write(self.event_file_path, "wb")
        return self._file.write(data)


def _tensor_record(
    name: str,
    values: npt.NDArray[Any],
    step: int,
    mode: ModeKeys,
    mode_step: int,
    wall_time: float,
) -> bytes:
    """Return a record as hooks write them; see ``stepwatch_smdebug.format.selection``."""
    try:
        content = tensor_content(values)
    except TypeError as error:
        raise SMDebugTypeError(f"{name}: {error}") from None
    shape = StepShape.of(to_mode(mode), step, mode_step)
    tail, digits_at = record_tail(shape)
    size = len(content.data)
    head = bytearray(
        record_head(name, content.data_type, content.shape, size, shape.step_bytes, len(tail))
    )
    head[WALL_TIME_AT : WALL_TIME_AT + 8] = struct.pack("<d", wall_time)
    head[STEP_AT : STEP_AT + shape.step_bytes] = step_varint(step)
    digits = str(mode_step).encode()
    tail = tail[:digits_at] + digits + tail[digits_at + len(digits) :]
    return b"".join((head, content.data.tobytes(), tail))


def _clean(name: str) -> bytes:
    return re.sub(r"[^-/\w\.]", "_", name).lstrip("/").encode()
